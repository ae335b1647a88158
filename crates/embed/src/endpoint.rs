//! Vectors from an OpenAI-compatible `/embeddings` endpoint.

mod request;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use memory::ports::{Backoff, Clock, EmbedError, Embedder, Embedding};
use parking_lot::Mutex;
use secrecy::SecretString;
use tokio::sync::Semaphore;

use crate::ModelError;
use crate::model_folder::settings_digest;
use crate::pooling::normalize;
use crate::readability::{Scripts, readability};
use request::{Endpoint, Refusal};

/// Maximum texts in one request to the endpoint. It bounds the cost of a failed request, and lets a server without a
/// GPU answer in time.
const TEXTS_PER_REQUEST: usize = 64;
/// Maximum characters of a text to send; the models behind such endpoints read some 8,000 tokens.
const CHARACTERS_MAX: usize = 8_000;
/// Characters to send when a single text was refused. Texts are usually refused for their length, and every model
/// accepts this many.
const CHARACTERS_OF_A_REFUSED_TEXT: usize = 1_000;
/// A text that is sent to test whether the endpoint works.
const PROBE_TEXT: &str = "hello";
/// Period after a failure in which queries fail at once, so that only one turn waits for a broken endpoint.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(30);
/// Waits before a request is repeated. If the endpoint asks for a longer wait, the request fails instead.
const BACKOFF: Backoff = Backoff { first: Duration::from_millis(500), longest: Duration::from_secs(30) };

/// Settings of an endpoint that a person can change.
#[derive(Clone, Debug)]
pub struct EndpointSettings {
    /// The endpoint's base, usually ending in `/v1`; empty means OpenAI's own.
    pub base_url: String,
    /// The model to ask for.
    pub model: String,
    /// The key, if one is needed.
    pub api_key: Option<SecretString>,
    /// Prefix of each query.
    pub query_prefix: String,
    /// Prefix of each passage.
    pub passage_prefix: String,
    /// Unicode's names of the scripts that the model reads; empty means every script.
    pub readable_scripts: Vec<String>,
    /// Permits `http://` to another machine.
    pub allow_insecure_http: bool,
    /// Time limit for opening a connection.
    pub connect_timeout: Duration,
    /// Time limit for embedding a query, which a turn waits for.
    pub query_timeout: Duration,
    /// Time limit of one request in the background.
    pub passage_timeout: Duration,
    /// Retries of a background request whose error may pass.
    pub max_retries: u32,
}

impl Default for EndpointSettings {
    fn default() -> Self {
        Self {
            base_url: String::new(),
            model: String::new(),
            api_key: None,
            query_prefix: String::new(),
            passage_prefix: String::new(),
            readable_scripts: Vec::new(),
            allow_insecure_http: false,
            connect_timeout: Duration::from_secs(5),
            query_timeout: Duration::from_secs(5),
            passage_timeout: Duration::from_secs(60),
            max_retries: 3,
        }
    }
}

/// An [`Embedder`] that asks an endpoint. The dimension of its vectors is learnt from the first answer and must not
/// change.
///
/// Queries are tried once, with a short time limit. After a failure they fail at once for half a minute, so that a
/// dead endpoint delays one turn and not every turn. Passages are retried, depending on the error. If the endpoint
/// refuses one text and accepts others, that text gets a vector of readability 0: words still find it, and the others
/// are embedded.
pub struct EndpointEmbedder {
    endpoint: Endpoint,
    settings: EndpointSettings,
    scripts: Scripts,
    clock: Arc<dyn Clock>,
    known: OnceLock<EndpointFacts>,
    /// Shared by all callers, so that only the first one waits for a broken endpoint.
    trouble: Mutex<Option<FailureState>>,
    /// One permit: batches of passages are sent one at a time. Queries don't take it, so they never wait for a batch.
    passage_place: Semaphore,
}

/// Facts learned from the first answer.
struct EndpointFacts {
    dimension: usize,
    fingerprint: String,
}

#[derive(Clone)]
struct FailureState {
    reason: String,
    until: Timestamp,
}

impl EndpointEmbedder {
    /// Creates the embedder without sending anything.
    ///
    /// # Errors
    ///
    /// [`ModelError::Settings`] for an invalid address, model name or script.
    pub fn new(settings: EndpointSettings, clock: Arc<dyn Clock>) -> Result<Self, ModelError> {
        if settings.model.trim().is_empty() {
            return Err(ModelError::Settings(
                "embedding.model is empty: name a model of the endpoint".to_owned(),
            ));
        }
        let scripts = match settings.readable_scripts.as_slice() {
            [] => Scripts::Every,
            names => Scripts::from_settings(names)?,
        };
        Ok(Self {
            endpoint: Endpoint::new(&settings)?,
            settings,
            scripts,
            clock,
            known: OnceLock::new(),
            trouble: Mutex::default(),
            passage_place: Semaphore::new(1),
        })
    }

    /// Host and port of the endpoint, as shown to people.
    pub fn host(&self) -> &str {
        self.endpoint.host()
    }

    /// The reason why the endpoint can't embed at the moment; `None` while it works.
    pub fn failure_reason(&self) -> Option<String> {
        self.trouble.lock().as_ref().map(|trouble| trouble.reason.clone())
    }

    fn note_failure(&self, refusal: Refusal) -> EmbedError {
        let reason = refusal.into_message();
        let now = self.clock.now();
        let until = now.checked_add(PAUSE_AFTER_FAILURE).unwrap_or(now);
        *self.trouble.lock() = Some(FailureState { reason: reason.clone(), until });
        EmbedError::Failed(reason)
    }

    /// Sends one request. Stores or checks the dimension of the vectors.
    async fn ask(&self, prefix: &str, texts: &[String], limit: Duration) -> Result<Vec<Vec<f32>>, Refusal> {
        let inputs: Vec<String> = texts.iter().map(|text| input_text(prefix, text, CHARACTERS_MAX)).collect();
        self.request_vectors(&inputs, limit).await
    }

    async fn request_vectors(&self, inputs: &[String], limit: Duration) -> Result<Vec<Vec<f32>>, Refusal> {
        let mut vectors = self.endpoint.ask(inputs, limit).await?;
        for vector in &mut vectors {
            let dimension = vector.len();
            let known = self
                .known
                .get_or_init(|| EndpointFacts { dimension, fingerprint: self.make_fingerprint(dimension) });
            if known.dimension != dimension {
                return Err(Refusal::Final(format!(
                    "{} now returns vectors of {dimension} components instead of {}; restart EchoVessel if \
                        the model was changed",
                    self.host(),
                    known.dimension
                )));
            }
            normalize(vector);
        }
        *self.trouble.lock() = None;
        Ok(vectors)
    }

    fn make_fingerprint(&self, dimension: usize) -> String {
        let EndpointSettings { model, query_prefix, passage_prefix, readable_scripts, .. } = &self.settings;
        let settings = settings_digest(query_prefix, passage_prefix, readable_scripts);
        format!("endpoint/{model}/{dimension}{settings}")
    }

    /// Embeds a batch, with retries if the error may pass. If a text is refused, finds out which one.
    async fn embed_passages(&self, texts: &[String]) -> Result<Vec<Embedding>, Refusal> {
        let mut embedded = Vec::with_capacity(texts.len());
        let mut waiting = vec![texts];
        while let Some(part) = waiting.pop() {
            match self.with_retries(&self.inputs(part, CHARACTERS_MAX)).await {
                Ok(vectors) => {
                    embedded.extend(
                        part.iter().zip(vectors).map(|(text, vector)| self.to_embedding(text, vector)),
                    );
                }
                Err(Refusal::Text(_)) if part.len() > 1 => {
                    let (first, second) = part.split_at(part.len() / 2);
                    // The first half is taken next, so that vectors stay in the order of the texts.
                    waiting.push(second);
                    waiting.push(first);
                }
                Err(Refusal::Text(reason)) => {
                    embedded.push(self.handle_refused_text(&part[0], reason).await?)
                }
                Err(refusal) => return Err(refusal),
            }
        }
        Ok(embedded)
    }

    fn inputs(&self, texts: &[String], characters: usize) -> Vec<String> {
        texts.iter().map(|text| input_text(&self.settings.passage_prefix, text, characters)).collect()
    }

    /// Embeds a text that was refused by itself: its beginning, or else as an unreadable text. If the endpoint also
    /// refuses a harmless text, the error is not about this text.
    async fn handle_refused_text(&self, text: &String, reason: String) -> Result<Embedding, Refusal> {
        let beginning = self.inputs(std::slice::from_ref(text), CHARACTERS_OF_A_REFUSED_TEXT);
        match self.with_retries(&beginning).await {
            Ok(vectors) => {
                let vector = vectors.into_iter().next().unwrap_or_default();
                return Ok(self.to_embedding(text, vector));
            }
            Err(Refusal::Text(_)) => {}
            Err(refusal) => return Err(refusal),
        }
        let probe = self.with_retries(&[PROBE_TEXT.to_owned()]).await;
        let mut vector = probe
            .map_err(|_refused| Refusal::Final(reason.clone()))?
            .into_iter()
            .next()
            .ok_or(Refusal::Final(reason.clone()))?;
        tracing::warn!(
            host = self.host(),
            "a text is found only by its words, because the endpoint rejects it: {reason}"
        );
        // Any unit vector, because vectors have to be normalized; readability 0 excludes it from comparisons.
        vector.fill(0.0);
        vector.iter_mut().take(1).for_each(|component| *component = 1.0);
        Ok(Embedding { vector, readability: 0.0 })
    }

    async fn with_retries(&self, inputs: &[String]) -> Result<Vec<Vec<f32>>, Refusal> {
        for failures in 0..self.settings.max_retries {
            match self.request_vectors(inputs, self.settings.passage_timeout).await {
                Err(Refusal::Passing { retry_after, .. })
                    if retry_after.is_none_or(|after| after <= BACKOFF.longest) =>
                {
                    let wait = BACKOFF.wait_after_failures(failures);
                    self.clock.sleep(retry_after.unwrap_or_default().max(wait)).await;
                }
                outcome => return outcome,
            }
        }
        self.request_vectors(inputs, self.settings.passage_timeout).await
    }

    fn to_embedding(&self, text: &str, vector: Vec<f32>) -> Embedding {
        Embedding { vector, readability: readability(text, &[], &self.scripts) }
    }
}

/// The text to send. Endpoints refuse an empty text; its readability is 0 in any case.
fn input_text(prefix: &str, text: &str, characters: usize) -> String {
    let end = text.char_indices().nth(characters).map_or(text.len(), |(at, _)| at);
    let text = if text.trim().is_empty() { "-" } else { &text[..end] };
    format!("{prefix}{text}")
}

#[async_trait]
impl Embedder for EndpointEmbedder {
    fn dimension(&self) -> usize {
        self.known.get().map_or(0, |known| known.dimension)
    }

    fn fingerprint(&self) -> &str {
        self.known.get().map_or("", |known| &known.fingerprint)
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Embedding>, EmbedError> {
        let closed = |error: tokio::sync::AcquireError| EmbedError::Failed(error.to_string());
        let _place = self.passage_place.acquire().await.map_err(closed)?;
        let mut embedded = Vec::with_capacity(texts.len());
        for part in texts.chunks(TEXTS_PER_REQUEST) {
            embedded.extend(self.embed_passages(part).await.map_err(|refusal| self.note_failure(refusal))?);
        }
        Ok(embedded)
    }

    async fn embed_queries(&self, texts: &[String]) -> Result<Vec<Embedding>, EmbedError> {
        // A turn is waiting: while the endpoint fails, it goes on without vectors at once.
        let resting = self.trouble.lock().clone().filter(|trouble| self.clock.now() < trouble.until);
        if let Some(FailureState { reason, .. }) = resting {
            return Err(EmbedError::Failed(reason));
        }
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let asked = self.ask(&self.settings.query_prefix, texts, self.settings.query_timeout).await;
        let vectors = asked.map_err(|refusal| self.note_failure(refusal))?;
        Ok(texts.iter().zip(vectors).map(|(text, vector)| self.to_embedding(text, vector)).collect())
    }

    async fn identify(&self) -> Result<String, EmbedError> {
        if self.known.get().is_none() {
            let probe = [PROBE_TEXT.to_owned()];
            let asked = self.request_vectors(&probe, self.settings.passage_timeout).await;
            asked.map_err(|refusal| self.note_failure(refusal))?;
        }
        Ok(self.fingerprint().to_owned())
    }
}
