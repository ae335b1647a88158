//! A reply while it is streamed.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::Stream;
use futures_util::stream::BoxStream;
use llm::{LlmError, StreamEvent};

use crate::observer::{CallInFlight, OUTCOME_OK};

/// The stream of a reply: any number of deltas, then [`StreamEvent::Finished`] or an error. The call is reported to
/// the ledger when it ends, fails or is dropped; if the provider reported no tokens, they are estimates.
pub struct ReplyStream {
    events: BoxStream<'static, Result<StreamEvent, LlmError>>,
    call: CallInFlight,
}

impl ReplyStream {
    pub(crate) fn new(events: BoxStream<'static, Result<StreamEvent, LlmError>>, call: CallInFlight) -> Self {
        Self { events, call }
    }
}

impl Stream for ReplyStream {
    type Item = Result<StreamEvent, LlmError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = self.events.as_mut().poll_next(context);
        if let Poll::Ready(Some(event)) = &next {
            match event {
                Ok(StreamEvent::Delta(text)) => self.call.count_output(text),
                Ok(StreamEvent::Finished { usage, model }) => {
                    self.call.set_reported_usage(*usage, model);
                    self.call.report_end(OUTCOME_OK);
                }
                Err(error) => self.call.report_end(error.kind()),
            }
        }
        next
    }
}
