//! Daemons that share a home, over real sockets: each accepts every request, and the active one answers.

use std::net::SocketAddr;
use std::sync::Arc;

use serde_json::{Value, json};
use server::mcp::ToolContext;
use server::{AnsweringDaemon, Front, FrontParts, HomeServer, SocketlessServer, router, serve_site};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::home::{Home, TOKEN};

const SECRET: &str = "shared-by-the-daemons-of-the-tests";

/// A daemon's front, and the daemon that answers behind it.
struct Entrance {
    address: SocketAddr,
    answering: watch::Sender<AnsweringDaemon>,
    shutdown: CancellationToken,
}

impl Entrance {
    async fn open(home: &Home, answering: AnsweringDaemon) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (answering, answered_by) = watch::channel(answering);
        let (parts, shutdown) = (home.parts(), CancellationToken::new());
        let clock = parts.runtime.shared_clock();
        let front = FrontParts {
            answering: answered_by,
            secret: SECRET.to_owned(),
            tokens: parts.tokens.clone(),
            clock: clock.clone(),
        };
        let site = SocketlessServer {
            router: Front::new(front, shutdown.clone()).unwrap().router(),
            tls: None,
            settings: parts.settings.clone(),
            clock,
            metrics: parts.runtime.metrics().clone(),
            shares_home: true,
        };
        tokio::spawn(serve_site(listener, None, site, shutdown.clone()));
        Self { address, answering, shutdown }
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    fn elsewhere(&self) -> AnsweringDaemon {
        AnsweringDaemon::Elsewhere(self.url())
    }
}

fn here(home: &Home) -> AnsweringDaemon {
    let parts = home.parts();
    let tools = ToolContext {
        hub: parts.hub.clone(),
        graph: parts.graph.clone(),
        runtime: parts.runtime.clone(),
        access: parts.access.clone(),
    };
    AnsweringDaemon::Here(HomeServer { router: router(parts, home.shutdown.clone()), tools: Arc::new(tools) })
}

fn client() -> reqwest::Client {
    outgoing::client_builder().no_proxy().build().unwrap()
}

async fn get(url: &str) -> (u16, String) {
    let answer = client().get(url).bearer_auth(TOKEN).send().await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

#[tokio::test]
async fn a_talk_with_the_daemon_that_does_not_hold_the_home() {
    let home = Home::new().await;
    let holder = Entrance::open(&home, here(&home)).await;
    let other = Entrance::open(&home, holder.elsewhere()).await;
    let mut events =
        client().get(format!("{}/api/chat/events", other.url())).bearer_auth(TOKEN).send().await.unwrap();
    assert_eq!(events.headers()["content-type"], "text/event-stream");
    let body = json!({"content": "through the other one"});
    let sent = client()
        .post(format!("{}/api/chat/send", other.url()))
        .bearer_auth(TOKEN)
        .json(&body)
        .send()
        .await
        .unwrap();
    assert_eq!(sent.status(), 202);
    let mut told = String::new();
    while !told.contains("chat.message.done") {
        told.push_str(std::str::from_utf8(&events.chunk().await.unwrap().unwrap()).unwrap());
    }
    for entrance in [&holder, &other] {
        let (status, history) = get(&format!("{}/api/chat/history", entrance.url())).await;
        let history: Value = serde_json::from_str(&history).unwrap();
        assert_eq!((status, &history["messages"][1]["content"]), (200, &json!("through the other one")));
    }
    // Errors are returned unchanged, in the shape of their path.
    let (status, missing) = get(&format!("{}/api/nothing", other.url())).await;
    assert!(status == 404 && missing.contains("path not found"), "{missing}");
    let refused = client().get(format!("{}/v1/models", other.url())).send().await.unwrap();
    assert_eq!(refused.status(), 401);
    assert!(refused.headers().contains_key("www-authenticate"));
    let refused: Value = serde_json::from_str(&refused.text().await.unwrap()).unwrap();
    assert_eq!(refused["error"]["type"], "authentication_error");
    // The stream ends with the daemon that forwards it.
    other.shutdown.cancel();
    while events.chunk().await.is_ok_and(|chunk| chunk.is_some()) {}
}

#[tokio::test]
async fn requests_wait_while_the_home_changes_hands() {
    let home = Home::new().await;
    let waiting = Entrance::open(&home, AnsweringDaemon::Nobody).await;
    assert_eq!(get(&format!("{}/health", waiting.url())).await.0, 200);
    assert_eq!(get(&format!("{}/ready", waiting.url())).await.0, 503);
    let url = format!("{}/api/chat/history", waiting.url());
    let asked = tokio::spawn(async move { get(&url).await });
    tokio::task::yield_now().await;
    waiting.answering.send_replace(here(&home));
    assert_eq!(asked.await.unwrap().0, 200);
    assert_eq!(get(&format!("{}/ready", waiting.url())).await.0, 200);

    // An active daemon that accepts no connection any more has done nothing, so the next one is asked, also for
    // requests that must not be repeated.
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let gone_url = format!("http://{}", gone.local_addr().unwrap());
    drop(gone);
    let other = Entrance::open(&home, AnsweringDaemon::Elsewhere(gone_url)).await;
    let send = client()
        .post(format!("{}/api/chat/send", other.url()))
        .bearer_auth(TOKEN)
        .json(&json!({"content": "said while it changed hands"}));
    let sending = tokio::spawn(async move { send.send().await.unwrap().status().as_u16() });
    tokio::task::yield_now().await;
    other.answering.send_replace(waiting.elsewhere());
    assert_eq!(sending.await.unwrap(), 202);
    let (_, history) = get(&format!("{}/api/chat/history", other.url())).await;
    assert_eq!(history.matches("said while it changed hands").count(), 1, "{history}");
}

/// An active daemon that reads a request and never answers.
async fn stopped_holder() -> (String, Arc<TcpListener>, tokio::task::JoinHandle<TcpStream>) {
    let listener = Arc::new(TcpListener::bind("127.0.0.1:0").await.unwrap());
    let (url, listening) = (format!("http://{}", listener.local_addr().unwrap()), listener.clone());
    let asked = tokio::spawn(async move {
        let (mut stream, _) = listening.accept().await.unwrap();
        let mut read = [0_u8; 1024];
        assert!(stream.read(&mut read).await.unwrap() > 0);
        stream
    });
    (url, listener, asked)
}

#[tokio::test]
async fn requests_that_a_lost_holder_may_have_done_are_not_repeated() {
    let home = Home::new().await;
    let next = Entrance::open(&home, here(&home)).await;
    for (method, expected) in [("POST", 502), ("GET", 200)] {
        let (url, _listener, asked) = stopped_holder().await;
        let other = Entrance::open(&home, AnsweringDaemon::Elsewhere(url)).await;
        let (path, body) = match method {
            "POST" => ("/api/chat/send", json!({"content": "was it said?"}).to_string()),
            _ => ("/api/chat/history", String::new()),
        };
        let request = client()
            .request(method.parse().unwrap(), format!("{}{path}", other.url()))
            .header("content-type", "application/json")
            .bearer_auth(TOKEN)
            .body(body);
        let sent = tokio::spawn(async move { request.send().await.unwrap() });
        let _held_open = asked.await.unwrap();
        other.answering.send_replace(next.elsewhere());
        let answer = sent.await.unwrap();
        assert_eq!(answer.status().as_u16(), expected, "{method}");
        let text = answer.text().await.unwrap();
        if method == "POST" {
            assert!(text.contains("holder_lost") && text.contains("may have been completed"), "{text}");
        }
    }
}

#[tokio::test]
async fn clients_can_t_pretend_to_be_a_daemon() {
    let home = Home::new().await;
    let holder = Entrance::open(&home, here(&home)).await;
    let mut stream = TcpStream::connect(holder.address).await.unwrap();
    let head = format!(
        "GET /api/chat/history HTTP/1.1\r\nHost: {}\r\nEchoVessel-Daemon: guessed\r\nEchoVessel-Client: 192.0.2.1:1\r\n\
         Authorization: Bearer wrong\r\nConnection: close\r\n\r\n",
        holder.address
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
    // The secret alone gives no access: tokens are still required.
    let asked =
        client().get(format!("{}/api/chat/history", holder.url())).header("echovessel-daemon", SECRET);
    assert_eq!(asked.send().await.unwrap().status(), 401);
}
