//! Applies settings for sampling where a request has none.

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::stream::BoxStream;

use crate::error::LlmError;
use crate::provider::{Completion, ModelTier, Provider, Request, StreamEvent};

/// A provider that fills in missing parameters of a request, and knows the context size of its endpoint.
pub(crate) struct SampledProvider {
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) context_tokens: Option<u32>,
    pub(crate) temperature: Option<f32>,
    pub(crate) max_tokens: Option<u32>,
}

impl SampledProvider {
    fn with_sampling(&self, request: Request) -> Request {
        Request {
            temperature: request.temperature.or(self.temperature),
            max_tokens: request.max_tokens.or(self.max_tokens),
            ..request
        }
    }
}

#[async_trait]
impl Provider for SampledProvider {
    fn name(&self) -> &'static str {
        self.provider.name()
    }

    fn model(&self, tier: ModelTier) -> String {
        self.provider.model(tier)
    }

    fn endpoint(&self) -> Option<String> {
        self.provider.endpoint()
    }

    fn context_tokens(&self) -> Option<u32> {
        self.context_tokens
    }

    async fn complete(&self, request: Request) -> Result<Completion, LlmError> {
        self.provider.complete(self.with_sampling(request)).await
    }

    async fn stream(
        &self,
        request: Request,
    ) -> Result<BoxStream<'static, Result<StreamEvent, LlmError>>, LlmError> {
        self.provider.stream(self.with_sampling(request)).await
    }
}
