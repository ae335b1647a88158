//! The current language model, which can be replaced while the program runs.

use std::sync::Arc;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use futures_util::stream::BoxStream;
use llm::{Completion, LlmError, ModelTier, Provider, Request, StreamEvent};

/// Passes each request to the current model. A running request ends with the model that it began with.
pub struct ReloadableModel {
    current: ArcSwap<Arc<dyn Provider>>,
}

impl ReloadableModel {
    /// Creates a provider that can be replaced while requests run; the first one is `provider`.
    pub fn new(provider: Arc<dyn Provider>) -> Self {
        Self { current: ArcSwap::from_pointee(provider) }
    }

    /// Replaces the model for all later requests.
    pub fn replace(&self, provider: Arc<dyn Provider>) {
        self.current.store(Arc::new(provider));
    }
}

#[async_trait]
impl Provider for ReloadableModel {
    fn name(&self) -> &'static str {
        self.current.load().name()
    }

    fn model(&self, tier: ModelTier) -> String {
        self.current.load().model(tier)
    }

    fn endpoint(&self) -> Option<String> {
        self.current.load().endpoint()
    }

    fn context_tokens(&self) -> Option<u32> {
        self.current.load().context_tokens()
    }

    async fn complete(&self, request: Request) -> Result<Completion, LlmError> {
        self.current.load_full().complete(request).await
    }

    async fn stream(
        &self,
        request: Request,
    ) -> Result<BoxStream<'static, Result<StreamEvent, LlmError>>, LlmError> {
        self.current.load_full().stream(request).await
    }
}
