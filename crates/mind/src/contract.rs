//! The contracts of answers: the types behind the JSON schemas. These doc comments are part of the schemas, so they
//! are written for the model.
//!
//! Answers are parsed into the same types. Each member is a [`Member`] or a [`List`], which accept anything that a
//! model wrote, so that a bad item does not affect the good ones.

use memory::entities::EntityKind;
use memory::nodes::{NodeKind, RelationalTag, Subject};
use memory::ports::PairVerdict;
use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::answer::{List, Member};

/// Maximum events of one session. A model that may list more also lists small talk.
pub const EVENTS_MAX: usize = 3;
/// Maximum free-form emotion tags of an event. More of them contradict one another.
pub const EMOTION_TAGS_MAX: usize = 4;
/// Maximum relational tags of an event. Each raises a memory's rank, so a model must choose.
pub const RELATIONAL_TAGS_MAX: usize = 3;
/// Maximum thoughts of one reflection. A third one repeats the first.
pub const THOUGHTS_MAX: usize = 2;
/// Maximum thoughts of one slow cycle. It is one more than for a reflection, because a cycle reads a week.
pub const SLOW_THOUGHTS_MAX: usize = 3;
/// Maximum expectations of one slow cycle. Pending ones are in every prompt, so a cycle adds few.
pub const EXPECTATIONS_MAX: usize = 2;
/// Maximum intentions of one slow cycle. Open ones are in every prompt, so a cycle adds few.
pub const INTENTIONS_MAX: usize = 2;
/// Maximum questions that one slow cycle leaves for the next.
pub const QUESTIONS_MAX: usize = 3;
/// Maximum relationships extracted from one session. Each is checked against the session's messages, and a whole
/// family fits.
pub const RELATIONSHIPS_MAX: usize = 12;
/// Minimum confidence of a stored relationship. The graph states relationships as facts, so guesses are excluded.
pub const CONFIDENCE_MIN: f64 = 0.7;
/// Maximum length of a relationship's type, in characters. It is a word or two beside a line of the graph.
pub const RELATION_LENGTH_MAX: usize = 40;
/// Maximum length of a name that the graph takes from a memory's text, in characters.
pub const TIE_NAME_LENGTH_MAX: usize = 60;
/// Types of a name in the graph: the kinds of entities, and types that are not entities.
pub const NODE_TYPES: [&str; 11] = [
    "person",
    "place",
    "org",
    "pet",
    "other",
    "topic",
    "preference",
    "goal",
    "health",
    "boundary",
    "tradition",
];
/// Suggested types of relations.
pub const RELATIONS: [&str; 14] = [
    "lives_in",
    "works_at",
    "studies_at",
    "has_pet",
    "friend_of",
    "partner_of",
    "parent_of",
    "sibling_of",
    "member_of",
    "owns",
    "likes",
    "fears",
    "practises",
    "works_towards",
];
/// Length of a description that the model is asked for, in characters. Models exceed it; up to four times this is
/// stored.
pub const DESCRIPTION_LENGTH_SOFT: usize = 500;
/// Impact that a thought rarely exceeds, because a thought follows some time after the events.
pub const THOUGHT_IMPACT_SOFT: i8 = 8;

/// The kinds of node that extraction may propose.
pub const EVENT_KINDS: [NodeKind; 2] = [NodeKind::Event, NodeKind::Intention];
/// Subjects that a memory can have.
pub const SUBJECTS: [Subject; 3] = [Subject::User, Subject::Persona, Subject::Shared];

/// Subjects that a thought of the slow cycle can have.
pub const SLOW_SUBJECTS: [Subject; 2] = [Subject::User, Subject::Persona];

/// The answer to `extraction`.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct ExtractionAnswer {
    /// Everything that deserves to be remembered; may be empty.
    #[schemars(length(max = EVENTS_MAX))]
    pub events: List<EventAnswer>,
    /// Every named person, place, organisation and animal of the conversation.
    pub mentioned_entities: List<EntityAnswer>,
    /// Set only when the user settled whether two names mean the same one.
    #[schemars(with = "Option<ClarificationAnswer>")]
    pub entity_clarification: Member<ClarificationAnswer>,
    /// The persona's feeling after this conversation.
    #[schemars(with = "Option<MoodAnswer>")]
    pub session_mood_signal: Member<MoodAnswer>,
    /// One or two sentences on what the conversation was about.
    #[schemars(with = "Option<String>")]
    pub session_summary: Member<String>,
    /// The answer to: which emotional peak did I nearly miss?
    pub self_check_notes: Member<String>,
}

/// One event to remember.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct EventAnswer {
    /// The event in 1 to 3 sentences, in the language it was said in.
    pub description: Member<String>,
    /// Verbatim quotes that the event depends on; at least one.
    pub evidence: List<EvidenceAnswer>,
    /// A whole number from -10 (catastrophe) to 10 (life-defining joy).
    #[schemars(range(min = -10, max = 10))]
    #[schemars(with = "i8")]
    pub emotional_impact: Member<f64>,
    /// Free lower-case words for the feelings in it.
    #[schemars(length(max = EMOTION_TAGS_MAX))]
    pub emotion_tags: List<String>,
    /// Empty for most events.
    #[schemars(schema_with = "relational_tags_schema")]
    pub relational_tags: List<String>,
    /// The person that the event is about: the user, the persona or both.
    #[schemars(schema_with = "subject_schema")]
    pub subject: Member<String>,
    /// An intention is a promise that the persona itself voiced.
    #[serde(rename = "type")]
    #[schemars(schema_with = "kind_schema")]
    pub kind: Member<String>,
    /// The time at which it happened or will happen, if that was said.
    #[schemars(with = "Option<EventTimeAnswer>")]
    pub event_time: Member<TimeAnswer>,
    /// Handles of older memories that are no longer true because of it.
    pub supersedes: List<String>,
    /// Canonical names of the entities that the event is about.
    pub entities: List<String>,
}

/// A quote as evidence.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct EvidenceAnswer {
    /// Handle of the message.
    pub message: Member<String>,
    /// The words of the quote, copied character for character.
    pub quote: Member<String>,
}

/// A time as models write it: what the schema asks for, or its start alone.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum TimeAnswer {
    /// A date, or a date and a time.
    Start(String),
    Span(EventTimeAnswer),
}

/// A span of time.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct EventTimeAnswer {
    /// ISO date (2026-03-05) or date and time (2026-03-05T15:00).
    #[schemars(with = "Option<String>")]
    pub start: Member<String>,
    /// The last day or moment, if the event lasts longer than one.
    #[schemars(with = "Option<String>")]
    pub end: Member<String>,
}

/// A person or thing with a name.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct EntityAnswer {
    /// The name to show the entity by.
    pub canonical_name: Member<String>,
    /// Other names used for the entity.
    pub aliases: List<String>,
    /// The kind that the entity is.
    #[schemars(schema_with = "entity_kind_schema")]
    pub kind: Member<String>,
}

/// A statement that two names mean one, or do not.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct ClarificationAnswer {
    /// One of the two names that may mean the same entity.
    pub a: Member<String>,
    /// The other of the names.
    pub b: Member<String>,
    /// True if they are the same.
    pub same: Member<bool>,
}

/// The mood after a conversation.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct MoodAnswer {
    /// A word or a short phrase.
    pub mood: Member<String>,
    /// From 0 (drained) to 10 (bursting).
    #[schemars(range(min = 0, max = 10))]
    #[schemars(with = "i64")]
    pub energy: Member<f64>,
    /// The feeling of the user at the end, in a few words.
    #[schemars(with = "Option<String>")]
    pub last_user_signal: Member<String>,
}

/// The answer to `reconciliation`.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct ReconciliationAnswer {
    /// One for each pair.
    pub pairs: List<PairAnswer>,
}

/// The relation of a pair's newer statement to the older one.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct PairAnswer {
    /// The number of the pair.
    #[schemars(with = "u32")]
    pub pair: Member<f64>,
    /// The verdict, one of six words.
    #[schemars(schema_with = "verdict_schema")]
    pub verdict: Member<String>,
    /// The part of their words that shows it, copied character for character.
    pub quote: Member<String>,
    /// The part of the older statement that stays true, if only a part of it does.
    #[schemars(with = "Option<String>")]
    pub still_true: Member<String>,
}

/// The answer to `reflection`.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct ReflectionAnswer {
    /// One impression, or two that are truly different.
    #[schemars(length(min = 1, max = THOUGHTS_MAX))]
    pub thoughts: List<ThoughtAnswer>,
}

/// One impression of the persona.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct ThoughtAnswer {
    /// The impression, in 1 to 3 sentences, in the language of the events.
    pub description: Member<String>,
    /// The person that the thought is about.
    #[schemars(schema_with = "subject_schema")]
    pub subject: Member<String>,
    /// A whole number from -10 to 10.
    #[schemars(range(min = -10, max = 10))]
    #[schemars(with = "i8")]
    pub emotional_impact: Member<f64>,
    /// Handles of the events it depends on; at least one.
    #[schemars(length(min = 1))]
    pub filling: List<String>,
}

/// The answer to `slow_cycle`.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct SlowCycleAnswer {
    /// Impressions that are not there yet; may be empty.
    #[schemars(length(max = SLOW_THOUGHTS_MAX))]
    pub new_thoughts: List<SlowThoughtAnswer>,
    /// Expectations of what will probably come, and by when; may be empty.
    #[schemars(length(max = EXPECTATIONS_MAX))]
    pub new_expectations: List<ExpectationAnswer>,
    /// Promises that the persona has already made aloud; mostly empty.
    #[schemars(length(max = INTENTIONS_MAX))]
    pub new_intentions: List<IntentionAnswer>,
    /// Short questions to yourself for next time.
    #[schemars(length(max = QUESTIONS_MAX))]
    pub salient_questions: List<String>,
    /// Descriptions of who or what the listed names are.
    pub entity_descriptions: List<EntityDescriptionAnswer>,
}

/// One impression of the slow cycle.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct SlowThoughtAnswer {
    /// The impression, in 1 to 3 sentences, in the language of the events.
    pub description: Member<String>,
    /// The person, or the persona itself.
    #[schemars(schema_with = "slow_subject_schema")]
    pub subject: Member<String>,
    /// A whole number from -10 to 10.
    #[schemars(range(min = -10, max = 10))]
    #[schemars(with = "i8")]
    pub emotional_impact: Member<f64>,
    /// Handles of the events it depends on; at least one.
    #[schemars(length(min = 1))]
    pub filling: List<String>,
}

/// One expectation about the user.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct ExpectationAnswer {
    /// The matter, in a few words.
    pub about: Member<String>,
    /// The expectation, in one sentence.
    pub prediction: Member<String>,
    /// A date to come: 2026-03-05, or 2026-03-05T15:00.
    #[schemars(with = "String")]
    pub due: Member<TimeAnswer>,
    /// Handles of the events that give a reason; at least one.
    #[schemars(length(min = 1))]
    pub reasoning: List<String>,
    /// A whole number from -10 to 10.
    #[schemars(range(min = -10, max = 10))]
    #[schemars(with = "i8")]
    pub emotional_impact: Member<f64>,
}

/// One promise of the persona.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct IntentionAnswer {
    /// The promise, in one sentence.
    pub description: Member<String>,
    /// The time at which it is due, if that was said.
    #[schemars(with = "Option<String>")]
    pub due: Member<TimeAnswer>,
    /// Handles of the events in which it was promised; at least one.
    #[schemars(length(min = 1))]
    pub filling: List<String>,
}

/// The meaning of a name.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct EntityDescriptionAnswer {
    /// Handle of the name.
    pub entity: Member<String>,
    /// A description of who or what it is to this person, in 1 or 2 sentences.
    pub description: Member<String>,
}

/// The answer to `rollup`.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct RollUpAnswer {
    /// Memories of the period, in the first person, each with its `[via:…]` tags.
    #[schemars(length(min = 1))]
    pub bullets: List<String>,
}

/// The answer to `proactive`.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct ProactiveAnswer {
    /// The message that you write; null if you write nothing.
    #[schemars(with = "Option<String>")]
    pub message: Member<String>,
    /// Why you write it, or why you write nothing, in a few words.
    pub reason: Member<String>,
}

/// The answer to `graph`.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct GraphAnswer {
    /// Types of the names that are not known yet; may be empty.
    pub entities: List<GraphEntityAnswer>,
    /// Lasting ties; mostly few.
    #[schemars(length(max = RELATIONSHIPS_MAX))]
    pub relationships: List<RelationshipAnswer>,
}

/// A name that is not known yet.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct GraphEntityAnswer {
    /// The name, exactly as it is in the memory.
    pub name: Member<String>,
    /// The type of the name.
    #[serde(rename = "type")]
    #[schemars(schema_with = "node_type_schema")]
    pub node_type: Member<String>,
}

/// One relation between two names.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct RelationshipAnswer {
    /// `user`, `persona`, a handle of a known name, or a name that is in the memory.
    pub from: Member<String>,
    /// The other end, named in the same way.
    pub to: Member<String>,
    /// The type of the relation, such as lives_in.
    #[serde(rename = "type")]
    pub relation: Member<String>,
    /// Handle of the memory that states the relationship.
    pub memory: Member<String>,
    /// From 0 to 1.
    #[schemars(range(min = 0, max = 1))]
    pub confidence: Member<f64>,
}

/// The subject as stored, on the wire and in prompts.
pub fn subject_word(subject: Subject) -> &'static str {
    match subject {
        Subject::User => "user",
        Subject::Persona => "persona",
        Subject::Shared => "shared",
    }
}

/// The JSON schema of an answer, in the form that strict endpoints accept: no references, every object closed,
/// every member required (an absent one is `null` or empty).
pub fn schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    make_strict(&mut schema);
    schema
}

fn make_strict(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            for unsupported in ["title", "format", "default"] {
                members.remove(unsupported);
            }
            let properties = members.get("properties").and_then(Value::as_object);
            if let Some(names) = properties.map(|properties| properties.keys().cloned().collect::<Vec<_>>()) {
                members.insert("required".to_owned(), Value::from(names));
                members.insert("additionalProperties".to_owned(), Value::Bool(false));
            }
            members.values_mut().for_each(make_strict);
        }
        Value::Array(items) => items.iter_mut().for_each(make_strict),
        _ => {}
    }
}

fn relational_tags_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "items": {"type": "string", "enum": RelationalTag::ALL.map(RelationalTag::as_str)},
        "maxItems": RELATIONAL_TAGS_MAX,
    })
}

fn verdict_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": PairVerdict::ALL.map(PairVerdict::as_str)})
}

fn subject_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": SUBJECTS.map(subject_word)})
}

fn slow_subject_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": SLOW_SUBJECTS.map(subject_word)})
}

fn kind_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": EVENT_KINDS.map(NodeKind::as_str)})
}

fn node_type_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": NODE_TYPES})
}

fn entity_kind_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": EntityKind::ALL.map(EntityKind::as_str)})
}
