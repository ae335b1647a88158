//! Many subscribers at once, over real sockets; some of them never read.

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::future::join_all;
use runtime::WireEvent;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::home::{Home, TOKEN, scope};

const SUBSCRIBERS: usize = 1_000;
const TURNS: usize = 10;

/// As many as this process may have sockets for: each needs one at either end.
fn subscribers() -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find(|line| line.starts_with("Max open files"));
    let allowed = line.and_then(|line| line.split_whitespace().nth(3)?.parse::<usize>().ok());
    SUBSCRIBERS.min(allowed.unwrap_or(256).saturating_sub(100) / 2)
}

struct Watcher {
    stream: TcpStream,
    text: String,
}

impl Watcher {
    async fn open(address: SocketAddr, last_event_id: Option<&str>) -> Self {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let resume = last_event_id.map_or(String::new(), |id| format!("Last-Event-ID: {id}\r\n"));
        let request = format!(
            "GET /api/chat/events HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {TOKEN}\r\n{resume}\r\n"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut watcher = Self { stream, text: String::new() };
        watcher.until("chat.connection.ready").await;
        watcher
    }

    /// Reads until these words were received. Bytes that were searched are not searched again.
    async fn until(&mut self, words: &str) {
        let mut piece = vec![0_u8; 64 * 1024];
        let mut looked = 0;
        while !self.text[self.text.floor_char_boundary(looked)..].contains(words) {
            looked = self.text.len().saturating_sub(words.len());
            let count = self.stream.read(&mut piece).await.unwrap();
            assert!(count > 0, "the stream ended before {words:?}");
            self.text.push_str(&String::from_utf8_lossy(&piece[..count]));
        }
    }

    /// Numbers of the events, in the order of arrival.
    fn numbers(&self) -> Vec<u64> {
        let ids = self.text.lines().filter_map(|line| line.strip_prefix("id: "));
        ids.filter_map(|id| id.rsplit('-').next()?.trim().parse().ok()).collect()
    }
}

async fn served(home: &Home) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(server::serve(listener, None, home.parts(), home.shutdown.clone()));
    address
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_watch_and_half_of_them_never_read() {
    let home = Home::new().await;
    let address = served(&home).await;
    let count = subscribers();
    let mut watchers = Vec::new();
    for batch in 0..count.div_ceil(100) {
        let size = 100.min(count - batch * 100);
        watchers.extend(join_all((0..size).map(|_| Watcher::open(address, None))).await);
    }
    let mut reading = watchers.split_off(count / 2);
    let stuck = watchers;
    for number in 0..TURNS {
        // Every turn ends although half of its subscribers never read.
        assert_eq!(home.talk(&format!("line {number}")).await.name, "chat.message.done");
    }
    let last = home.runtime.broadcast().subscribe().last_event_id();
    home.runtime.broadcast().publish(marker("the end", 0));
    join_all(reading.iter_mut().map(|watcher| watcher.until("the end"))).await;
    let told = reading[0].numbers();
    assert!(told.windows(2).all(|pair| pair[0] < pair[1]), "in the order of the commits: {told:?}");
    assert!(told.len() > TURNS * 4, "{} frames until {last}", told.len());
    for watcher in &reading {
        assert_eq!(watcher.numbers()[1..], told[1..], "everybody hears the same");
    }
    drop(stuck);
    home.shutdown.cancel();
}

fn marker(text: &str, bytes: usize) -> WireEvent {
    let data = json!({"text": text, "padding": "x".repeat(bytes)});
    WireEvent { scope: scope("self"), name: "memory.node.updated", data }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subscriber_that_falls_behind_is_told_and_goes_on() {
    let home = Home::new().await;
    let address = served(&home).await;
    let mut slow = Watcher::open(address, None).await;
    // More than the sockets and the buffered events together hold.
    for number in 0..12_000 {
        home.runtime.broadcast().publish(marker(&format!("event {number}."), 4_000));
        if number % 500 == 0 {
            tokio::task::yield_now().await;
        }
    }
    home.runtime.broadcast().publish(marker("the end", 0));
    slow.until("the end").await;
    assert!(slow.text.contains("event: chat.connection.lagged"));
    let numbers = slow.numbers();
    assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "lost, but never out of order");
    assert!(numbers.len() < 12_000, "some were lost");
    // A client that reconnects with the last received id continues after it.
    let seen = slow.text.lines().rev().find_map(|line| line.strip_prefix("id: ")).unwrap().trim().to_owned();
    home.runtime.broadcast().publish(marker("after the end", 0));
    let mut back = Watcher::open(address, Some(&seen)).await;
    back.until("after the end").await;
    assert!(!back.text.contains("\"the end\"") && !back.text.contains("lagged"));
    home.shutdown.cancel();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_quiet_stream_shows_that_it_lives_every_thirty_seconds() {
    let home = Home::new().await;
    let address = served(&home).await;
    let mut watcher = Watcher::open(address, None).await;
    for beat in 1..=3 {
        // The clock advances until the stream waits for its next heartbeat.
        while watcher.text.matches("chat.connection.heartbeat").count() < beat {
            home.wait(Duration::from_secs(30)).await;
            let mut piece = [0_u8; 4_096];
            let read = tokio::time::timeout(Duration::from_millis(20), watcher.stream.read(&mut piece)).await;
            if let Ok(Ok(count)) = read {
                watcher.text.push_str(&String::from_utf8_lossy(&piece[..count]));
            }
        }
    }
    let frame = watcher.text.split("\n\n").find(|frame| frame.contains("heartbeat")).unwrap();
    let data = frame.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(data).unwrap(), json!({}));
    home.shutdown.cancel();
}
