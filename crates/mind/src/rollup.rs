//! Roll-ups: the persona's own summary of a week, a month or a year.

use async_trait::async_trait;
use hub::Granularity;
use hub::ports::{Summariser, SummaryError, SummaryRequest};
use serde::Serialize;
use serde_json::{Value, json};

use crate::answer::{self, List, MalformedAnswer, Notes};
use crate::contract::{self, RollUpAnswer};
use crate::language_mind::LanguageMind;
use crate::parsed::ParsedAnswer;
use crate::prompts::PromptName;
use crate::quoted::{one_line, quote_lines};

/// Sampling temperature, between those for copying and for writing, because a summary does both.
const TEMPERATURE: f32 = 0.4;
const TOKENS_MAX: u32 = 4_096;
/// Maximum tokens of the sources in one request. With the instructions and the answer they fit into a context of
/// 16,000 tokens.
const SOURCE_TOKENS_MAX: u32 = 6_000;
/// Maximum characters of the identity in one request. The three core blocks may be longer; those that do not fit are
/// left out.
const IDENTITY_CHARACTERS_MAX: usize = 8_000;

/// Values for the template.
#[derive(Debug, Default, Serialize)]
pub(crate) struct RollUpContext {
    persona_name: String,
    period: String,
    tier_word: String,
    purpose: String,
    identity: Vec<DocumentText>,
    sources: Vec<SourceText>,
    problem: String,
}

#[derive(Debug, Serialize)]
struct DocumentText {
    label: String,
    text: String,
}

#[derive(Debug, Serialize)]
struct SourceText {
    date: String,
    text: String,
}

impl RollUpContext {
    /// A context with one of everything, to try a template out.
    pub(crate) fn example() -> Self {
        let text = || "text".to_owned();
        Self {
            persona_name: text(),
            period: text(),
            tier_word: text(),
            purpose: text(),
            identity: vec![DocumentText { label: text(), text: text() }],
            sources: vec![SourceText { date: text(), text: text() }],
            problem: text(),
        }
    }

    fn from_request(request: &SummaryRequest, problem: Option<&str>) -> Self {
        let mut room = IDENTITY_CHARACTERS_MAX;
        let identity = request.identity.iter().map_while(|(label, text)| {
            room = room.checked_sub(text.chars().count())?;
            Some(DocumentText { label: one_line(label), text: quote_lines(text.trim()) })
        });
        let sources = request
            .sources
            .iter()
            .map(|(date, text)| SourceText { date: one_line(date), text: quote_lines(text.trim()) });
        Self {
            persona_name: one_line(&request.persona),
            period: one_line(&request.period),
            tier_word: request.granularity.as_str().to_owned(),
            purpose: summary_purpose(request.granularity).to_owned(),
            identity: identity.collect(),
            sources: sources.collect(),
            problem: problem.map_or_else(String::new, one_line),
        }
    }
}

fn summary_purpose(granularity: Granularity) -> &'static str {
    match granularity {
        Granularity::Monthly => {
            "The month's great themes, the talks that mattered, what grew between you and the person and what changed in you."
        }
        Granularity::Yearly => {
            "The arc of the year: where it began, what turned it, who you and the person were at its end."
        }
        _ => {
            "The week's themes and what ran through its days: what happened, what was felt, what was promised."
        }
    }
}

/// Parses an answer. `sources` are pairs of a date and a text, which the bullets depend on.
fn read(text: &str, sources: &[(String, String)]) -> Result<ParsedAnswer<Vec<String>>, MalformedAnswer> {
    let answer = answer::read(text, &["bullets"])?;
    let whole = answer.whole;
    let answer: RollUpAnswer = answer.parse_members()?;
    let written = match &answer.bullets {
        // The whole list as one text, one bullet per line.
        List::Single(list) => list.lines().collect(),
        list => list.trimmed_texts("bullets", &mut Notes::default()),
    };
    let bullets: Vec<String> = written
        .into_iter()
        .map(|bullet| one_line(&with_known_tags(without_list_mark(bullet), sources)))
        .filter(|bullet| !with_known_tags(bullet, &[]).trim().is_empty())
        .collect();
    if bullets.is_empty() {
        return Err(MalformedAnswer("`bullets` must be a list of at least one text.".to_owned()));
    }
    Ok(ParsedAnswer { value: bullets, whole, missing: None })
}

/// A bullet without its list mark; the sign of a number and the stars of bold text are not list marks.
fn without_list_mark(bullet: &str) -> &str {
    let bullet = bullet.trim();
    let rest = bullet.trim_start_matches(['-', '*', '•']);
    if rest.is_empty() || rest.starts_with(char::is_whitespace) { rest.trim_start() } else { bullet }
}

/// The bullet without tags that no source has: a `[via:…]` invented by the model would name an instance that was not
/// involved.
fn with_known_tags(bullet: &str, sources: &[(String, String)]) -> String {
    let mut kept = String::new();
    let mut rest = bullet;
    while let Some(at) = ["[via:", "[chat:"].iter().filter_map(|tag| rest.find(tag)).min() {
        let (before, from) = rest.split_at(at);
        kept.push_str(before);
        let (tag, after) = from.split_at(tag_length(from));
        let known = tag.ends_with(']') && sources.iter().any(|(_, text)| text.contains(tag));
        if tag.starts_with("[via:") && known {
            kept.push_str(tag);
        }
        rest = after;
    }
    kept.push_str(rest);
    kept
}

/// Bytes of the tag at the start of `text`; an unclosed tag ends with its word.
fn tag_length(text: &str) -> usize {
    match text.char_indices().skip(1).find(|(_, c)| matches!(c, '[' | ']')) {
        Some((end, ']')) => end + 1,
        _ => text.find(char::is_whitespace).unwrap_or(text.len()),
    }
}

/// The input as data, for a provider without a language model.
fn rollup_data(request: &SummaryRequest) -> Value {
    let sources: Vec<Value> =
        request.sources.iter().map(|(date, text)| json!({"date": date, "text": text})).collect();
    json!({ "tier": request.granularity.as_str(), "period": request.period, "sources": sources })
}

#[async_trait]
impl Summariser for LanguageMind {
    async fn summarise(&self, input: SummaryRequest) -> Result<Vec<String>, SummaryError> {
        let schema = contract::schema::<RollUpAnswer>();
        let request = |problem: Option<&str>| {
            let asked = self.task_prompt(
                PromptName::RollUp,
                RollUpContext::from_request(&input, problem),
                rollup_data(&input),
            )?;
            Ok(self.structured_request(asked, &schema, TEMPERATURE, TOKENS_MAX))
        };
        let answered = self.ask(None, request, |text| read(text, &input.sources)).await;
        answered.map(|(bullets, _)| bullets).map_err(|error| SummaryError(error.to_string()))
    }

    fn source_tokens_max(&self) -> u32 {
        SOURCE_TOKENS_MAX
    }
}
