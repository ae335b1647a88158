//! A reply as a stream of chunks.

use std::collections::VecDeque;
use std::convert::Infallible;

use axum::response::sse::{Event, Sse};
use futures_util::{Stream, stream};
use runtime::TurnEvent;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;

use super::completions::{failed, finish_reason, interrupted, usage_data};
use super::stop::StopFilter;

/// What all chunks of a reply share.
pub(super) struct ChunkHeader {
    pub(super) id: String,
    /// Seconds since 1970.
    pub(super) created: i64,
    pub(super) model: String,
}

struct ChunkStream {
    head: ChunkHeader,
    events: UnboundedReceiver<TurnEvent>,
    wants_usage: bool,
    stop: StopFilter,
    /// Whether any of the reply's words went out.
    spoken: bool,
    over: bool,
    frames: VecDeque<Event>,
}

/// The reply from its first word on: chunks, the last one with the reason of its end, the usage if it was asked for,
/// `[DONE]`. A turn that fails after its first word ends the stream with an error object.
pub(super) fn stream(
    head: ChunkHeader,
    first: TurnEvent,
    events: UnboundedReceiver<TurnEvent>,
    wants_usage: bool,
    stop: StopFilter,
) -> Sse<impl Stream<Item = Result<Event, Infallible>> + Send> {
    let mut reply =
        ChunkStream { head, events, wants_usage, stop, spoken: false, over: false, frames: VecDeque::new() };
    reply.push_choice(&json!({"role": "assistant", "content": ""}), None);
    reply.take(Some(first));
    Sse::new(stream::unfold(reply, |mut reply| async move {
        let frame = reply.next().await?;
        Some((Ok(frame), reply))
    }))
}

impl ChunkStream {
    async fn next(&mut self) -> Option<Event> {
        while self.frames.is_empty() && !self.over {
            let event = self.events.recv().await;
            self.take(event);
        }
        self.frames.pop_front()
    }

    fn take(&mut self, event: Option<TurnEvent>) {
        match event {
            Some(TurnEvent::Started) => {}
            Some(TurnEvent::Delta(text)) => self.say(&text),
            Some(TurnEvent::Done { message, usage, incomplete, .. }) => {
                if !self.spoken {
                    self.say(&message.content);
                }
                let rest = self.stop.finish();
                self.push_words(&rest);
                self.push_choice(&json!({}), Some(finish_reason(incomplete && !self.stop.is_over())));
                if self.wants_usage {
                    self.push_chunk(&json!([]), &usage_data(usage));
                }
                self.end();
            }
            Some(TurnEvent::Failed { reason, retryable }) => {
                self.push(&failed(reason, retryable).as_openai());
                self.end();
            }
            None => {
                self.push(&interrupted().as_openai());
                self.end();
            }
        }
    }

    fn say(&mut self, text: &str) {
        self.spoken = true;
        let words = self.stop.pass(text);
        self.push_words(&words);
    }

    fn push_words(&mut self, words: &str) {
        if !words.is_empty() {
            self.push_choice(&json!({"content": words}), None);
        }
    }

    fn end(&mut self) {
        self.over = true;
        self.frames.push_back(Event::default().data("[DONE]"));
    }

    fn push_choice(&mut self, delta: &Value, finish_reason: Option<&str>) {
        let choice = json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish_reason});
        self.push_chunk(&json!([choice]), &Value::Null);
    }

    fn push_chunk(&mut self, choices: &Value, usage: &Value) {
        let head = &self.head;
        let mut chunk = json!({"id": head.id, "object": "chat.completion.chunk", "created": head.created,
            "model": head.model, "choices": choices});
        if let (true, Some(fields)) = (self.wants_usage, chunk.as_object_mut()) {
            fields.insert("usage".to_owned(), usage.clone());
        }
        self.push(&chunk);
    }

    fn push(&mut self, data: &Value) {
        self.frames.push_back(Event::default().data(data.to_string()));
    }
}
