//! A provider over HTTP: attempts, what is learned from them, and retries.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use parking_lot::Mutex;
use reqwest::header::CONTENT_TYPE;
use reqwest::{Response, StatusCode};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::deadline::Deadline;
use super::refusal::{self, ErrorBody};
use super::shared::{Limits, SharedState, estimate_tokens};
use super::streaming::{StreamedAnswer, into_stream};
use super::{Capabilities, MAX_ANSWER_BYTES, MAX_BODY_BYTES, MAX_ERROR_BYTES, ParsedAnswer, Protocol, retry};
use crate::settings::is_loopback;
use crate::{
    Completion, LlmError, ModelTier, Provider, ProviderSettings, Request, RetryTimer, StreamEvent, TierModels,
};

/// A [`Provider`] that speaks a [`Protocol`]. Cheap to clone.
pub(crate) struct HttpProvider<P> {
    shared: Arc<SharedState<P>>,
}

impl<P: Protocol> HttpProvider<P> {
    pub(crate) fn new(
        protocol: P,
        models: TierModels,
        settings: &ProviderSettings,
        pauses: Arc<dyn RetryTimer>,
    ) -> Result<HttpProvider<P>, LlmError> {
        let client = super::client(is_loopback(protocol.url()), settings.connect_timeout)?;
        let shared = SharedState {
            client,
            models,
            secret: settings.api_key.clone(),
            limits: Limits {
                first_token: settings.first_token_timeout,
                idle: settings.idle_timeout,
                whole: settings.timeout,
                max_retries: settings.max_retries,
            },
            in_flight: Arc::new(Semaphore::new(settings.max_in_flight.max(1))),
            pauses,
            accepted: Mutex::new(HashMap::new()),
            protocol,
        };
        Ok(HttpProvider { shared: Arc::new(shared) })
    }
}

#[async_trait]
impl<P: Protocol> Provider for HttpProvider<P> {
    fn name(&self) -> &'static str {
        self.shared.protocol.name()
    }

    fn model(&self, tier: ModelTier) -> String {
        self.shared.models.for_tier(tier).to_owned()
    }

    fn endpoint(&self) -> Option<String> {
        Some(self.shared.protocol.host().to_owned())
    }

    async fn complete(&self, request: Request) -> Result<Completion, LlmError> {
        let start = Instant::now();
        let mut retries = 0;
        let answer = loop {
            match self.shared.attempt_completion(&request).await {
                Ok(answer) => break answer,
                Err(error) => self.shared.pause_or_give_up(&mut retries, error, &request).await?,
            }
        };
        let usage = answer.usage.unwrap_or_else(|| estimate_tokens(&request, &answer.text));
        Ok(Completion {
            usage,
            model: answer.model.unwrap_or_else(|| self.model(request.tier)),
            text: answer.text,
            provider: self.name().to_owned(),
            latency: start.elapsed(),
        })
    }

    async fn stream(
        &self,
        request: Request,
    ) -> Result<BoxStream<'static, Result<StreamEvent, LlmError>>, LlmError> {
        let mut retries = 0;
        loop {
            match self.shared.attempt_stream(&request).await {
                Ok((first, answer)) => return Ok(into_stream(first, answer)),
                Err(error) => self.shared.pause_or_give_up(&mut retries, error, &request).await?,
            }
        }
    }
}

impl<P: Protocol> SharedState<P> {
    /// Makes one attempt at a complete answer.
    async fn attempt_completion(&self, request: &Request) -> Result<ParsedAnswer, LlmError> {
        let _permit = self.acquire_permit().await?;
        let deadline = Deadline::new(Instant::now(), self.limits.whole, "finish its answer");
        let mut response = self.post_request(request, false, deadline).await?;
        let body =
            deadline.limit(self.protocol.host(), self.read_body(&mut response, MAX_BODY_BYTES)).await??;
        let body = body.ok_or_else(|| self.too_large_error())?;
        let answer = self.protocol.parse_answer(&body)?;
        if answer.text.len() > MAX_ANSWER_BYTES {
            return Err(self.too_large_error());
        }
        Ok(answer)
    }

    /// Makes one attempt at a stream, up to its first event.
    async fn attempt_stream(
        self: &Arc<Self>,
        request: &Request,
    ) -> Result<(StreamEvent, StreamedAnswer<P>), LlmError> {
        let permit = self.acquire_permit().await?;
        let start = Instant::now();
        let whole = Deadline::new(start, self.limits.whole, "finish its answer");
        let first = Deadline::new(start, self.limits.first_token, "begin to answer").earlier_of(whole);
        let mut response = self.post_request(request, true, first).await?;
        self.refuse_other_than_stream(&mut response, first).await?;
        let mut answer = StreamedAnswer::new(Arc::clone(self), request, response, first, whole, permit);
        // A failure up to here is retried. Later, a part of the reply has been delivered.
        let event = answer.next().await?;
        Ok((event, answer))
    }

    /// Posts the request in the best form that the endpoint is known to accept, and in the next form if that is
    /// refused.
    async fn post_request(
        &self,
        request: &Request,
        streaming: bool,
        by: Deadline,
    ) -> Result<Response, LlmError> {
        let model = self.models.for_tier(request.tier);
        let mut accepts = self.accepted_capabilities(model);
        loop {
            let body = self.protocol.request_body(request, model, accepts, streaming)?;
            let post = self
                .client
                .post(self.protocol.url().clone())
                .headers(self.protocol.headers())
                .header(CONTENT_TYPE, "application/json")
                .body(body);
            let response = by.limit(self.protocol.host(), post.send()).await?;
            let mut response =
                response.map_err(|error| refusal::transport_error(self.protocol.host(), &error))?;
            let status = response.status();
            if status.is_success() {
                // Remembered on success only: the refusal may have had another reason than the form.
                self.remember_capabilities(model, accepts);
                return Ok(response);
            }
            let body = by.limit(self.protocol.host(), self.read_body(&mut response, MAX_ERROR_BYTES)).await?;
            let complaint = ErrorBody::read(&body.ok().flatten().unwrap_or_default());
            let error =
                refusal::error_of_status(self.protocol.host(), status, response.headers(), &complaint);
            let about_form = matches!(status, StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY)
                && error.kind() == "fatal";
            match accepts.fallback(&complaint.message, request, streaming).filter(|_| about_form) {
                Some(next) => {
                    tracing::debug!(
                        host = self.protocol.host(),
                        model,
                        ?next,
                        "the endpoint rejected the format of a request"
                    );
                    accepts = next;
                }
                None => return Err(error),
            }
        }
    }

    /// Returns an error if the answer is not a stream: some endpoints send one JSON error, or a web page because the
    /// address is wrong.
    async fn refuse_other_than_stream(&self, response: &mut Response, by: Deadline) -> Result<(), LlmError> {
        let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let content_type = content_type.unwrap_or_default().to_ascii_lowercase();
        if !["application/json", "text/html"].iter().any(|document| content_type.starts_with(document)) {
            return Ok(());
        }
        let host = self.protocol.host();
        let body = by.limit(host, self.read_body(response, MAX_ERROR_BYTES)).await??.unwrap_or_default();
        let document = serde_json::from_slice(&body).unwrap_or_default();
        Err(match ErrorBody::find(&document) {
            Some(complaint) => refusal::error_in_stream(host, &complaint),
            None => LlmError::fatal_error(format!(
                "The language model at {host} did not return a stream, but a document ({content_type}). \
                    Check llm.base_url."
            )),
        })
    }

    /// Reads the body; `None` if it is larger than `most`, and then it is not read to its end.
    async fn read_body(&self, response: &mut Response, most: usize) -> Result<Option<Vec<u8>>, LlmError> {
        let mut body = Vec::new();
        while let Some(chunk) =
            response.chunk().await.map_err(|error| refusal::transport_error(self.protocol.host(), &error))?
        {
            if body.len() + chunk.len() > most {
                return Ok(None);
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Some(body))
    }

    /// Waits before the next attempt, or returns the error if there is none.
    async fn pause_or_give_up(
        &self,
        retries: &mut u32,
        error: LlmError,
        request: &Request,
    ) -> Result<(), LlmError> {
        let error = self.without_secret(error);
        let pause = retry::pause_before_retry(*retries, &error, self.pauses.jitter());
        match pause.filter(|_| *retries < self.limits.max_retries) {
            Some(pause) => {
                *retries += 1;
                let wait_ms = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
                tracing::debug!(
                    task = request.task,
                    kind = error.kind(),
                    retry = *retries,
                    wait_ms,
                    "retrying the language model"
                );
                self.pauses.pause(pause).await;
                Ok(())
            }
            None => Err(error),
        }
    }

    async fn acquire_permit(&self) -> Result<OwnedSemaphorePermit, LlmError> {
        Arc::clone(&self.in_flight)
            .acquire_owned()
            .await
            .map_err(|_closed| LlmError::transient("EchoVessel is stopping; the model was not called."))
    }

    fn accepted_capabilities(&self, model: &str) -> Capabilities {
        let accepted = self.accepted.lock();
        accepted.get(model).copied().unwrap_or_else(|| self.protocol.assumed_capabilities())
    }

    fn remember_capabilities(&self, model: &str, accepts: Capabilities) {
        self.accepted.lock().insert(model.to_owned(), accepts);
    }
}
