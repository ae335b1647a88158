//! A subscriber of the event stream.

use futures_util::StreamExt as _;
use outgoing::client_builder;
use reqwest::Response;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::daemon::{Daemon, PATIENCE};
use crate::owner_api::Door;

/// An event in its form on the wire.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) data: Value,
}

/// Reads the stream and stores all events.
pub(crate) struct Watcher {
    frames: mpsc::UnboundedReceiver<Frame>,
    seen: Vec<Frame>,
    reading: JoinHandle<()>,
}

impl Watcher {
    /// Subscribes now; returns when the stream is open.
    pub(crate) async fn open(door: &Door) -> Self {
        Self::connect(door, None).await
    }

    /// Subscribes from the event after this id.
    pub(crate) async fn open_after(door: &Door, last_event_id: &str) -> Self {
        Self::connect(door, Some(last_event_id)).await
    }

    async fn connect(door: &Door, last_event_id: Option<&str>) -> Self {
        // A client of its own, since a stream must have no time limit.
        let http = client_builder().no_proxy().build().unwrap();
        let mut request = http.get(format!("{}/api/chat/events", door.url)).bearer_auth(&door.token);
        if let Some(id) = last_event_id {
            request = request.header("Last-Event-ID", id);
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        let (sender, frames) = mpsc::unbounded_channel();
        let reading = tokio::spawn(read(response, sender));
        let mut watcher = Self { frames, seen: Vec::new(), reading };
        watcher.until("chat.connection.ready", |_| true).await;
        watcher
    }

    /// Returns the first matching event with this name among the received ones and those to come.
    pub(crate) async fn until(&mut self, name: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let is_it = |frame: &Frame| frame.name == name && fits(&frame.data);
        if let Some(frame) = self.seen.iter().find(|frame| is_it(frame)) {
            return frame.data.clone();
        }
        loop {
            let next = timeout(PATIENCE, self.frames.recv()).await;
            let Ok(Some(frame)) = next else {
                let names: Vec<&str> = self.seen.iter().map(|frame| frame.name.as_str()).collect();
                panic!("no fitting {name} came ({next:?}); seen: {names:?}");
            };
            self.seen.push(frame.clone());
            if is_it(&frame) {
                return frame.data;
            }
        }
    }

    /// Waits for the end of this turn's reply.
    pub(crate) async fn wait_for_reply(&mut self, turn_id: &str) -> Value {
        self.until("chat.message.done", |data| data["turn_id"] == turn_id).await
    }

    /// Waits until this turn has failed.
    pub(crate) async fn wait_for_failure(&mut self, turn_id: &str) -> Value {
        self.until("chat.message.failed", |data| data["turn_id"] == turn_id).await
    }

    /// Waits until this session is closed.
    pub(crate) async fn wait_for_boundary(&mut self, session_id: &str) -> Value {
        self.until("chat.session.boundary", |data| data["closed_session_id"] == session_id).await
    }

    /// All events received so far, in order.
    pub(crate) fn seen(&self) -> &[Frame] {
        &self.seen
    }

    /// Index of the first received event with this name.
    pub(crate) fn place_of(&self, name: &str) -> Option<usize> {
        self.seen.iter().position(|frame| frame.name == name)
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

async fn read(response: Response, frames: mpsc::UnboundedSender<Frame>) {
    let mut bytes = response.bytes_stream();
    let mut pending = Vec::new();
    let mut frame = Frame { id: String::new(), name: String::new(), data: Value::Null };
    while let Some(Ok(chunk)) = bytes.next().await {
        pending.extend_from_slice(&chunk);
        while let Some(end) = pending.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = pending.drain(..=end).collect();
            let line = String::from_utf8(line).unwrap();
            match line.trim_end().split_once(':') {
                Some(("event", name)) => name.trim().clone_into(&mut frame.name),
                Some(("id", id)) => id.trim().clone_into(&mut frame.id),
                Some(("data", data)) => frame.data = serde_json::from_str(data.trim()).unwrap(),
                _ => {}
            }
            // An empty line ends a frame.
            if line.trim_end().is_empty() && !frame.name.is_empty() {
                if frames.send(frame.clone()).is_err() {
                    return;
                }
                frame.name.clear();
            }
        }
    }
}

/// Sends each line to the daemon and waits for its reply.
pub(crate) async fn say(daemon: &Daemon, lines: &[&str]) {
    let mut watcher = Watcher::open(daemon).await;
    for line in lines {
        let said = daemon.say("self", line).await;
        watcher.wait_for_reply(&said.turn_id).await;
    }
}
