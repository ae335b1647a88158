//! The language model that answers now: another can take its place while the program runs.

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use llm::{Completion, LlmError, Provider, Request, StreamEvent, Tier};

use crate::reloadable::{Reloadable, TooManyReloads};

/// Asks whichever model is the present one. A call that is under way ends with the one that it began with.
pub struct ReloadableModel {
    present: Reloadable<Arc<dyn Provider>>,
}

impl ReloadableModel {
    /// Begins with this model.
    pub fn new(provider: Arc<dyn Provider>) -> Self {
        Self { present: Reloadable::new(provider) }
    }

    /// Asks this one from now on.
    pub fn change(&self, provider: Arc<dyn Provider>) -> Result<(), TooManyReloads> {
        self.present.change(provider)
    }
}

#[async_trait]
impl Provider for ReloadableModel {
    fn name(&self) -> &str {
        self.present.name()
    }

    fn model(&self, tier: Tier) -> &str {
        self.present.model(tier)
    }

    fn endpoint(&self) -> Option<&str> {
        self.present.endpoint()
    }

    async fn complete(&self, request: Request) -> Result<Completion, LlmError> {
        self.present.complete(request).await
    }

    async fn stream(
        &self,
        request: Request,
    ) -> Result<BoxStream<'static, Result<StreamEvent, LlmError>>, LlmError> {
        self.present.stream(request).await
    }
}
