//! A row as fields, and how two states of it become one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::actor::{Actor, VersionVector};
use crate::conflict::FieldConflict;
use crate::hybrid_time::HybridTime;

/// What a row is. The order is that in which rows refer to one another: a row refers to rows of earlier kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A marker of something that was removed; its id is `KIND:ID`. It holds no words.
    Erasure,
    /// A persona and its facts; the id is its name.
    Persona,
    /// A user; the id is its name.
    User,
    /// A session.
    Session,
    /// A message.
    Message,
    /// A person, place or other named thing.
    Entity,
    /// An event, thought, intention or expectation.
    Node,
    /// A mood, by the session that it came from.
    Mood,
    /// A core block; the id is persona, label and user (empty for a shared block), with U+001F between.
    CoreBlock,
}

impl Kind {
    /// All kinds, in their order.
    pub const ALL: [Self; 9] = [
        Self::Erasure,
        Self::Persona,
        Self::User,
        Self::Session,
        Self::Message,
        Self::Entity,
        Self::Node,
        Self::Mood,
        Self::CoreBlock,
    ];

    /// Its word in the log and on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Erasure => "erasure",
            Self::Persona => "persona",
            Self::User => "user",
            Self::Session => "session",
            Self::Message => "message",
            Self::Entity => "entity",
            Self::Node => "node",
            Self::Mood => "mood",
            Self::CoreBlock => "core_block",
        }
    }

    /// The kind of this word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// Whether two concurrent values of the field are for a person to decide: texts that people write or correct.
    pub fn is_for_people(self, field: &str) -> bool {
        match self {
            Self::Message | Self::CoreBlock => field == "content",
            Self::Node => field == "description",
            _ => false,
        }
    }
}

/// What names a row everywhere: its kind and its id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RowKey {
    /// What it is.
    pub kind: Kind,
    /// Its id: 32 hexadecimal digits, or a name where rows are named.
    pub id: String,
}

/// The change that wrote a value. Stamps of different changes are never equal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Stamp {
    /// When.
    pub time: HybridTime,
    /// Who.
    pub actor: Actor,
    /// The number of the change.
    pub index: u64,
}

/// A value and the change that wrote it. `null` is a value that was taken away.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Field {
    /// What it is.
    pub value: Value,
    /// Who wrote it, and when.
    pub stamp: Stamp,
}

/// A row: every change that is in it, and its fields. An element of a set (a quote, an alias) is a field of its own, so
/// sets grow and shrink by the same rule.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RowState {
    /// Changes that it has seen.
    pub vector: VersionVector,
    /// Its values by name.
    pub fields: BTreeMap<String, Field>,
}

/// A merged row.
#[derive(Clone, Debug, PartialEq)]
pub struct Merged {
    /// What both say together.
    pub state: RowState,
    /// Values that neither side had seen of the other.
    pub conflicts: Vec<FieldConflict>,
}

/// Merges two states of one row: of each field the later value, by time, then by actor. Commutative, associative and
/// idempotent. What loses concurrently comes back as a conflict.
pub fn merge(local: &RowState, remote: &RowState) -> Merged {
    let mut state = local.clone();
    state.vector.join(&remote.vector);
    let mut conflicts = Vec::new();
    for (name, theirs) in &remote.fields {
        let Some(ours) = local.fields.get(name) else {
            state.fields.insert(name.clone(), theirs.clone());
            continue;
        };
        let is_theirs = order(theirs) > order(ours);
        let is_unseen = !remote.vector.has_seen(&ours.stamp.actor, ours.stamp.index)
            && !local.vector.has_seen(&theirs.stamp.actor, theirs.stamp.index);
        if is_unseen && ours.value != theirs.value {
            let (kept, lost) = if is_theirs { (theirs, ours) } else { (ours, theirs) };
            conflicts.push(FieldConflict { field: name.clone(), kept: kept.clone(), lost: lost.clone() });
        }
        if is_theirs {
            state.fields.insert(name.clone(), theirs.clone());
        }
    }
    Merged { state, conflicts }
}

/// Of one stamp, a value is preferred to none: a reference is `null` as long as its row has not arrived. The text decides
/// the rest, which only a defect or a hostile peer sends.
fn order(field: &Field) -> (&Stamp, bool, String) {
    (&field.stamp, !field.value.is_null(), field.value.to_string())
}
