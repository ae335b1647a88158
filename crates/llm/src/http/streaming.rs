//! Reads a streamed answer within its limits.

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use reqwest::Response;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use super::deadline::Deadline;
use super::events::{EventDecoder, EventError, SseEvent};
use super::shared::{SharedState, estimate_tokens, estimated_tokens};
use super::{MAX_ANSWER_BYTES, Progress, Protocol, StreamItem, refusal};
use crate::{LlmError, Request, StreamEvent, Usage};

/// An answer that is being streamed. Dropping it closes the connection and releases its permit.
pub(super) struct StreamedAnswer<P> {
    shared: Arc<SharedState<P>>,
    response: Response,
    decoder: EventDecoder,
    /// Events that were received and not processed yet.
    events: VecDeque<SseEvent>,
    progress: Progress,
    asked_model: String,
    /// Length of the answer so far, in bytes and in estimated tokens.
    said_bytes: usize,
    estimate: Usage,
    /// Deadline of the next token.
    next_token: Deadline,
    whole: Deadline,
    _permit: OwnedSemaphorePermit,
}

impl<P: Protocol> StreamedAnswer<P> {
    pub(super) fn new(
        shared: Arc<SharedState<P>>,
        request: &Request,
        response: Response,
        first_token: Deadline,
        whole: Deadline,
        permit: OwnedSemaphorePermit,
    ) -> StreamedAnswer<P> {
        StreamedAnswer {
            asked_model: shared.model(request.tier).to_owned(),
            shared,
            response,
            decoder: EventDecoder::default(),
            events: VecDeque::new(),
            progress: Progress::default(),
            said_bytes: 0,
            estimate: estimate_tokens(request, ""),
            next_token: first_token,
            whole,
            _permit: permit,
        }
    }

    /// The next part of the answer; `None` after the end or an error.
    pub(super) async fn next(&mut self) -> Result<StreamEvent, LlmError> {
        if self.said_bytes > 0 {
            // The time that the reader took does not count as silence of the model.
            self.note_token();
        }
        loop {
            let event = self.next_event().await?;
            match self.shared.protocol.read_event(&event, &mut self.progress)? {
                StreamItem::Text(text) if text.is_empty() => {}
                StreamItem::Text(text) => {
                    self.note_token();
                    self.said_bytes += text.len();
                    self.estimate.output_tokens += estimated_tokens(&text);
                    if self.said_bytes > MAX_ANSWER_BYTES {
                        return Err(self.shared.too_large_error());
                    }
                    return Ok(StreamEvent::Delta(text));
                }
                StreamItem::Thought => self.note_token(),
                StreamItem::Nothing => {}
                StreamItem::End => {
                    let usage = self.progress.usage.unwrap_or(self.estimate);
                    let model = self.progress.model.take().unwrap_or_else(|| self.asked_model.clone());
                    return Ok(StreamEvent::Finished { usage, model });
                }
            }
        }
    }

    fn note_token(&mut self) {
        let idle = Deadline::new(Instant::now(), self.shared.limits.idle, "go on with its answer");
        self.next_token = idle.earlier_of(self.whole);
    }

    async fn next_event(&mut self) -> Result<SseEvent, LlmError> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Ok(event);
            }
            let host = self.shared.protocol.host();
            let chunk = self.next_token.limit(host, self.response.chunk()).await?;
            let Some(chunk) = chunk.map_err(|error| refusal::transport_error(host, &error))? else {
                return Err(LlmError::transient(format!(
                    "The language model at {host} stopped before the end of its reply. The part received is \
                        saved; ask again for the rest."
                )));
            };
            self.decoder.push(&chunk, |event| self.events.push_back(event)).map_err(|error| match error {
                EventError::TooLarge => self.shared.too_large_error(),
                EventError::Unreadable => LlmError::fatal_error(format!(
                    "The response of the language model at {host} is not valid text. Check llm.base_url."
                )),
            })?;
        }
    }
}

/// The events of an answer whose first event was read already.
pub(super) fn into_stream<P: Protocol>(
    first: StreamEvent,
    answer: StreamedAnswer<P>,
) -> BoxStream<'static, Result<StreamEvent, LlmError>> {
    let rest = match first {
        StreamEvent::Delta(_) => Some(answer),
        StreamEvent::Finished { .. } => None,
    };
    let rest = stream::unfold(rest, |answer| async move {
        let mut answer = answer?;
        match answer.next().await {
            Ok(delta @ StreamEvent::Delta(_)) => Some((Ok(delta), Some(answer))),
            Ok(finished) => Some((Ok(finished), None)),
            Err(error) => Some((Err(answer.shared.without_secret(error)), None)),
        }
    });
    stream::once(async { Ok(first) }).chain(rest).boxed()
}
