//! The mind that asks a language model.

use std::sync::Arc;

use async_trait::async_trait;
use llm::{AnswerFormat, LlmError, ModelTier, OFFLINE, Provider, Request};
use memory::identifiers::{SessionId, TurnId};
use memory::ledger::TokenUsage;
use memory::ports::{
    Clock, Extraction, ExtractionInput, Mind, MindError, Reconciliation, ReconciliationInput, Reflection,
    ReflectionInput, SlowCycle, SlowCycleInput,
};
use serde::Serialize;
use serde_json::Value;

use crate::answer::MalformedAnswer;
use crate::contract::{self, ExtractionAnswer, ReconciliationAnswer, ReflectionAnswer, SlowCycleAnswer};
use crate::observer::{CallInFlight, CallObserver, OUTCOME_MALFORMED, OUTCOME_OK, Purpose};
use crate::parsed::ParsedAnswer;
use crate::prompts::{PromptError, PromptName, Prompts, digest};
use crate::reply::{self, RenderedReply, ReplyBudget, ReplyInput, ReplyStream};
use crate::{extraction, persona_draft, reconciliation, reflection, slow_cycle};

/// Temperature of tasks that copy and judge. It is not zero, because some models then repeat a sentence without end.
const EXTRACTION_TEMPERATURE: f32 = 0.2;
/// Temperature of tasks that write texts. It is higher than for copying, so that thoughts do not all begin alike.
const REFLECTION_TEMPERATURE: f32 = 0.6;
const SLOW_CYCLE_TEMPERATURE: f32 = 0.5;
/// Maximum tokens of answers. For models that think first, thinking counts too.
const EXTRACTION_TOKENS_MAX: u32 = 4_096;
const RECONCILIATION_TOKENS_MAX: u32 = 2_048;
const REFLECTION_TOKENS_MAX: u32 = 2_048;
const DRAFT_TEMPERATURE: f32 = 0.5;
const DRAFT_TOKENS_MAX: u32 = 4_096;
const UTILITY_TOKENS_MAX: u32 = 2_048;

/// The prompt of a task: its system and user texts, and the same input as data.
pub(crate) struct TaskPrompt {
    name: PromptName,
    system: String,
    user: String,
    inputs: Value,
}

/// A mind that asks a language model what is worth remembering and what to say.
pub struct LanguageMind {
    provider: Arc<dyn Provider>,
    clock: Arc<dyn Clock>,
    observer: Arc<dyn CallObserver>,
    prompts: Prompts,
    extraction_schema: Value,
    reconciliation_schema: Value,
    reflection_schema: Value,
    slow_cycle_schema: Value,
}

impl LanguageMind {
    /// Creates a mind that sends `prompts` to `provider` and reports every call to `observer`.
    pub fn new(
        provider: Arc<dyn Provider>,
        clock: Arc<dyn Clock>,
        observer: Arc<dyn CallObserver>,
        prompts: Prompts,
    ) -> Self {
        Self {
            provider,
            clock,
            observer,
            prompts,
            extraction_schema: contract::schema::<ExtractionAnswer>(),
            reconciliation_schema: contract::schema::<ReconciliationAnswer>(),
            reflection_schema: contract::schema::<ReflectionAnswer>(),
            slow_cycle_schema: contract::schema::<SlowCycleAnswer>(),
        }
    }

    /// The templates in use; their hashes are stored with the memories made with them.
    pub fn prompts(&self) -> &Prompts {
        &self.prompts
    }

    /// The configured model for replies; a finished reply has the name that the endpoint reports.
    pub fn reply_model(&self) -> String {
        self.provider.model(self.prompts.tier_of_template(PromptName::ReplySystem))
    }

    /// True if only the offline provider is available.
    pub fn is_offline(&self) -> bool {
        self.provider.name() == OFFLINE
    }

    /// Renders the prompt of a reply within `budget`, without sending anything.
    ///
    /// # Errors
    ///
    /// [`PromptError`] when an overridden template fails on these inputs.
    pub fn render_reply(
        &self,
        input: &ReplyInput,
        budget: &ReplyBudget,
    ) -> Result<RenderedReply, PromptError> {
        reply::render(&self.prompts, input, budget)
    }

    /// Requests a reply and streams it. The call is reported to the ledger when the stream ends, fails or is dropped.
    ///
    /// # Errors
    ///
    /// [`LlmError`] when there was no text at all; the call was reported.
    pub async fn stream_reply(
        &self,
        prompt: &RenderedReply,
        turn_id: Option<TurnId>,
    ) -> Result<ReplyStream, LlmError> {
        let request = Request {
            task: "reply".to_owned(),
            tier: self.prompts.tier_of_template(PromptName::ReplySystem),
            system: prompt.system.clone(),
            user: prompt.user.clone(),
            answer: AnswerFormat::Text,
            // Named as the provider is configured.
            temperature: None,
            max_tokens: None,
            inputs: prompt.inputs.clone(),
        };
        let prompt_hash = prompt.prompt_hash.clone();
        let mut call = self.begin(&request, Purpose { turn_id, prompt_hash, ..Purpose::default() });
        match self.provider.stream(request).await {
            Ok(events) => Ok(ReplyStream::new(events, call)),
            Err(error) => {
                call.report_end(error.kind());
                Err(error)
            }
        }
    }

    /// Sends a request, and once more with an explanation if the answer is malformed, incomplete or violates the
    /// contract. If it is incomplete twice, its usable part is returned. Also returns the tokens of both calls.
    pub(crate) async fn ask<T>(
        &self,
        session: Option<SessionId>,
        request_with: impl Fn(Option<&str>) -> Result<Request, MindError>,
        read: impl Fn(&str) -> Result<ParsedAnswer<T>, MalformedAnswer>,
    ) -> Result<(T, TokenUsage), MindError> {
        let purpose = || Purpose { session_id: session, ..Purpose::default() };
        let (first, used) = self.call_once(purpose(), request_with(None)?, &read).await?;
        let mut is_whole = false;
        let (problem, usable) = match first {
            Ok(ParsedAnswer { value, whole: true, missing: None }) => return Ok((value, used)),
            Ok(ParsedAnswer { value, whole: true, missing: Some(missing) }) => {
                is_whole = true;
                (missing.to_owned(), Some(value))
            }
            Ok(parsed) => ("It ended in the middle. Be shorter.".to_owned(), Some(parsed.value)),
            Err(MalformedAnswer(problem)) => (problem, None),
        };
        tracing::debug!("an answer could not be used as it is; asking once more");
        let (second, again) = match self.call_once(purpose(), request_with(Some(&problem))?, &read).await {
            Ok(second) => second,
            // A complete answer is used even if it lacks something; an incomplete one is worth another request later.
            Err(error) => return usable.filter(|_| is_whole).map(|value| (value, used)).ok_or(error),
        };
        let used = TokenUsage {
            input_tokens: used.input_tokens.saturating_add(again.input_tokens),
            output_tokens: used.output_tokens.saturating_add(again.output_tokens),
            cached_tokens: used.cached_tokens.saturating_add(again.cached_tokens),
        };
        match (second, usable) {
            (Ok(reading), _) => Ok((reading.value, used)),
            (Err(_), Some(usable)) => Ok((usable, used)),
            (Err(malformed), None) => Err(MindError::Transient(format!(
                "it answered twice in a form that can't be read ({malformed}) Nothing was lost: the conversation \
                 is kept and will be asked about again"
            ))),
        }
    }

    /// Makes one call. `Err` if the call failed; `Ok(Err(_))` if the answer could not be parsed.
    async fn call_once<T>(
        &self,
        purpose: Purpose,
        request: Request,
        read: &impl Fn(&str) -> Result<ParsedAnswer<T>, MalformedAnswer>,
    ) -> Result<(Result<ParsedAnswer<T>, MalformedAnswer>, TokenUsage), MindError> {
        let template = PromptName::ALL.into_iter().find(|name| name.as_str() == request.task);
        let prompt_hash = match template {
            Some(name) => self.prompt_hash(name, &request),
            None => digest(&["", &request.system, &request.user]),
        };
        let mut call = self.begin(&request, Purpose { prompt_hash, ..purpose });
        match self.provider.complete(request).await {
            Ok(completion) => {
                call.set_reported_usage(completion.usage, &completion.model);
                let (reading, usage) = (read(&completion.text), call.usage());
                call.report_end(if reading.is_ok() { OUTCOME_OK } else { OUTCOME_MALFORMED });
                Ok((reading, usage))
            }
            Err(error) => {
                call.report_end(error.kind());
                Err(mind_error(&error))
            }
        }
    }

    /// Digest of a request and of the template that it was rendered with.
    pub(crate) fn prompt_hash(&self, name: PromptName, request: &Request) -> String {
        digest(&[self.prompts.hash(name), &request.system, &request.user])
    }

    fn begin(&self, request: &Request, purpose: Purpose) -> CallInFlight {
        let (observer, clock) = (Arc::clone(&self.observer), Arc::clone(&self.clock));
        CallInFlight::begin(observer, clock, self.provider.as_ref(), request, purpose)
    }

    /// A request for an answer that follows a contract.
    pub(crate) fn structured_request(
        &self,
        asked: TaskPrompt,
        schema: &Value,
        temperature: f32,
        max_tokens: u32,
    ) -> Request {
        let task = asked.name.as_str();
        Request {
            task: task.to_owned(),
            tier: self.prompts.tier_of_template(asked.name),
            system: asked.system,
            user: asked.user,
            answer: AnswerFormat::Json { name: task.to_owned(), schema: schema.clone() },
            temperature: Some(temperature),
            max_tokens: Some(max_tokens),
            inputs: asked.inputs,
        }
    }

    pub(crate) fn task_prompt(
        &self,
        name: PromptName,
        context: impl Serialize,
        inputs: Value,
    ) -> Result<TaskPrompt, MindError> {
        let (system, user) =
            self.prompts.render_blocks(name, context).map_err(|error| template_error(&error))?;
        Ok(TaskPrompt { name, system, user, inputs })
    }
}

#[async_trait]
impl Mind for LanguageMind {
    async fn extract(&self, input: ExtractionInput) -> Result<Extraction, MindError> {
        let question = extraction::ExtractionTask::new(&input);
        let request = |problem: Option<&str>| {
            let asked = self.task_prompt(
                PromptName::Extraction,
                question.prompt_context(problem),
                question.input_data(),
            )?;
            let schema = &self.extraction_schema;
            Ok(self.structured_request(asked, schema, EXTRACTION_TEMPERATURE, EXTRACTION_TOKENS_MAX))
        };
        let session = input.messages.first().map(|message| message.session_id);
        self.ask(session, request, |answer| question.read(answer)).await.map(|(value, _)| value)
    }

    async fn reconcile(&self, input: ReconciliationInput) -> Result<Reconciliation, MindError> {
        let question = reconciliation::ReconciliationTask::new(&input);
        let asked =
            self.task_prompt(PromptName::Reconciliation, question.prompt_context(), question.input_data())?;
        let schema = &self.reconciliation_schema;
        let request =
            self.structured_request(asked, schema, EXTRACTION_TEMPERATURE, RECONCILIATION_TOKENS_MAX);
        let purpose = Purpose { session_id: Some(input.session_id), ..Purpose::default() };
        let (answer, _) = self.call_once(purpose, request, &|answer: &str| question.read(answer)).await?;
        answer.map(|parsed| parsed.value).map_err(|MalformedAnswer(problem)| MindError::Transient(problem))
    }

    async fn reflect(&self, input: ReflectionInput) -> Result<Reflection, MindError> {
        let question = reflection::ReflectionTask::new(&input);
        let request = |problem: Option<&str>| {
            let asked = self.task_prompt(
                PromptName::Reflection,
                question.prompt_context(problem),
                question.input_data(),
            )?;
            let schema = &self.reflection_schema;
            Ok(self.structured_request(asked, schema, REFLECTION_TEMPERATURE, REFLECTION_TOKENS_MAX))
        };
        let session = Some(input.session_id);
        self.ask(session, request, |answer| question.read(answer)).await.map(|(value, _)| value)
    }

    async fn think_slowly(&self, input: SlowCycleInput) -> Result<SlowCycle, MindError> {
        let question = slow_cycle::SlowCycleTask::new(&input);
        let request = |problem: Option<&str>| {
            let asked = self.task_prompt(
                PromptName::SlowCycle,
                question.prompt_context(problem),
                question.input_data(),
            )?;
            Ok(self.structured_request(
                asked,
                &self.slow_cycle_schema,
                SLOW_CYCLE_TEMPERATURE,
                input.answer_tokens,
            ))
        };
        let session = Some(input.session_id);
        let (cycle, usage) = self.ask(session, request, |answer| question.read(answer)).await?;
        Ok(SlowCycle { usage, ..cycle })
    }
}

impl LanguageMind {
    /// Drafts a persona from texts that somebody wrote. Nothing is stored.
    ///
    /// # Errors
    ///
    /// [`MindError`] when the model gives no usable answer.
    pub async fn draft_persona(
        &self,
        input: &persona_draft::PersonaDraftInput,
    ) -> Result<persona_draft::PersonaDraft, MindError> {
        let question = persona_draft::PersonaDraftTask::new(input);
        let schema = contract::schema::<persona_draft::PersonaDraftAnswer>();
        let request = |problem: Option<&str>| {
            let asked = self.task_prompt(
                PromptName::PersonaDraft,
                question.prompt_context(problem),
                question.input_data(),
            )?;
            Ok(self.structured_request(asked, &schema, DRAFT_TEMPERATURE, DRAFT_TOKENS_MAX))
        };
        self.ask(None, request, |answer| question.read(answer)).await.map(|(value, _)| value)
    }
}

impl LanguageMind {
    /// Answers a prompt that a client wrote for the model itself, such as one for the title of a chat. It is not
    /// stored, and the persona does not know of it. The ledger records the call under `id`. Also returns the tokens
    /// of the call.
    ///
    /// # Errors
    ///
    /// [`MindError`] when the model gives no answer.
    pub async fn answer_utility(&self, prompt: &str, id: TurnId) -> Result<(String, TokenUsage), MindError> {
        let request = Request {
            task: "utility".to_owned(),
            tier: ModelTier::Small,
            system: String::new(),
            user: prompt.to_owned(),
            answer: AnswerFormat::Text,
            temperature: Some(EXTRACTION_TEMPERATURE),
            max_tokens: Some(UTILITY_TOKENS_MAX),
            inputs: Value::Null,
        };
        let purpose = Purpose { turn_id: Some(id), ..Purpose::default() };
        let read = |answer: &str| Ok(ParsedAnswer { value: answer.to_owned(), whole: true, missing: None });
        let (answer, usage) = self.call_once(purpose, request, &read).await?;
        let answer = answer.map_err(|MalformedAnswer(problem)| MindError::Transient(problem))?;
        Ok((answer.value, usage))
    }
}

fn mind_error(error: &LlmError) -> MindError {
    match error {
        LlmError::RateLimited { .. } | LlmError::Transient { .. } => MindError::Transient(error.to_string()),
        LlmError::TooLong { message } => MindError::Permanent(format!(
            "{message} The conversation is longer than this model can read; choose a model with a larger window \
             for this tier and retry"
        )),
        LlmError::Refused { message } => MindError::Permanent(format!(
            "{message} The model would not read this conversation; retry with another model"
        )),
        LlmError::Auth { message } | LlmError::Fatal { message } => {
            MindError::Permanent(format!("{message} The conversation is kept; retry once that is set right"))
        }
    }
}

fn template_error(error: &PromptError) -> MindError {
    MindError::Permanent(error.to_string())
}
