//! Input of a reply's prompt. No field brings a channel into the prompt.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use memory::core_blocks::CoreBlocks;
use memory::entities::Entity;
use memory::identifiers::MessageId;
use memory::messages::{Message, Role};
use memory::mood::Mood;
use memory::nodes::Node;
use memory::recall::OutdatedValues;
use memory::sessions::Session;

/// Input of a reply. Ranked lists have the most useful item first.
#[derive(Clone, Debug)]
pub struct ReplyInput {
    pub persona_name: String,
    pub facts: PersonaFacts,
    /// Core blocks (L1), always first in the prompt.
    pub core_blocks: CoreBlocks,
    /// Identity documents other than the core blocks, with their labels.
    pub documents: Vec<(String, String)>,
    /// Lorebook entries whose keys are named, with their labels, the most important first.
    pub lore: Vec<(String, String)>,
    /// Roll-ups of the weeks, months or years that the user's messages ask about: period and text.
    pub periods: Vec<(String, String)>,
    /// The stored mood (L6); a faded or neutral one has no section.
    pub mood: Option<Mood>,
    /// Time of the last of the user's messages.
    pub now: Timestamp,
    /// The user's zone, in which all dates of the prompt are.
    pub user_zone: TimeZone,
    /// The persona's zone, if known.
    pub persona_zone: Option<TimeZone>,
    /// The name of the user, if it is known.
    pub user_name: Option<String>,
    /// Entities that the user's messages name; those without a description have no section.
    pub named_entities: Vec<Entity>,
    /// Named entities that may be the same as another.
    pub uncertain: Vec<UncertainPair>,
    /// Recalled nodes of all kinds, best first.
    pub recalled: Vec<Node>,
    /// True if no memory is about the user's messages: the recalled ones are only the nearest.
    pub nothing_found: bool,
    /// Recalled passages of conversations, best first.
    pub passages: Vec<Passage>,
    /// Pinned thoughts about the user, best first.
    pub pinned_thoughts: Vec<Node>,
    /// The persona's thoughts about itself, best first.
    pub self_thoughts: Vec<Node>,
    /// Former values: they are listed with their dates, and texts that state one get a note.
    pub corrected: OutdatedValues,
    /// Promises that are still open.
    pub intentions: Vec<Node>,
    /// Expectations that are still open.
    pub expectations: Vec<Node>,
    /// Expectations that the user's messages fulfil.
    pub fulfilled: Vec<Node>,
    /// The last sessions; those without a summary are left out.
    pub sessions: Vec<Session>,
    /// The last messages of both sides, which may include those to answer.
    pub window: Vec<Message>,
    /// The messages to answer.
    pub burst: Vec<Message>,
}

impl ReplyInput {
    /// An input with only a name and a time.
    pub fn new(persona_name: impl Into<String>, now: Timestamp, user_zone: TimeZone) -> Self {
        Self {
            persona_name: persona_name.into(),
            facts: PersonaFacts::default(),
            core_blocks: CoreBlocks::default(),
            documents: Vec::new(),
            lore: Vec::new(),
            periods: Vec::new(),
            mood: None,
            now,
            user_zone,
            persona_zone: None,
            user_name: None,
            named_entities: Vec::new(),
            uncertain: Vec::new(),
            recalled: Vec::new(),
            nothing_found: false,
            passages: Vec::new(),
            pinned_thoughts: Vec::new(),
            self_thoughts: Vec::new(),
            corrected: OutdatedValues::default(),
            intentions: Vec::new(),
            expectations: Vec::new(),
            fulfilled: Vec::new(),
            sessions: Vec::new(),
            window: Vec::new(),
            burst: Vec::new(),
        }
    }
}

/// The persona's biographic facts, as stored; unset ones are left out. (Its time zone is
/// [`ReplyInput::persona_zone`].)
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PersonaFacts {
    pub full_name: Option<String>,
    pub gender: Option<String>,
    /// ISO date; the prompt only has the year.
    pub birth_date: Option<String>,
    pub ethnicity: Option<String>,
    pub nationality: Option<String>,
    pub native_language: Option<String>,
    /// Region whose customs the persona follows.
    pub locale_region: Option<String>,
    pub education_level: Option<String>,
    pub occupation: Option<String>,
    pub occupation_field: Option<String>,
    pub location: Option<String>,
    pub relationship_status: Option<String>,
    pub life_stage: Option<String>,
    pub health_status: Option<String>,
}

impl From<memory::facts::Facts> for PersonaFacts {
    fn from(facts: memory::facts::Facts) -> Self {
        Self {
            full_name: facts.full_name,
            gender: facts.gender,
            birth_date: facts.birth_date,
            ethnicity: facts.ethnicity,
            nationality: facts.nationality,
            native_language: facts.native_language,
            locale_region: facts.locale_region,
            education_level: facts.education_level,
            occupation: facts.occupation,
            occupation_field: facts.occupation_field,
            location: facts.location,
            relationship_status: facts.relationship_status,
            life_stage: facts.life_stage,
            health_status: facts.health_status,
        }
    }
}

/// Two entities that may be the same.
#[derive(Clone, Debug, PartialEq)]
pub struct UncertainPair {
    /// The entity that was named.
    pub entity: Entity,
    /// The entity that this one may be the same as.
    pub other: Entity,
}

/// Consecutive messages of a past conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Passage {
    /// The passage's messages, oldest first.
    pub lines: Vec<PassageLine>,
}

/// One message of a passage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassageLine {
    /// The message, for the receipt.
    pub message_id: MessageId,
    pub speaker: Role,
    /// The speaker's name, for [`Role::Other`] only.
    pub name: Option<String>,
    pub at: Timestamp,
    pub text: String,
}
