//! A reply as a stream of chunks.

use std::collections::VecDeque;
use std::convert::Infallible;

use axum::response::sse::{Event, Sse};
use futures_util::{Stream, stream};
use memory::ledger::TokenUsage;
use runtime::TurnEvent;
use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::mpsc::{self, UnboundedReceiver};

use super::reply_parts::{AssistantRole, FinishReason, UsageBody, interrupted_reply, no_reply};
use super::stop::StopFilter;

/// Fields that all chunks of a reply share.
pub(super) struct ChunkHeader {
    pub(super) id: String,
    /// In seconds since 1970 (Unix time).
    pub(super) created: i64,
    pub(super) model: String,
}

/// One frame of a streamed completion.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CompletionChunk {
    id: String,
    object: ChunkTag,
    /// In seconds since 1970 (Unix time).
    created: i64,
    model: String,
    /// Empty in the frame with the usage.
    choices: Vec<ChunkChoice>,
    /// Set only in the last frame, and only if the request asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Option<UsageBody>>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
enum ChunkTag {
    #[serde(rename = "chat.completion.chunk")]
    Chunk,
}

#[derive(Serialize, JsonSchema)]
struct ChunkChoice {
    index: u32,
    delta: ChunkDelta,
    /// Always null, for compatibility.
    logprobs: (),
    finish_reason: Option<FinishReason>,
}

#[derive(Default, Serialize, JsonSchema)]
struct ChunkDelta {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<AssistantRole>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
}

struct ChunkStream {
    head: ChunkHeader,
    events: UnboundedReceiver<TurnEvent>,
    wants_usage: bool,
    stop: StopFilter,
    /// True if any text of the reply was sent.
    spoken: bool,
    over: bool,
    frames: VecDeque<Event>,
}

/// Streams the reply from its first token on: chunks, the last one with the reason of its end, the usage if
/// requested, `[DONE]`. A turn that fails after its first token ends the stream with an error object.
pub(super) fn stream(
    head: ChunkHeader,
    first: TurnEvent,
    events: UnboundedReceiver<TurnEvent>,
    wants_usage: bool,
    stop: StopFilter,
) -> Sse<impl Stream<Item = Result<Event, Infallible>> + Send> {
    let mut reply =
        ChunkStream { head, events, wants_usage, stop, spoken: false, over: false, frames: VecDeque::new() };
    reply
        .push_choice(ChunkDelta { role: Some(AssistantRole::Assistant), content: Some(String::new()) }, None);
    reply.push_event(Some(first));
    Sse::new(stream::unfold(reply, |mut reply| async move {
        let frame = reply.next().await?;
        Some((Ok(frame), reply))
    }))
}

/// Streams a complete text in the same form as [`stream()`].
pub(super) fn stream_complete_reply(
    head: ChunkHeader,
    text: &str,
    usage: TokenUsage,
    wants_usage: bool,
    stop: StopFilter,
) -> Sse<impl Stream<Item = Result<Event, Infallible>> + Send + use<>> {
    let (_, events) = mpsc::unbounded_channel();
    let mut reply =
        ChunkStream { head, events, wants_usage, stop, spoken: false, over: false, frames: VecDeque::new() };
    reply
        .push_choice(ChunkDelta { role: Some(AssistantRole::Assistant), content: Some(String::new()) }, None);
    reply.say(text);
    reply.finish(usage, false);
    Sse::new(stream::iter(reply.frames.into_iter().map(Ok)))
}

impl ChunkStream {
    async fn next(&mut self) -> Option<Event> {
        while self.frames.is_empty() && !self.over {
            let event = self.events.recv().await;
            self.push_event(event);
        }
        self.frames.pop_front()
    }

    fn push_event(&mut self, event: Option<TurnEvent>) {
        match event {
            Some(TurnEvent::Started) => {}
            Some(TurnEvent::Delta(text)) => self.say(&text),
            Some(TurnEvent::Done { message, usage, incomplete, .. }) => {
                if !self.spoken {
                    self.say(&message.content);
                }
                self.finish(usage, incomplete);
            }
            Some(TurnEvent::Failed { reason, retryable }) => {
                self.push(&no_reply(reason, retryable).as_openai());
                self.push_end();
            }
            Some(TurnEvent::Withdrawn { reason }) => {
                self.push(&no_reply(reason, false).as_openai());
                self.push_end();
            }
            None => {
                self.push(&interrupted_reply().as_openai());
                self.push_end();
            }
        }
    }

    fn finish(&mut self, usage: TokenUsage, incomplete: bool) {
        let rest = self.stop.finish();
        self.push_words(&rest);
        let finish_reason = FinishReason::from_incomplete(incomplete && !self.stop.is_over());
        self.push_choice(ChunkDelta::default(), Some(finish_reason));
        if self.wants_usage {
            self.push_chunk(Vec::new(), Some(usage.into()));
        }
        self.push_end();
    }

    fn say(&mut self, text: &str) {
        self.spoken = true;
        let words = self.stop.filter_piece(text);
        self.push_words(&words);
    }

    fn push_words(&mut self, words: &str) {
        if !words.is_empty() {
            self.push_choice(ChunkDelta { role: None, content: Some(words.to_owned()) }, None);
        }
    }

    fn push_end(&mut self) {
        self.over = true;
        self.frames.push_back(Event::default().data("[DONE]"));
    }

    fn push_choice(&mut self, delta: ChunkDelta, finish_reason: Option<FinishReason>) {
        self.push_chunk(vec![ChunkChoice { index: 0, delta, logprobs: (), finish_reason }], None);
    }

    fn push_chunk(&mut self, choices: Vec<ChunkChoice>, usage: Option<UsageBody>) {
        let chunk = CompletionChunk {
            id: self.head.id.clone(),
            object: ChunkTag::Chunk,
            created: self.head.created,
            model: self.head.model.clone(),
            choices,
            usage: self.wants_usage.then_some(usage),
        };
        self.push(&chunk);
    }

    fn push(&mut self, data: &impl Serialize) {
        // A chunk has only string keys, so serializing it never fails.
        let text = serde_json::to_string(data).unwrap_or_default();
        self.frames.push_back(Event::default().data(text));
    }
}
