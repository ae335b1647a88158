//! L5: the people, places, organisations and pets of the user's life, with all the names they go by.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;

use crate::identifiers::EntityId;
use crate::text::at_word_borders;

/// What an entity is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EntityKind {
    /// A human being.
    Person,
    /// A place.
    Place,
    /// A company, school, club.
    Org,
    /// An animal that lives with somebody.
    Pet,
    /// Anything else with a name.
    #[default]
    Other,
}

impl EntityKind {
    /// All kinds.
    pub const ALL: [Self; 5] = [Self::Person, Self::Place, Self::Org, Self::Pet, Self::Other];

    /// The kind as stored and as on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Place => "place",
            Self::Org => "org",
            Self::Pet => "pet",
            Self::Other => "other",
        }
    }

    /// Reads a kind; a word outside the list is `Other`.
    pub fn parse(text: &str) -> Self {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text).unwrap_or_default()
    }
}

/// Whether it is settled who an entity is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MergeStatus {
    /// Settled.
    #[default]
    Confirmed,
    /// Perhaps the same as another: the persona may ask.
    Uncertain,
    /// Asked, and found to be somebody else.
    Disambiguated,
}

/// A stored entity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entity {
    /// Its id.
    pub id: EntityId,
    /// The name it is shown by, as written.
    pub canonical_name: String,
    /// What it is.
    pub kind: EntityKind,
    /// What is known of it, in prose.
    pub description: Option<String>,
    /// Whether a person wrote the description: then nobody else does.
    pub owner_override: bool,
    /// Whether it is settled who it is.
    pub merge_status: MergeStatus,
    /// With whom it may be the same.
    pub merge_target: Option<EntityId>,
    /// All names as written, the canonical one included.
    pub aliases: Vec<String>,
    /// When it was first named.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// The form in which names are compared: NFKC, case folded, inner white space as one blank.
pub fn fold_name(name: &str) -> String {
    let folded: String = name.nfkc().flat_map(char::to_lowercase).collect();
    folded.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a folded name stands in a folded text: anywhere for scripts without blanks between words, at word borders
/// for the others, so that `ann` is not found in `planning`.
pub fn name_stands_in(text: &str, name: &str) -> bool {
    !name.is_empty()
        && text.match_indices(name).any(|(start, found)| at_word_borders(text, start, start + found.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_after_normalisation() {
        assert_eq!(fold_name("Ｔｏｍ  Brown "), "tom brown");
        assert_eq!(fold_name("小黑"), "小黑");
    }

    #[test]
    fn a_latin_name_needs_borders_and_a_chinese_one_does_not() {
        assert!(name_stands_in("ask ann about it", "ann"));
        assert!(!name_stands_in("we are planning", "ann"));
        assert!(name_stands_in("你还记得小黑吗", "小黑"));
        assert!(name_stands_in("我和tom去玩", "tom"));
        assert!(!name_stands_in("anything", ""));
    }
}
