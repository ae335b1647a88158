//! What a reply's prompt is made of. No field of it carries a channel into the prompt.

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

/// Everything a reply is rendered from. Lists that are ranked come with the most useful item first.
#[derive(Clone, Debug)]
pub struct ReplyInput {
    pub persona_name: String,
    pub facts: PersonaFacts,
    /// L1, always first in the prompt.
    pub core_blocks: CoreBlocks,
    /// Identity documents beyond the core blocks: what each is called and what it says.
    pub documents: Vec<(String, String)>,
    /// Entries of lorebooks that are named, the most important first: what each is called and what it says.
    pub lore: Vec<(String, String)>,
    /// Weeks, months or years that the burst asks about, as the persona told them to itself: which, and the text.
    pub periods: Vec<(String, String)>,
    /// L6 as stored; faded or neutral it leaves no section.
    pub mood: Option<Mood>,
    /// Time at which the burst's last message was received.
    pub now: Timestamp,
    /// The user's zone: all dates of the prompt are in it.
    pub user_zone: TimeZone,
    /// The persona's zone, when it is known.
    pub persona_zone: Option<TimeZone>,
    /// The name of the user, if it is known.
    pub user_name: Option<String>,
    /// Entities that the burst names; those without a description leave no section.
    pub named_entities: Vec<Entity>,
    /// Named entities that may be somebody else.
    pub uncertain: Vec<UncertainPair>,
    /// Recalled nodes of any kind, best first.
    pub recalled: Vec<Node>,
    /// True if nothing in memory is about the burst: what was recalled is only the nearest.
    pub nothing_found: bool,
    /// Recalled verbatim talk, best first.
    pub passages: Vec<Passage>,
    /// Thoughts about the user that are there whatever the text, best first.
    pub pinned_thoughts: Vec<Node>,
    /// The persona's thoughts about itself, best first.
    pub self_thoughts: Vec<Node>,
    /// Former values: they are told with their dates, and texts that state one get a note.
    pub corrected: OutdatedValues,
    /// Promises that are still open.
    pub intentions: Vec<Node>,
    /// Expectations that are still open.
    pub expectations: Vec<Node>,
    /// Expectations that the burst fulfils.
    pub fulfilled: Vec<Node>,
    /// The last sessions; those without a summary leave no line.
    pub sessions: Vec<Session>,
    /// The last messages of both sides, the burst's own among them or not.
    pub window: Vec<Message>,
    /// The messages to answer.
    pub burst: Vec<Message>,
}

impl ReplyInput {
    /// An input with nothing but a name and a moment.
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

/// The persona's biographic facts, as stored; what is unset leaves no line. (Its time zone is
/// [`ReplyInput::persona_zone`].)
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PersonaFacts {
    pub full_name: Option<String>,
    pub gender: Option<String>,
    /// ISO date; only the year is told.
    pub birth_date: Option<String>,
    pub ethnicity: Option<String>,
    pub nationality: Option<String>,
    pub native_language: Option<String>,
    /// Region whose customs the persona has.
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

/// Two entities that may be one.
#[derive(Clone, Debug, PartialEq)]
pub struct UncertainPair {
    /// The one that was named.
    pub entity: Entity,
    /// The entity that this one may be the same as.
    pub other: Entity,
}

/// A stretch of verbatim talk.
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
    /// The name of the one who said it, for [`Role::Other`] alone.
    pub name: Option<String>,
    pub at: Timestamp,
    pub text: String,
}
