//! A language model with scripted replies, in this process.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use llm::{Completion, LlmError, ModelTier, Provider, Request, StreamEvent, Usage};
use offline::OfflineProvider;
use tokio::sync::Semaphore;

pub(crate) const USAGE: Usage =
    Usage { input_tokens: 120, output_tokens: 8, cached_tokens: 20, reported: true };

/// One scripted reply.
pub(crate) enum Reply {
    /// Streams these pieces.
    Says(Vec<&'static str>),
    /// Streams these pieces, then breaks off.
    BreaksOff(Vec<&'static str>),
    /// Sends nothing; the error may be permanent or temporary.
    Fails { transient: bool },
    /// Streams these pieces, each when the test allows it.
    Waits(Arc<Semaphore>, Vec<&'static str>),
}

/// Replies from a queue, then always "I hear you." Other prompts are answered by the offline provider.
#[derive(Default)]
pub(crate) struct Talker {
    queue: Mutex<VecDeque<Reply>>,
    /// The user text of each reply's prompt.
    pub(crate) prompts: Mutex<Vec<String>>,
    /// Whether prompts other than replies fail permanently.
    pub(crate) refuses_work: std::sync::atomic::AtomicBool,
}

impl Talker {
    pub(crate) fn next(&self, reply: Reply) {
        self.queue.lock().unwrap().push_back(reply);
    }
}

fn failure(transient: bool) -> LlmError {
    let message = "the model is not there".to_owned();
    if transient { LlmError::Transient { message } } else { LlmError::Auth { message } }
}

#[async_trait]
impl Provider for Talker {
    fn name(&self) -> &'static str {
        "talker"
    }

    fn model(&self, _: ModelTier) -> String {
        "talker-1".to_owned()
    }

    async fn complete(&self, request: Request) -> Result<Completion, LlmError> {
        if self.refuses_work.load(std::sync::atomic::Ordering::Relaxed) {
            return Err(failure(false));
        }
        if request.task == "utility" {
            let text = "{\"title\": \"A greeting\"}".to_owned();
            let (model, provider) = ("talker-1".to_owned(), "talker".to_owned());
            return Ok(Completion { text, usage: USAGE, model, provider, latency: Duration::ZERO });
        }
        OfflineProvider.complete(request).await
    }

    async fn stream(
        &self,
        request: Request,
    ) -> Result<BoxStream<'static, Result<StreamEvent, LlmError>>, LlmError> {
        self.prompts.lock().unwrap().push(request.user);
        let reply = self.queue.lock().unwrap().pop_front().unwrap_or(Reply::Says(vec!["I hear ", "you."]));
        let end = StreamEvent::Finished { usage: USAGE, model: "talker-1".to_owned() };
        let delta = |piece: &str| Ok(StreamEvent::Delta(piece.to_owned()));
        match reply {
            Reply::Says(pieces) => Ok(stream::iter(pieces).map(delta).chain(stream::iter([Ok(end)])).boxed()),
            Reply::BreaksOff(pieces) => {
                Ok(stream::iter(pieces).map(delta).chain(stream::iter([Err(failure(true))])).boxed())
            }
            Reply::Fails { transient } => Err(failure(transient)),
            Reply::Waits(leave, pieces) => {
                let allowed = stream::iter(pieces).then(move |piece| {
                    let leave = leave.clone();
                    async move {
                        leave.acquire().await.unwrap().forget();
                        delta(piece)
                    }
                });
                Ok(allowed.chain(stream::iter([Ok(end)])).boxed())
            }
        }
    }
}
