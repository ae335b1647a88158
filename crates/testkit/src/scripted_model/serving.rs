//! Serves connections with scripted answers.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::dialect::Dialect;
use super::reply::{Content, FaultKind, Reply};
use super::request::RecordedRequest;
use super::{EMBEDDINGS, SharedState};
use platforms::http::{HttpRequest, HttpResponse, begin_chunked, read_request, write_chunk, write_response};

/// Serves every connection until the server is stopped or dropped, which ends them.
pub(super) async fn accept(listener: TcpListener, shared: Arc<SharedState>) {
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = shared.stopping.notified() => break,
        };
        let Ok((connection, _)) = accepted else { break };
        connections.spawn(serve(connection, Arc::clone(&shared)));
        while connections.try_join_next().is_some() {}
    }
    drop(listener);
    connections.shutdown().await;
}

/// Use of a connection after a response.
#[derive(PartialEq)]
enum ConnectionUse {
    Keep,
    Close,
}

/// Serves a connection until it ends. Errors end it too: the client sees them.
async fn serve(connection: TcpStream, shared: Arc<SharedState>) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let (reader, mut writer) = connection.into_split();
    let mut reader = BufReader::new(reader);
    while let Some(request) = read_request(&mut reader).await? {
        let after = tokio::select! {
            biased;
            after = answer(request, &shared, &mut writer) => after,
            () = wait_for_close(&mut reader) => Err(io::ErrorKind::ConnectionReset.into()),
        };
        match after {
            Ok(ConnectionUse::Keep) => {}
            Ok(ConnectionUse::Close) => break,
            Err(error) => {
                shared.change(|script| script.hang_ups += 1);
                return Err(error);
            }
        }
    }
    Ok(())
}

/// Returns when the client closes its end; never if it sends more.
async fn wait_for_close(reader: &mut (impl AsyncBufRead + Unpin)) {
    if let Ok([_, ..]) = reader.fill_buf().await {
        std::future::pending::<()>().await;
    }
}

async fn answer(
    request: HttpRequest,
    shared: &SharedState,
    writer: &mut (impl AsyncWrite + Unpin),
) -> io::Result<ConnectionUse> {
    let HttpRequest { method, path, headers, body, .. } = request;
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let recorded = RecordedRequest { task: "models".to_owned(), method, path, headers, body };
    let wanted = shared.script.lock().key.clone();
    if wanted.is_some() && recorded.api_key() != wanted.as_deref() {
        let message = format!("Incorrect API key provided: {}", recorded.api_key().unwrap_or_default());
        shared.change(|script| script.requests.push(recorded));
        return write_json(writer, 401, None, &Dialect::OpenAi.error(401, &message)).await;
    }
    let dialect = match (recorded.method.as_str(), recorded.path.as_str()) {
        ("POST", path) if path.ends_with("/chat/completions") => Dialect::OpenAi,
        ("POST", path) if path.ends_with("/embeddings") => Dialect::OpenAi,
        ("POST", path) if path.ends_with("/messages") => Dialect::Anthropic,
        ("GET", path) if path.ends_with("/models") => {
            shared.change(|script| script.requests.push(recorded));
            let models: Vec<Value> = shared
                .script
                .lock()
                .models
                .iter()
                .map(|name| json!({"id": name, "object": "model"}))
                .collect();
            let list = json!({"object": "list", "data": models});
            return write_json(writer, 200, None, &list).await;
        }
        (method, path) => {
            let message = format!("the scripted model does not serve {method} {path}");
            return write_json(writer, 404, None, &Dialect::OpenAi.error(404, &message)).await;
        }
    };
    let (recorded, reply) = shared.record_request(recorded);
    match &reply.content {
        Content::Error(message) => {
            wait_before_reply(&reply).await;
            let error = dialect.error(reply.status, message);
            write_json(writer, reply.status, reply.retry_after.as_deref(), &error).await
        }
        Content::Raw(body) => {
            wait_before_reply(&reply).await;
            let content_type = if recorded.is_streamed() { "text/event-stream" } else { "application/json" };
            let response = HttpResponse { status: reply.status, content_type, headers: &[], body };
            write_response(writer, &response, body.len()).await?;
            Ok(ConnectionUse::Keep)
        }
        Content::EndlessLine => write_endlessly(writer, &reply).await,
        Content::Deltas(deltas) if recorded.task == EMBEDDINGS => {
            wait_before_reply(&reply).await;
            let body = deltas.concat().into_bytes();
            let content_type = "application/json";
            let response = HttpResponse { status: 200, content_type, headers: &[], body: &body };
            write_response(writer, &response, body.len()).await?;
            Ok(ConnectionUse::Keep)
        }
        Content::Deltas(deltas) if recorded.is_streamed() => {
            stream(writer, dialect, &recorded, &reply, deltas).await
        }
        Content::Deltas(deltas) => {
            wait_before_reply(&reply).await;
            write_full_response(
                writer,
                &dialect.full_response(&recorded, &reply, &deltas.concat()),
                dialect,
                &reply,
            )
            .await
        }
    }
}

async fn stream(
    writer: &mut (impl AsyncWrite + Unpin),
    dialect: Dialect,
    request: &RecordedRequest,
    reply: &Reply,
    deltas: &[String],
) -> io::Result<ConnectionUse> {
    begin_chunked(writer, "text/event-stream").await?;
    wait_before_reply(reply).await;
    write_chunk(writer, dialect.opening_events(request, reply).as_bytes()).await?;
    let until = reply.fault.as_ref().map_or(deltas.len(), |fault| fault.after_deltas.min(deltas.len()));
    for delta in &deltas[..until] {
        write_chunk(writer, dialect.text_event(request, delta).as_bytes()).await?;
        pause(reply.delay_between_deltas).await;
    }
    match reply.fault.as_ref().map(|fault| &fault.kind) {
        Some(FaultKind::Cut) => return Ok(ConnectionUse::Close),
        Some(FaultKind::Error(message)) => {
            write_chunk(writer, dialect.error_event(message).as_bytes()).await?;
        }
        None => write_chunk(writer, dialect.closing_events(request, reply).as_bytes()).await?,
    }
    write_chunk(writer, b"").await?;
    Ok(ConnectionUse::Keep)
}

async fn write_full_response(
    writer: &mut (impl AsyncWrite + Unpin),
    whole: &Value,
    dialect: Dialect,
    reply: &Reply,
) -> io::Result<ConnectionUse> {
    match reply.fault.as_ref().map(|fault| &fault.kind) {
        Some(FaultKind::Error(message)) => write_json(writer, 200, None, &dialect.error(500, message)).await,
        Some(FaultKind::Cut) => {
            let body = whole.to_string().into_bytes();
            let response =
                HttpResponse { status: 200, content_type: "application/json", headers: &[], body: &body };
            write_response(writer, &response, body.len() / 2).await?;
            Ok(ConnectionUse::Close)
        }
        None => write_json(writer, reply.status, None, whole).await,
    }
}

async fn write_json(
    writer: &mut (impl AsyncWrite + Unpin),
    status: u16,
    retry_after: Option<&str>,
    value: &Value,
) -> io::Result<ConnectionUse> {
    let body = value.to_string().into_bytes();
    let headers: Vec<(&str, &str)> = retry_after.map(|value| ("retry-after", value)).into_iter().collect();
    let response = HttpResponse { status, content_type: "application/json", headers: &headers, body: &body };
    write_response(writer, &response, body.len()).await?;
    Ok(ConnectionUse::Keep)
}

/// Writes until an error: when the client has closed the connection.
async fn write_endlessly(writer: &mut (impl AsyncWrite + Unpin), reply: &Reply) -> io::Result<ConnectionUse> {
    begin_chunked(writer, "text/event-stream").await?;
    wait_before_reply(reply).await;
    write_chunk(writer, b"data: ").await?;
    loop {
        write_chunk(writer, &[b'a'; 4096]).await?;
    }
}

/// Waits before the first token.
async fn wait_before_reply(reply: &Reply) {
    if let Some(gate) = &reply.gate {
        gate.notified().await;
    }
    pause(reply.delay).await;
}

#[expect(
    clippy::disallowed_methods,
    reason = "a model that runs beside a real daemon takes real time; without a delay nothing is waited for"
)]
async fn pause(duration: Duration) {
    if !duration.is_zero() {
        tokio::time::sleep(duration).await;
    }
}
