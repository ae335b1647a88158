//! Proactive messages: asks the model if the persona would write, and what.

use jiff::Timestamp;
use memory::ledger::TokenUsage;
use memory::nodes::Node;
use memory::ports::MindError;
use memory::proactive::ProactiveTrigger;
use serde::Serialize;
use serde_json::{Value, json};

use crate::answer::{self, MalformedAnswer, Member};
use crate::calendar;
use crate::contract::{self, ProactiveAnswer};
use crate::language_mind::LanguageMind;
use crate::parsed::ParsedAnswer;
use crate::prompts::{PromptError, PromptName};
use crate::quoted::one_line;
use crate::reply::{RenderedReply, ReplyBudget, ReplyInput};

/// Sampling temperature, the same as for a reply.
const TEMPERATURE: f32 = 0.8;
const TOKENS_MAX: u32 = 1_024;
/// Maximum length of a message, in characters; a longer one is not what was asked for.
const MESSAGE_LENGTH_MAX: usize = 2_000;

/// Input of a proactive message.
#[derive(Clone, Debug)]
pub struct ProactiveInput {
    /// Input as for a reply, without a user's message.
    pub reply: ReplyInput,
    /// The trigger of the message.
    pub trigger: ProactiveTrigger,
    /// The memory that the message is about.
    pub about: Option<Node>,
    /// Time of the last message of either.
    pub last_message_at: Option<Timestamp>,
}

/// The decision of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct ProactiveDraft {
    /// The text of the message; `None` if the persona has nothing to say.
    pub message: Option<String>,
    /// The prompt, for the receipt.
    pub prompt: RenderedReply,
    /// Tokens of all calls.
    pub usage: TokenUsage,
}

/// Why no message was written.
#[derive(Debug, thiserror::Error)]
pub enum ProactiveError {
    /// The model gave no usable answer.
    #[error(transparent)]
    Mind(#[from] MindError),
    #[error(transparent)]
    Prompt(#[from] PromptError),
}

/// Values for the template.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct ProactiveContext {
    voice: String,
    remembered: String,
    trigger: String,
    about: String,
    elapsed: String,
    problem: String,
}

impl ProactiveContext {
    /// A context with one of everything, to try a template out.
    pub(crate) fn example() -> Self {
        let text = || "text".to_owned();
        Self {
            voice: text(),
            remembered: text(),
            trigger: text(),
            about: text(),
            elapsed: text(),
            problem: text(),
        }
    }

    fn from_input(input: &ProactiveInput, prompt: &RenderedReply, problem: Option<&str>) -> Self {
        let (now, zone) = (input.reply.now, &input.reply.user_zone);
        let about = |node: &Node| {
            format!("{}{}", one_line(&node.description), calendar::time_phrase(node, now, zone))
        };
        Self {
            voice: prompt.system.clone(),
            remembered: prompt.user.clone(),
            trigger: trigger_name(input.trigger).to_owned(),
            about: input.about.as_ref().map(about).unwrap_or_default(),
            elapsed: input.last_message_at.map(|at| elapsed_in_words(at, now)).unwrap_or_default(),
            problem: problem.map_or_else(String::new, one_line),
        }
    }
}

fn trigger_name(trigger: ProactiveTrigger) -> &'static str {
    match trigger {
        ProactiveTrigger::PromiseDue => "promise_due",
        ProactiveTrigger::ExpectationDue => "expectation_due",
        ProactiveTrigger::Shock => "shock",
        ProactiveTrigger::Anniversary => "anniversary",
        ProactiveTrigger::LongSilence => "long_silence",
    }
}

/// `3 days`, `1 hour`, `20 minutes`.
fn elapsed_in_words(since: Timestamp, now: Timestamp) -> String {
    let minutes = now.duration_since(since).as_mins().max(0);
    let (count, unit) = match minutes {
        ..120 => (minutes, "minute"),
        120..2_880 => (minutes / 60, "hour"),
        _ => (minutes / 1_440, "day"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

fn read(text: &str) -> Result<ParsedAnswer<Option<String>>, MalformedAnswer> {
    let answer = answer::read(text, &["message"])?;
    let whole = answer.whole;
    let answer: ProactiveAnswer = answer.parse_members()?;
    let message = match &answer.message {
        Member::Null => None,
        Member::Present(_) => answer.message.trimmed_text().map(str::to_owned),
        Member::Missing | Member::Wrong(_) => {
            return Err(MalformedAnswer("`message` must be a text, or null.".to_owned()));
        }
    };
    if message.as_ref().is_some_and(|message| message.chars().count() > MESSAGE_LENGTH_MAX) {
        return Err(MalformedAnswer(format!("`message` is longer than {MESSAGE_LENGTH_MAX} characters.")));
    }
    Ok(ParsedAnswer { value: message, whole, missing: None })
}

/// The input as data, for a provider without a language model.
fn offline_data(input: &ProactiveInput) -> Value {
    json!({
        "trigger": trigger_name(input.trigger),
        "about": input.about.as_ref().map(|node| node.description.clone()),
    })
}

impl LanguageMind {
    /// Asks the model if the persona should write a message, and for its text.
    ///
    /// # Errors
    ///
    /// [`ProactiveError`] when the model gives no usable answer, or a template fails.
    pub async fn write_first(
        &self,
        input: &ProactiveInput,
        budget: &ReplyBudget,
    ) -> Result<ProactiveDraft, ProactiveError> {
        let mut prompt = self.render_reply(&input.reply, budget)?;
        let schema = contract::schema::<ProactiveAnswer>();
        let request = |problem: Option<&str>| {
            let context = ProactiveContext::from_input(input, &prompt, problem);
            let asked = self.task_prompt(PromptName::Proactive, context, offline_data(input))?;
            Ok(self.structured_request(asked, &schema, TEMPERATURE, TOKENS_MAX))
        };
        let (message, usage) = self.ask(None, request, read).await?;
        prompt.prompt_hash = self.prompt_hash(PromptName::Proactive, &request(None)?);
        Ok(ProactiveDraft { message, prompt, usage })
    }
}
