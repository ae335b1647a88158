//! The fixed lists and limits that prompts explain, taken from the types, so that they always agree.

use memory::entities::EntityKind;
use memory::nodes::{NodeKind, RelationalTag, Subject};
use serde::Serialize;

use crate::contract::{
    DESCRIPTION_LENGTH_SOFT, EMOTION_TAGS_MAX, EVENT_KINDS, EVENTS_MAX, EXPECTATIONS_MAX, INTENTIONS_MAX,
    NODE_TYPES, QUESTIONS_MAX, RELATIONAL_TAGS_MAX, RELATIONS, RELATIONSHIPS_MAX, SLOW_THOUGHTS_MAX,
    SUBJECTS, THOUGHT_IMPACT_SOFT, THOUGHTS_MAX, subject_word,
};

/// A word of a fixed list and its meaning.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct VocabularyTerm {
    name: &'static str,
    meaning: &'static str,
}

/// The fixed lists of words that the prompts explain.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Vocabulary {
    events_max: usize,
    emotion_tags_max: usize,
    relational_tags_max: usize,
    thoughts_min: usize,
    thoughts_max: usize,
    thought_impact_soft: i8,
    slow_thoughts_max: usize,
    expectations_max: usize,
    intentions_max: usize,
    questions_max: usize,
    description_soft: usize,
    relationships_max: usize,
    node_types: [&'static str; 11],
    relations: [&'static str; 14],
    event_kinds: Vec<VocabularyTerm>,
    subjects: Vec<VocabularyTerm>,
    relational_tags: Vec<VocabularyTerm>,
    entity_kinds: Vec<VocabularyTerm>,
}

impl Default for Vocabulary {
    fn default() -> Self {
        let kind = |kind: NodeKind| VocabularyTerm { name: kind.as_str(), meaning: kind_meaning(kind) };
        let subject =
            |subject| VocabularyTerm { name: subject_word(subject), meaning: subject_meaning(subject) };
        let tag = |tag: RelationalTag| VocabularyTerm { name: tag.as_str(), meaning: tag_meaning(tag) };
        let entity = |kind: EntityKind| VocabularyTerm { name: kind.as_str(), meaning: entity_meaning(kind) };
        Self {
            events_max: EVENTS_MAX,
            emotion_tags_max: EMOTION_TAGS_MAX,
            relational_tags_max: RELATIONAL_TAGS_MAX,
            thoughts_min: 1,
            thoughts_max: THOUGHTS_MAX,
            thought_impact_soft: THOUGHT_IMPACT_SOFT,
            slow_thoughts_max: SLOW_THOUGHTS_MAX,
            expectations_max: EXPECTATIONS_MAX,
            intentions_max: INTENTIONS_MAX,
            questions_max: QUESTIONS_MAX,
            description_soft: DESCRIPTION_LENGTH_SOFT,
            relationships_max: RELATIONSHIPS_MAX,
            node_types: NODE_TYPES,
            relations: RELATIONS,
            event_kinds: EVENT_KINDS.map(kind).to_vec(),
            subjects: SUBJECTS.map(subject).to_vec(),
            relational_tags: RelationalTag::ALL.map(tag).to_vec(),
            entity_kinds: EntityKind::ALL.map(entity).to_vec(),
        }
    }
}

fn kind_meaning(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::Event => {
            "something that happened, is so, or is planned in the person's life or between the two. A plan of \
             the person is an event with an `event_time`."
        }
        NodeKind::Intention => {
            "a promise that the persona itself made in this conversation, in clear words and with a time (\"I'll \
             ask you on Friday how it went\"); its subject is `persona`. A wish, a maybe, a courtesy or an offer that \
             was turned down is none."
        }
        NodeKind::Thought => "an impression that looks back.",
        NodeKind::Expectation => "a prediction with a due time.",
    }
}

fn subject_meaning(subject: Subject) -> &'static str {
    match subject {
        Subject::User => "the person, or somebody or something in the person's life",
        Subject::Persona => "the persona itself",
        Subject::Shared => "what the two did, decided or went through together",
    }
}

fn tag_meaning(tag: RelationalTag) -> &'static str {
    match tag {
        RelationalTag::IdentityBearing => {
            "a core fact about who the person is (raises a child alone; lives with an illness)"
        }
        RelationalTag::Unresolved => {
            "a painful thread that was opened and left open (hints at a fight, then changes the topic)"
        }
        RelationalTag::Vulnerability => {
            "a rare moment of opening up (\"nobody knows this about me\", \"这事我没跟别人说过\")"
        }
        RelationalTag::TurningPoint => {
            "the relationship between the two shifts: first trust, first quarrel, first secret"
        }
        RelationalTag::Correction => {
            "the person put right what the persona believed (\"no, that's not what I meant\", \"其实不是那样\")"
        }
        RelationalTag::Commitment => {
            "an explicit promise or follow-up by either (\"I'll tell you how it went\", \"下次接着聊\")"
        }
    }
}

fn entity_meaning(kind: EntityKind) -> &'static str {
    match kind {
        EntityKind::Person => "a human being",
        EntityKind::Place => "a town, a country, a house, a spot",
        EntityKind::Org => "a company, a school, a club, a team",
        EntityKind::Pet => "an animal that lives with somebody",
        EntityKind::Other => "anything else with a name",
    }
}
