use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};

use crate::home::{Home, TOKEN};

/// A minimal client: the bytes on the wire are those written here.
struct Client(TcpStream);

impl Client {
    async fn send(address: SocketAddr, head: &str, body: &str) -> Self {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let length = body.len();
        let request = format!(
            "{head} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {TOKEN}\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        Self(stream)
    }

    /// Reads until this text was received.
    async fn until(&mut self, text: &str) -> String {
        let mut read = Vec::new();
        let mut piece = [0_u8; 4096];
        loop {
            let count = self.0.read(&mut piece).await.unwrap();
            read.extend_from_slice(&piece[..count]);
            let so_far = String::from_utf8_lossy(&read).into_owned();
            if so_far.contains(text) {
                return so_far;
            }
            assert!(count > 0, "the connection ended before {text:?} came: {so_far}");
        }
    }

    async fn rest(mut self) -> String {
        let mut text = String::new();
        self.0.read_to_string(&mut text).await.unwrap();
        text
    }
}

#[tokio::test]
async fn a_talk_over_a_real_socket_until_the_program_is_told_to_stop() {
    let home = Home::new().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(server::serve(listener, None, home.parts(), home.shutdown.clone()));

    let mut events = Client::send(address, "GET /api/chat/events", "").await;
    let head = events.until("chat.connection.ready").await;
    assert!(head.starts_with("HTTP/1.1 200"));
    let line = json!({"content": "over the wire"}).to_string();
    let sent = Client::send(address, "POST /api/chat/send", &line).await.rest().await;
    assert!(sent.starts_with("HTTP/1.1 202"), "{sent}");
    let told = events.until("chat.message.done").await;
    let (appended, done) = (told.find("user_appended").unwrap(), told.find("chat.message.done").unwrap());
    assert!(appended < done);
    let history = Client::send(address, "GET /api/chat/history", "").await.rest().await;
    let body: Value = serde_json::from_str(history.split_once("\r\n\r\n").unwrap().1).unwrap();
    assert_eq!(body["messages"][1]["content"], "over the wire");

    let stopped = Client::send(address, "POST /api/admin/stop", "{}").await.rest().await;
    assert!(stopped.starts_with("HTTP/1.1 202"), "{stopped}");
    events.rest().await;
    server.await.unwrap().unwrap();
    assert!(TcpStream::connect(address).await.is_err(), "nobody listens any more");
}

#[tokio::test]
async fn a_head_that_is_too_large_is_refused() {
    let home = Home::new().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(server::serve(listener, None, home.parts(), home.shutdown.clone()));
    let path = format!("GET /health?{}", "x".repeat(100_000));
    let mut stream = TcpStream::connect(address).await.unwrap();
    // The server may close the connection before everything is written.
    let _: std::io::Result<()> =
        stream.write_all(format!("{path} HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes()).await;
    let mut answer = Vec::new();
    let _: std::io::Result<usize> = stream.read_to_end(&mut answer).await;
    let answer = String::from_utf8_lossy(&answer).into_owned();
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");
    let alive = Client::send(address, "GET /health", "").await.rest().await;
    assert!(alive.starts_with("HTTP/1.1 200"), "{alive}");
    home.shutdown.cancel();
    server.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_body_that_does_not_come_is_not_waited_for_for_ever() {
    let home = Home::new().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(server::serve(listener, None, home.parts(), home.shutdown.clone()));
    let mut slow = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "POST /api/chat/send HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {TOKEN}\r\n\
         Content-Type: application/json\r\nContent-Length: 100\r\nConnection: close\r\n\r\n{{\"content"
    );
    slow.write_all(head.as_bytes()).await.unwrap();
    let answer = tokio::spawn(Client(slow).rest());
    // The clock advances until the server's time limit is over.
    while !answer.is_finished() {
        home.wait(Duration::from_secs(10)).await;
        tokio::task::yield_now().await;
    }
    let answer = answer.await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    home.shutdown.cancel();
    server.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_head_that_comes_drop_by_drop_is_hung_up_on() {
    let home = Home::new().await;
    home.set(|settings| settings.head_time = Duration::from_millis(50));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(server::serve(listener, None, home.parts(), home.shutdown.clone()));
    let mut drops = TcpStream::connect(address).await.unwrap();
    drops.write_all(format!("GET /health HTTP/1.1\r\nHost: {address}\r\nX-Slow: ").as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let _: std::io::Result<usize> = drops.read_to_end(&mut answer).await;
    let answer = String::from_utf8_lossy(&answer).into_owned();
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408"), "{answer}");
    home.shutdown.cancel();
    server.await.unwrap().unwrap();
}

/// A token that occupies all network connections can still be revoked.
#[tokio::test]
async fn socket_of_the_home_answers_the_owner_alone() {
    let home = Home::new().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("daemon.sock");
    let at_home = server::listen_at(&path).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let server = tokio::spawn(server::serve(listener, Some(at_home), home.parts(), home.shutdown.clone()));
    let program = home.token("program", &["admin"], None).await;
    for (token, status) in [(TOKEN, "200"), (&*program, "503"), ("guess", "503")] {
        let mut stream = UnixStream::connect(&path).await.unwrap();
        let request = format!(
            "GET /api/admin/tokens HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n\
             Connection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{answer}");
    }
    home.shutdown.cancel();
    server.await.unwrap().unwrap();
}
