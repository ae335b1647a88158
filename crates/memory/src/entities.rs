//! L5: the people, places, organisations and pets in the user's life, with all their names.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::identifiers::EntityId;
pub use crate::text::{fold_name, is_named_in_text};

/// The kind of an entity.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum EntityKind {
    Person,
    Place,
    /// A company, school, club.
    Org,
    /// An animal that lives with somebody.
    Pet,
    /// Any other named thing.
    #[default]
    Other,
}

impl EntityKind {
    pub const ALL: [Self; 5] = [Self::Person, Self::Place, Self::Org, Self::Pet, Self::Other];

    /// The kind's name in the database and on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Place => "place",
            Self::Org => "org",
            Self::Pet => "pet",
            Self::Other => "other",
        }
    }

    /// Parses a kind; an unknown word is `Other`.
    pub fn parse(text: &str) -> Self {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text).unwrap_or_default()
    }
}

/// Certainty about the identity of an entity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MergeStatus {
    /// The name certainly means this entity.
    #[default]
    Confirmed,
    /// The entity may be the same as another one: the persona may ask.
    Uncertain,
    /// The persona asked, and the entities are different.
    Disambiguated,
}

/// Result of comparing a new name with a known entity of a matching kind, by cosine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Likeness {
    Same,
    /// Possibly the same: the persona may ask.
    Uncertain,
    Different,
}

/// Cosine above which a new name is a known entity. Below it the persona asks, because it is harder to separate two
/// people who were merged than to merge one who is listed twice.
pub const SAME_COSINE_ABOVE: f32 = 0.85;
/// Cosine from which a new name may be a known entity.
pub const UNCERTAIN_COSINE_MIN: f32 = 0.65;

impl Likeness {
    /// Applies the two thresholds: above 0.85 the same, from 0.65 uncertain.
    pub fn from_cosine(cosine: f32) -> Self {
        if cosine > SAME_COSINE_ABOVE {
            Self::Same
        } else if cosine >= UNCERTAIN_COSINE_MIN {
            Self::Uncertain
        } else {
            Self::Different
        }
    }
}

/// True if two kinds may be the same: equal, or one is unknown.
pub fn kinds_agree(a: EntityKind, b: EntityKind) -> bool {
    a == b || a == EntityKind::Other || b == EntityKind::Other
}

/// The text of an entity that is embedded: `name. description`, or the name alone.
pub fn embedded_text(name: &str, description: Option<&str>) -> String {
    match description.map(str::trim).filter(|text| !text.is_empty()) {
        Some(description) => format!("{name}. {description}"),
        None => name.to_owned(),
    }
}

/// The author of a change to an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangedBy {
    /// A person who keeps the memory.
    Owner,
    /// The user, in a conversation.
    Conversation,
    /// Nobody: the names are nearly equal.
    Likeness,
}

/// A change of an entity; each can be undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntityChange {
    /// The entity and the other are the same. An uncertain one is merged into a settled one, the newer of two
    /// uncertain ones into the older; of two settled ones, the entity into the other.
    Merge { other: EntityId },
    /// The entity and the other are different.
    Separate { other: EntityId },
    /// The entity gets another main name; the old one stays an alias.
    Rename {
        /// The name, as written.
        name: String,
    },
    /// A person describes the entity. Nobody else overwrites that.
    Describe {
        /// The description; empty to remove it.
        description: String,
    },
}

/// The result of a change to an entity.
#[derive(Clone, Debug, PartialEq)]
pub enum EntityChanged {
    /// The changed entities. For a merge: the one that remains, then the other as it was.
    Changed(Vec<Entity>),
    /// An entity does not exist, or was merged into another already.
    NotThere,
    /// Another entity of a matching kind has this name.
    NameTaken(Box<Entity>),
}

/// The result of undoing a change to an entity.
#[derive(Clone, Debug, PartialEq)]
pub enum EntityUndone {
    /// The last change was undone. Has its kind, and the entities as they are now.
    Undone {
        /// `merge`, `separate`, `rename` or `describe`.
        change: &'static str,
        /// The entities as they are now.
        entities: Vec<Entity>,
    },
    /// Nothing was changed, or everything is undone.
    NothingToUndo,
    /// The other entity of the change was changed later; that has to be undone first.
    ChangedSince,
    /// No entity has this id.
    NotThere,
}

/// Orders two entities that are the same: (the one to merge, the one that stays). See [`EntityChange::Merge`].
pub fn merge_order<'a>(entity: &'a Entity, other: &'a Entity) -> (&'a Entity, &'a Entity) {
    let uncertain = |entity: &Entity| entity.merge_status == MergeStatus::Uncertain;
    match (uncertain(entity), uncertain(other)) {
        (false, true) => (other, entity),
        (true, true) if (entity.created_at, entity.id) < (other.created_at, other.id) => (other, entity),
        _ => (entity, other),
    }
}

/// A stored entity. It includes entities that were merged into it: their names are among the aliases, their links
/// among its links, and their description is used if it has none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Entity {
    /// The id of the entity.
    pub id: EntityId,
    /// The main name, as written.
    pub canonical_name: String,
    /// The kind of the entity.
    pub kind: EntityKind,
    /// A description of the entity, in prose.
    pub description: Option<String>,
    /// True if a person wrote the description: then nobody else changes it.
    pub owner_override: bool,
    /// Certainty that this entity is not another one under a different name.
    pub merge_status: MergeStatus,
    /// The other entity that this one may be the same as.
    pub merge_target: Option<EntityId>,
    /// All names as written, including the main one.
    pub aliases: Vec<String>,
    /// Time at which the entity was first named.
    pub created_at: Timestamp,
    /// Time at which the entity last changed.
    pub updated_at: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thresholds_are_the_seeds() {
        let cases = [
            (0.86, Likeness::Same),
            (0.85, Likeness::Uncertain),
            (0.65, Likeness::Uncertain),
            (0.64, Likeness::Different),
        ];
        for (cosine, expected) in cases {
            assert_eq!(Likeness::from_cosine(cosine), expected, "{cosine}");
        }
    }

    #[test]
    fn the_uncertain_one_becomes_part_of_the_settled_one_and_the_newer_of_the_older() {
        let entity = |number: i64, merge_status| Entity {
            id: EntityId(uuid::Uuid::from_u128(number.unsigned_abs().into())),
            canonical_name: String::new(),
            kind: EntityKind::Person,
            description: None,
            owner_override: false,
            merge_status,
            merge_target: None,
            aliases: Vec::new(),
            created_at: Timestamp::UNIX_EPOCH + jiff::SignedDuration::from_secs(number),
            updated_at: Timestamp::UNIX_EPOCH,
        };
        let (old, new) = (entity(1, MergeStatus::Confirmed), entity(2, MergeStatus::Disambiguated));
        let (early, late) = (entity(3, MergeStatus::Uncertain), entity(4, MergeStatus::Uncertain));
        assert_eq!(merge_order(&old, &new), (&old, &new), "as asked");
        assert_eq!(merge_order(&new, &old), (&new, &old), "as asked");
        assert_eq!(merge_order(&old, &early), (&early, &old));
        assert_eq!(merge_order(&early, &old), (&early, &old));
        assert_eq!(merge_order(&early, &late), (&late, &early));
        assert_eq!(merge_order(&late, &early), (&late, &early));
    }

    #[test]
    fn a_latin_name_needs_borders_and_a_chinese_one_does_not() {
        assert!(is_named_in_text("ask ann about it", "ann"));
        assert!(!is_named_in_text("we are planning", "ann"));
        assert!(is_named_in_text("你还记得小黑吗", "小黑"));
        assert!(is_named_in_text("我和tom去玩", "tom"));
        assert!(!is_named_in_text("anything", ""));
    }
}
