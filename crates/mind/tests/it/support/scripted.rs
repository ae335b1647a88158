//! A provider with scripted answers, a clock that advances, and a ledger.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use jiff::{SignedDuration, Timestamp};
use llm::{Completion, LlmError, ModelTier, Provider, Request, StreamEvent, Usage};
use memory::ledger::ModelCall;
use memory::ports::Clock;
use mind::{CallObserver, LanguageMind, Prompts};

use super::at;

pub(crate) const USAGE: Usage =
    Usage { input_tokens: 900, output_tokens: 80, cached_tokens: 512, reported: true };

/// Returns its answers in order and records the requests.
pub(crate) struct Scripted {
    answers: Mutex<VecDeque<Result<String, LlmError>>>,
    pub(crate) requests: Mutex<Vec<Request>>,
}

impl Scripted {
    fn next(&self, request: Request) -> Result<String, LlmError> {
        self.requests.lock().unwrap().push(request);
        let next = self.answers.lock().unwrap().pop_front();
        next.unwrap_or_else(|| Err(LlmError::Fatal { message: "the script is over".to_owned() }))
    }
}

#[async_trait]
impl Provider for Scripted {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn model(&self, tier: ModelTier) -> String {
        let model = match tier {
            ModelTier::Small => "tiny",
            ModelTier::Medium => "middling",
            ModelTier::Large => "grand",
        };
        model.to_owned()
    }

    async fn complete(&self, request: Request) -> Result<Completion, LlmError> {
        let model = self.model(request.tier);
        let text = self.next(request)?;
        let latency = Duration::from_millis(1);
        Ok(Completion { text, usage: USAGE, model, provider: "scripted".to_owned(), latency })
    }

    /// One delta per word. A word `!` interrupts the stream; a word `#` ends it without a usage report.
    async fn stream(
        &self,
        request: Request,
    ) -> Result<BoxStream<'static, Result<StreamEvent, LlmError>>, LlmError> {
        let model = self.model(request.tier);
        let text = self.next(request)?;
        let mut events = Vec::new();
        for word in text.split_inclusive(' ') {
            match word.trim() {
                "!" => events.push(Err(LlmError::Transient { message: "the line broke".to_owned() })),
                "#" => return Ok(stream::iter(events).boxed()),
                _ => events.push(Ok(StreamEvent::Delta(word.to_owned()))),
            }
        }
        if events.last().is_none_or(Result::is_ok) {
            events.push(Ok(StreamEvent::Finished { usage: USAGE, model }));
        }
        Ok(stream::iter(events).boxed())
    }
}

/// Advances by 5 ms whenever it is read.
pub(crate) struct Ticking(Mutex<Timestamp>);

impl From<Timestamp> for Ticking {
    fn from(start: Timestamp) -> Self {
        Self(Mutex::new(start))
    }
}

impl Clock for Ticking {
    fn now(&self) -> Timestamp {
        let mut now = self.0.lock().unwrap();
        *now += SignedDuration::from_millis(5);
        *now
    }

    fn sleep(&self, _: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async {})
    }
}

#[derive(Default)]
pub(crate) struct Ledger(pub(crate) Mutex<Vec<ModelCall>>);

impl CallObserver for Ledger {
    fn observe(&self, call: ModelCall) {
        self.0.lock().unwrap().push(call);
    }
}

impl Ledger {
    pub(crate) fn outcomes(&self) -> Vec<String> {
        self.0.lock().unwrap().iter().map(|call| call.outcome.clone()).collect()
    }
}

/// A mind with its provider, clock and ledger.
pub(crate) struct Setting {
    pub(crate) mind: LanguageMind,
    pub(crate) provider: Arc<Scripted>,
    pub(crate) ledger: Arc<Ledger>,
}

impl Setting {
    /// The prompts that the provider received, system and user.
    pub(crate) fn asked(&self) -> Vec<(String, String)> {
        let requests = self.provider.requests.lock().unwrap();
        requests.iter().map(|request| (request.system.clone(), request.user.clone())).collect()
    }
}

pub(crate) fn setting(answers: impl IntoIterator<Item = Result<String, LlmError>>) -> Setting {
    let provider =
        Arc::new(Scripted { answers: Mutex::new(answers.into_iter().collect()), requests: Mutex::default() });
    let ledger = Arc::new(Ledger::default());
    let mind = LanguageMind::new(
        provider.clone(),
        Arc::new(Ticking::from(at("2026-03-03T13:00:00Z"))),
        ledger.clone(),
        Prompts::load(None).unwrap(),
    );
    Setting { mind, provider, ledger }
}

pub(crate) fn answering(answer: impl Into<String>) -> Setting {
    setting([Ok(answer.into())])
}
