//! The simulated REST API: messages, history, typing, with rate limits and faults.

use std::collections::VecDeque;
use std::io;

use jiff::SignedDuration;
use serde_json::{Value, json};
use tokio::net::TcpStream;

use super::{DiscordFault, SharedState};
use crate::http::{HttpRequest, HttpResponse, write_response};

/// Maximum characters of a message.
const MESSAGE_LENGTH_MAX: usize = 2_000;

struct Answer {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Value,
}

/// Answers a request; false if the connection has to be closed.
pub(super) async fn answer(
    connection: &mut TcpStream,
    shared: &SharedState,
    request: &HttpRequest,
) -> io::Result<bool> {
    if let Some(place) = request.path.strip_prefix("/files/") {
        let file =
            place.parse::<usize>().ok().and_then(|place| shared.state.lock().files.get(place).cloned());
        let (status, file) = file.map_or((404, Vec::new()), |file| (200, file));
        let response = HttpResponse { status, content_type: "audio/ogg", headers: &[], body: &file };
        write_response(connection, &response, file.len()).await?;
        return Ok(true);
    }
    let Some(answer) = decide(shared, request) else { return Ok(false) };
    let headers: Vec<(&str, &str)> =
        answer.headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let (content_type, body) = match answer.body {
        Value::String(page) => ("text/html", page),
        _ if answer.status == 204 => ("application/json", String::new()),
        body => ("application/json", body.to_string()),
    };
    let response =
        HttpResponse { status: answer.status, content_type, headers: &headers, body: body.as_bytes() };
    write_response(connection, &response, body.len()).await?;
    Ok(true)
}

/// The answer; `None` if the connection closes instead.
fn decide(shared: &SharedState, request: &HttpRequest) -> Option<Answer> {
    let path = request.path.trim_start_matches("/api/v10");
    let last = path.rsplit('/').next().unwrap_or_default();
    let is_conversation = path.matches('/').count() == 2 && path.starts_with("/channels/");
    let is_message = path.matches('/').count() == 4 && path.contains("/messages/");
    let name = match last {
        _ if is_conversation => "channel",
        _ if is_message => "message",
        last => last,
    };
    let route = format!("{} {name}", request.method);
    let agent =
        request.headers.iter().find(|(name, _)| name == "user-agent").map(|(_, value)| value.as_str());
    if !agent.is_some_and(|agent| agent.starts_with("DiscordBot (https://") && agent.ends_with(')')) {
        return Some(blocked_by_cloudflare());
    }
    let token = request.headers.iter().find(|(name, _)| name == "authorization").map(|(_, value)| value);
    if token.map(String::as_str) != Some(&format!("Bot {}", shared.token)) {
        return Some(error_answer(401, "401: Unauthorized"));
    }
    let now = (shared.now)();
    let fault = {
        let mut state = shared.state.lock();
        state.count(&route);
        if state.closed_until.get(path).is_some_and(|until| now < *until) {
            state.count("violations");
            return Some(too_many(1.0, false));
        }
        state.faults.get_mut(&route).and_then(VecDeque::pop_front)
    };
    match fault {
        None => Some(perform(shared, &route, path, request)),
        Some(DiscordFault::EmptiesBucket(seconds)) => {
            let mut answer = perform(shared, &route, path, request);
            let until = now.checked_add(SignedDuration::from_secs_f64(seconds)).unwrap_or(now);
            shared.state.lock().closed_until.insert(path.to_owned(), until);
            answer.headers.extend([
                ("x-ratelimit-bucket", route),
                ("x-ratelimit-remaining", "0".to_owned()),
                ("x-ratelimit-reset-after", seconds.to_string()),
            ]);
            Some(answer)
        }
        Some(DiscordFault::TooMany(seconds)) => Some(too_many(seconds, false)),
        Some(DiscordFault::TooManyInAll(seconds)) => Some(too_many(seconds, true)),
        Some(DiscordFault::Unauthorized) => Some(error_answer(401, "401: Unauthorized")),
        Some(DiscordFault::Blocked) => {
            let mut answer = error_answer(403, "Cannot send messages to this user");
            answer.body["code"] = json!(50_007);
            Some(answer)
        }
        Some(DiscordFault::BlockedByCloudflare) => Some(blocked_by_cloudflare()),
        Some(DiscordFault::Page(status)) => {
            Some(Answer { status, headers: Vec::new(), body: json!("<html>blocked</html>") })
        }
        Some(DiscordFault::Status(status)) => Some(error_answer(status, "try again")),
        Some(DiscordFault::Broken) => Some(error_answer(502, "Bad Gateway")),
        Some(DiscordFault::CutBefore) => None,
        Some(DiscordFault::CutAfter) => {
            let _ = perform(shared, &route, path, request);
            None
        }
    }
}

fn perform(shared: &SharedState, route: &str, path: &str, request: &HttpRequest) -> Answer {
    let channel = path.split('/').nth(2).unwrap_or_default();
    let asked: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let form = request.form_parts();
    match route {
        "GET bot" => ok_answer(json!({
            "url": format!("ws://{}/gateway", shared.address), "shards": 1,
            "session_start_limit": {"total": 1_000, "remaining": 999, "reset_after": 14_400_000, "max_concurrency": 1},
        })),
        "GET @me" => ok_answer(json!({"id": super::state::BOT, "username": "echo", "bot": true})),
        "POST messages" if !form.is_empty() => {
            let part =
                |name: &str| form.iter().find(|(field, _)| field == name).map(|(_, value)| value.clone());
            let asked = part("payload_json").and_then(|asked| serde_json::from_slice::<Value>(&asked).ok());
            let (Some(asked), Some(file)) = (asked, part("files[0]")) else {
                return error_answer(400, "Invalid Form Body");
            };
            let attachment = &asked["attachments"][0];
            let is_whole = attachment["duration_secs"].is_number() && attachment["waveform"].is_string();
            if asked["flags"] != 8_192 || !is_whole || !asked["content"].is_null() {
                return error_answer(
                    400,
                    "Voice messages must have one file with duration and waveform, and no content",
                );
            }
            ok_answer(shared.state.lock().send(channel, &asked, Some(file), (shared.now)()))
        }
        "GET message" => {
            let id = path.rsplit('/').next().unwrap_or_default();
            shared
                .state
                .lock()
                .message(channel, id)
                .map_or_else(|| error_answer(404, "Unknown Message"), ok_answer)
        }
        "POST messages" => {
            let text = asked["content"].as_str().unwrap_or_default();
            let nonce = asked["nonce"].as_str().unwrap_or_default();
            if text.is_empty() || text.chars().count() > MESSAGE_LENGTH_MAX || nonce.len() > 25 {
                return error_answer(400, "Invalid Form Body");
            }
            ok_answer(shared.state.lock().send(channel, &asked, None, (shared.now)()))
        }
        "GET messages" => {
            let field = |name: &str| {
                request.query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
            };
            let limit = field("limit").and_then(|limit| limit.parse().ok()).unwrap_or(50).min(100);
            let after = field("after").and_then(|after| after.parse().ok());
            ok_answer(Value::Array(shared.state.lock().history(channel, after, limit)))
        }
        "POST channels" => {
            let person = asked["recipient_id"].as_str().and_then(|id| id.parse::<u64>().ok());
            person.map_or_else(
                || error_answer(400, "Invalid Form Body"),
                |person| {
                    ok_answer(json!({"id": super::DiscordServer::direct_conversation(person), "type": 1}))
                },
            )
        }
        "GET channel" => {
            let kind = if channel.starts_with('5') { 1 } else { 0 };
            ok_answer(json!({"id": channel, "type": kind}))
        }
        "POST typing" => Answer { status: 204, headers: Vec::new(), body: Value::Null },
        _ => error_answer(404, "404: Not Found"),
    }
}

fn ok_answer(body: Value) -> Answer {
    Answer { status: 200, headers: Vec::new(), body }
}

fn error_answer(status: u16, message: &str) -> Answer {
    Answer { status, headers: Vec::new(), body: json!({"message": message, "code": 0}) }
}

fn blocked_by_cloudflare() -> Answer {
    let mut answer = error_answer(403, "internal network error");
    answer.body["code"] = json!(40_333);
    answer
}

fn too_many(seconds: f64, is_global: bool) -> Answer {
    let body = json!({"message": "You are being rate limited.", "retry_after": seconds, "global": is_global});
    Answer { status: 429, headers: vec![("retry-after", seconds.ceil().to_string())], body }
}
