//! One turn through the OpenAI API.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use memory::PersonaId;
use memory::identifiers::TurnId;
use memory::ledger::TokenUsage;
use memory::messages::Message;
use runtime::{IncomingMessage, TurnEvent, UtilityAnswer};
use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::mpsc::UnboundedReceiver;

use super::CHANNEL;
use super::chunks::{self, ChunkHeader};
use super::models::no_model;
use super::reply_parts::{AssistantRole, FinishReason, UsageBody, interrupted_reply, no_reply};
use super::request::CompletionRequest;
use super::stop::StopFilter;
use crate::auth::{Principal, quota};
use crate::extract::{self, run_detached};
use crate::problem::Problem;
use crate::state::App;

/// Header with the channel of a message, if that is [`TERMINAL_CHANNEL`].
pub const CHANNEL_HEADER: &str = "x-echovessel-channel";
/// The channel of the program's own terminal.
pub const TERMINAL_CHANNEL: &str = "terminal";
/// The path of chat completions.
pub(crate) const PATH: &str = "/v1/chat/completions";

/// Handler of `POST /v1/chat/completions`. The turn continues when the client disconnects.
pub(crate) async fn complete(
    State(app): State<App>,
    principal: Principal,
    headers: HeaderMap,
    extract::Json(mut asked): extract::Json<CompletionRequest>,
) -> Result<Response, Problem> {
    asked.check()?;
    let mut stop = StopFilter::new(asked.stops());
    let utility = asked.utility_prompt().filter(|_| app.parts.settings.load().answers_utility_prompts);
    let content = match &utility {
        Some(_) => String::new(),
        None => asked.last_user_text()?,
    };
    let model = asked.model.take().filter(|model| !model.is_empty());
    let user = asked.user.take().filter(|user| !user.is_empty() && principal.user.is_none());
    let known = match &model {
        Some(model) => is_persona(&app, model).await?,
        None => true,
    };
    if !known {
        return Err(no_model());
    }
    let scope = app.scope(&principal, model, user).await?;
    let persona = scope.persona.to_string();
    let admitted = quota::admit_turn(&app, &principal, &scope.user).await?;
    if let Some(prompt) = utility {
        let id = app.runtime().next_turn_id();
        admitted.note(id);
        return answer_utility(&app, &asked, prompt, persona, id, stop).await;
    }
    let incoming = IncomingMessage { scope, channel_id: channel_of(&headers), content, external_ref: None };
    let created = app.now().as_second();
    let (accepted, mut events) = run_detached(async move {
        let accepted = app.runtime().turns().accept_and_subscribe(incoming).await?;
        admitted.note(accepted.0.turn_id);
        Ok(accepted)
    })
    .await?;
    let head = ChunkHeader { id: format!("chatcmpl-{}", accepted.turn_id), created, model: persona };
    if asked.stream.unwrap_or(false) {
        // A failure before the first token is an answer with a status of its own, not a stream.
        let first = first_word(&mut events).await?;
        return Ok(chunks::stream(head, first, events, asked.wants_usage(), stop).into_response());
    }
    let (message, usage, incomplete) = complete_reply(&mut events).await?;
    let mut content = stop.filter_piece(&message.content);
    content.push_str(&stop.finish());
    let finish_reason = FinishReason::from_incomplete(incomplete && !stop.is_over());
    Ok(completion_response(head, content, finish_reason, usage))
}

/// The channel of a request: the program's own terminal identifies itself; all others are clients of the API.
fn channel_of(headers: &HeaderMap) -> String {
    let is_terminal = headers.get(CHANNEL_HEADER).is_some_and(|name| name == TERMINAL_CHANNEL);
    (if is_terminal { TERMINAL_CHANNEL } else { CHANNEL }).to_owned()
}

/// Answers a prompt that a program wrote for the model itself: nothing is stored, and the persona is not involved.
async fn answer_utility(
    app: &App,
    asked: &CompletionRequest,
    prompt: String,
    persona: String,
    id: TurnId,
    mut stop: StopFilter,
) -> Result<Response, Problem> {
    let answer = app.runtime().answer_utility(&prompt, id).await;
    let answer = answer.map_err(|error| {
        tracing::warn!("no reply to a utility prompt: {}", error.log_description());
        no_reply(format!("{error}; nothing was written"), error.is_transient())
    })?;
    let UtilityAnswer { text, usage } = answer;
    let head = ChunkHeader { id: format!("chatcmpl-{id}"), created: app.now().as_second(), model: persona };
    if asked.stream.unwrap_or(false) {
        return Ok(
            chunks::stream_complete_reply(head, &text, usage, asked.wants_usage(), stop).into_response()
        );
    }
    let mut content = stop.filter_piece(&text);
    content.push_str(&stop.finish());
    Ok(completion_response(head, content, FinishReason::Stop, usage))
}

fn completion_response(
    head: ChunkHeader,
    content: String,
    finish_reason: FinishReason,
    usage: TokenUsage,
) -> Response {
    let message = ReplyMessage { role: AssistantRole::Assistant, content, refusal: () };
    let choice = CompletionChoice { index: 0, message, logprobs: (), finish_reason };
    Json(ChatCompletion {
        id: head.id,
        object: CompletionTag::Completion,
        created: head.created,
        model: head.model,
        choices: [choice],
        usage: usage.into(),
    })
    .into_response()
}

async fn is_persona(app: &App, model: &str) -> Result<bool, Problem> {
    if model == app.runtime().settings().persona.as_str() {
        return Ok(true);
    }
    let Ok(persona) = PersonaId::new(model) else { return Ok(false) };
    Ok(app.runtime().store().persona(&persona).await?.is_some())
}

/// Waits for the first event with text.
async fn first_word(events: &mut UnboundedReceiver<TurnEvent>) -> Result<TurnEvent, Problem> {
    loop {
        match events.recv().await {
            Some(TurnEvent::Started) => {}
            Some(TurnEvent::Failed { reason, retryable }) => return Err(no_reply(reason, retryable)),
            Some(TurnEvent::Withdrawn { reason }) => return Err(no_reply(reason, false)),
            Some(word) => return Ok(word),
            None => return Err(interrupted_reply()),
        }
    }
}

async fn complete_reply(
    events: &mut UnboundedReceiver<TurnEvent>,
) -> Result<(Message, TokenUsage, bool), Problem> {
    loop {
        match events.recv().await {
            Some(TurnEvent::Done { message, usage, incomplete, .. }) => {
                return Ok((*message, usage, incomplete));
            }
            Some(TurnEvent::Failed { reason, retryable }) => return Err(no_reply(reason, retryable)),
            Some(TurnEvent::Withdrawn { reason }) => return Err(no_reply(reason, false)),
            Some(TurnEvent::Started | TurnEvent::Delta(_)) => {}
            None => return Err(interrupted_reply()),
        }
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ChatCompletion {
    id: String,
    object: CompletionTag,
    /// In seconds since 1970 (Unix time).
    created: i64,
    model: String,
    choices: [CompletionChoice; 1],
    usage: UsageBody,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
enum CompletionTag {
    #[serde(rename = "chat.completion")]
    Completion,
}

#[derive(Serialize, JsonSchema)]
struct CompletionChoice {
    index: u32,
    message: ReplyMessage,
    /// Always null, for compatibility.
    logprobs: (),
    finish_reason: FinishReason,
}

#[derive(Serialize, JsonSchema)]
struct ReplyMessage {
    role: AssistantRole,
    content: String,
    /// Always null, for compatibility.
    refusal: (),
}
