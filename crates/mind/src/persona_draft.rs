//! Drafts a persona from a text about it. A person decides about the draft: nothing is written here.

use std::collections::BTreeMap;

use memory::core_blocks::CoreBlocks;
use memory::facts::{Fact, Facts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::answer::{self, MalformedAnswer, Member, Notes, snippet};
use crate::parsed::ParsedAnswer;
use crate::quoted::{one_line, quote_lines};

/// Maximum length of a draft's `persona_block`, in characters. People extend a draft; a block may have 5,000.
pub(crate) const PERSONA_BLOCK_LENGTH_MAX: usize = 2_000;
/// Maximum length of a draft's `user_block`, in characters. It is the longest of the three, because pasted material
/// is mostly about the user.
pub(crate) const USER_BLOCK_LENGTH_MAX: usize = 3_000;
/// Maximum length of a draft's `style_block`, in characters. A way of speaking takes a few sentences.
pub(crate) const STYLE_BLOCK_LENGTH_MAX: usize = 1_000;
/// Maximum length of a description that is read, in characters: as much as a small model's context holds.
pub(crate) const DESCRIPTION_READ_MAX: usize = 24_000;

/// Input of a persona draft.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PersonaDraftInput {
    /// The name of the persona, if it has one.
    pub persona_name: Option<String>,
    /// The writer's language tag, such as `zh-CN`.
    pub locale: Option<String>,
    pub text: String,
    /// Blocks that exist already.
    pub existing: CoreBlocks,
    /// Events of the person's life.
    pub events: Vec<String>,
    /// Impressions of the person.
    pub thoughts: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct PersonaDraft {
    /// Text about the persona.
    pub persona_block: String,
    /// Text about the user.
    pub user_block: String,
    /// Rules for the persona's way of speaking; empty if the material has none.
    pub style_block: String,
    pub facts: Facts,
    /// Certainty of the facts, from 0 to 1.
    pub facts_confidence: f64,
    /// Parts that the parser dropped, truncated or clamped.
    pub notes: Vec<String>,
}

/// The answer to `persona_draft`.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct PersonaDraftAnswer {
    /// The texts of the draft.
    pub core_blocks: Member<BlocksAnswer>,
    /// Facts about the companion's life; null if the material has none.
    #[schemars(with = "Facts")]
    pub facts: Member<BTreeMap<String, Member<String>>>,
    /// Share of the facts that are stated literally, from 0 to 1.
    #[schemars(range(min = 0, max = 1))]
    pub facts_confidence: Member<f64>,
}

/// The three texts of a draft.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct BlocksAnswer {
    /// Describes the companion, in the second person.
    pub persona_block: Member<String>,
    /// Describes the person, in the third person; empty if nothing is said.
    pub user_block: Member<String>,
    /// Describes how the companion speaks, in the second person; empty if nothing is said.
    pub style_block: Member<String>,
}

/// Values for the template.
#[derive(Debug, Default, Serialize)]
pub(crate) struct PersonaDraftContext {
    persona_name: String,
    locale: String,
    persona_block: String,
    user_block: String,
    events: Vec<String>,
    thoughts: Vec<String>,
    text: String,
    fact_names: String,
    problem: String,
}

impl PersonaDraftContext {
    /// A context with one of everything, to try a template out.
    pub(crate) fn example() -> Self {
        let text = || "text".to_owned();
        Self {
            persona_name: text(),
            locale: text(),
            persona_block: text(),
            user_block: text(),
            events: vec![text()],
            thoughts: vec![text()],
            text: text(),
            fact_names: text(),
            problem: text(),
        }
    }
}

/// A request for a draft.
pub(crate) struct PersonaDraftTask<'a> {
    input: &'a PersonaDraftInput,
    text: String,
    cut: bool,
}

impl<'a> PersonaDraftTask<'a> {
    pub(crate) fn new(input: &'a PersonaDraftInput) -> Self {
        let trimmed = input.text.trim();
        let text: String = trimmed.chars().take(DESCRIPTION_READ_MAX).collect();
        let cut = text.len() < trimmed.len();
        Self { input, text, cut }
    }

    /// Values for the prompt's template. `problem` is the reason why the last answer was rejected.
    pub(crate) fn prompt_context(&self, problem: Option<&str>) -> PersonaDraftContext {
        let material = |text: &str| match text.trim() {
            "" => String::new(),
            text => quote_lines(text),
        };
        let lines = |texts: &[String]| texts.iter().map(|text| one_line(text)).collect();
        PersonaDraftContext {
            persona_name: self.input.persona_name.as_deref().map_or_else(String::new, one_line),
            locale: self.input.locale.as_deref().map_or_else(String::new, one_line),
            persona_block: material(&self.input.existing.persona),
            user_block: material(&self.input.existing.user),
            events: lines(&self.input.events),
            thoughts: lines(&self.input.thoughts),
            text: material(&self.text),
            fact_names: Fact::ALL.map(|fact| format!("`{}`", fact.as_str())).join(", "),
            problem: problem.map_or_else(String::new, one_line),
        }
    }

    /// The input as data, for a provider without a language model.
    pub(crate) fn input_data(&self) -> Value {
        json!({
            "text": self.text, "persona_name": self.input.persona_name, "persona_block": self.input.existing.persona,
            "user_block": self.input.existing.user, "events": self.input.events,
        })
    }

    /// Parses an answer; an invalid fact does not affect the blocks.
    ///
    /// # Errors
    ///
    /// [`MalformedAnswer`] when the blocks are missing altogether, when the persona's is not a text, or when the
    /// facts are missing and were not cut off after it.
    pub(crate) fn read(&self, answer: &str) -> Result<ParsedAnswer<PersonaDraft>, MalformedAnswer> {
        let mut answer = answer::read(answer, &["core_blocks", "facts"])?;
        let (mut notes, whole) = (Notes::from_notes(std::mem::take(&mut answer.notes)), answer.whole);
        let answer: PersonaDraftAnswer = answer.parse_members()?;
        let object = |name: &str| MalformedAnswer(format!("`{name}` must be an object."));
        let blocks = answer.core_blocks.get().ok_or_else(|| object("core_blocks"))?;
        if blocks.persona_block.is_wrong() {
            return Err(MalformedAnswer("`persona_block` must be a text.".to_owned()));
        }
        let none = BTreeMap::new();
        // The prompt asks for null where nothing is known; if the answer is cut off, the texts before it are still
        // used.
        let facts = match &answer.facts {
            Member::Present(facts) => facts,
            Member::Null => &none,
            Member::Missing if !whole && !matches!(blocks.persona_block, Member::Missing) => &none,
            Member::Missing | Member::Wrong(_) => return Err(object("facts")),
        };
        if self.cut {
            notes.add(format!("only the first {DESCRIPTION_READ_MAX} characters were read"));
        }
        let mut block = |text: &Member<String>, name: &str, length| {
            let text = text_or_note(text, name, &mut notes).unwrap_or_default();
            notes.cut_text(text, length, name)
        };
        let persona_block = block(&blocks.persona_block, "persona_block", PERSONA_BLOCK_LENGTH_MAX);
        let user_block = block(&blocks.user_block, "user_block", USER_BLOCK_LENGTH_MAX);
        let style_block = block(&blocks.style_block, "style_block", STYLE_BLOCK_LENGTH_MAX);
        let facts = read_facts(facts, &mut notes);
        let confidence = answer.facts_confidence.get().copied().unwrap_or(0.0);
        let facts_confidence = if facts.is_empty() { 0.0 } else { confidence.clamp(0.0, 1.0) };
        let value = PersonaDraft {
            persona_block,
            user_block,
            style_block,
            facts,
            facts_confidence,
            notes: notes.into_list(),
        };
        Ok(ParsedAnswer { value, whole, missing: None })
    }
}

/// Parses each fact separately; invalid ones are left out.
fn read_facts(members: &BTreeMap<String, Member<String>>, notes: &mut Notes) -> Facts {
    let mut facts = Facts::default();
    for fact in Fact::ALL {
        let Some(member) = members.get(fact.as_str()) else { continue };
        let Some(text) = text_or_note(member, fact.as_str(), notes) else { continue };
        match fact.parse_fact(text) {
            Ok(Some(value)) => facts.set(fact, Some(value)),
            Ok(None) => notes.add(format!("{}: \"{}\" is none of its words", fact.as_str(), snippet(text))),
            Err(refused) => notes.add(refused.to_string()),
        }
    }
    facts
}

/// A text that is not blank; a value that is not a text is noted.
fn text_or_note<'a>(member: &'a Member<String>, name: &str, notes: &mut Notes) -> Option<&'a str> {
    if member.is_wrong() {
        notes.add(format!("`{name}` is not a text, dropped"));
    }
    member.trimmed_text()
}
