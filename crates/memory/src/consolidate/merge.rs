//! Repeated mentions: two events are merged only if they mean exactly the same. A wrong merge loses a memory.

use std::collections::BTreeSet;

use crate::identifiers::EntityId;
use crate::nodes::EventTime;
use crate::text;

/// Minimum cosine of two readable texts that may have the same meaning.
pub const MERGE_COSINE_MIN: f32 = 0.92;
/// Minimum readability of a usable vector. It is the limit of the vector index: with an English model two different
/// Chinese texts can have cosine 1.
pub(super) const READABILITY_MIN: f32 = 0.6;
/// Minimum share of the content words of both texts that must be common. Vectors alone would merge texts that differ
/// in a name.
const MERGE_SHARED_WORDS_MIN: f64 = 0.75;

/// A description of an event that is compared with another one.
#[derive(Clone, Debug)]
pub struct ComparedEvent<'a> {
    pub description: &'a str,
    pub emotional_impact: i8,
    pub event_time: Option<EventTime>,
    pub entities: BTreeSet<EntityId>,
    /// Share of the description that the embedder can read.
    pub readability: f32,
}

/// True if the older description already contains the newer one: similar vectors, both readable, no content word that
/// only the newer one has and few that only the older one has, the same numbers and entities, the same day if both
/// have one, and no change of sign in the impact. One different word is enough to keep both: a mother is not a
/// father.
pub fn has_same_content(newer: &ComparedEvent<'_>, older: &ComparedEvent<'_>, cosine: f32) -> bool {
    cosine >= MERGE_COSINE_MIN
        && newer.readability >= READABILITY_MIN
        && older.readability >= READABILITY_MIN
        && newer.entities == older.entities
        && newer.emotional_impact.signum() == older.emotional_impact.signum()
        && newer.event_time.is_none_or(|time| older.event_time.is_none_or(|other| time.start == other.start))
        && count_negations(newer.description) == count_negations(older.description)
        && numbers_in(newer.description) == numbers_in(older.description)
        && content_words(newer.description).is_subset(&content_words(older.description))
        && shared_words(newer.description, older.description) >= MERGE_SHARED_WORDS_MIN
}

/// Share of the content words of both texts that are common.
pub(super) fn shared_words(a: &str, b: &str) -> f64 {
    let (a, b) = (content_words(a), content_words(b));
    let union = a.union(&b).count();
    if union == 0 { 0.0 } else { a.intersection(&b).count() as f64 / union as f64 }
}

fn content_words(text: &str) -> BTreeSet<String> {
    text::content_terms(text).into_iter().collect()
}

fn numbers_in(text: &str) -> BTreeSet<&str> {
    text.split(|c: char| !c.is_numeric()).filter(|part| !part.is_empty()).collect()
}

pub(super) fn count_negations(text: &str) -> usize {
    let lower = text.to_lowercase();
    let words = ["not", "no", "never", "without", "cannot"];
    let latin = lower.split(|c: char| !c.is_alphanumeric() && c != '\'');
    latin.filter(|word| words.contains(word) || word.ends_with("n't")).count()
        + lower.chars().filter(|c| matches!(c, '不' | '没' | '沒' | '无' | '別' | '别')).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mention(description: &str, impact: i8, readability: f32) -> ComparedEvent<'_> {
        ComparedEvent {
            description,
            emotional_impact: impact,
            event_time: None,
            entities: BTreeSet::new(),
            readability,
        }
    }

    #[test]
    fn life_events_that_the_embedder_cannot_read_stay_apart() {
        let (a, b) = (mention("用户怀孕了", 7, 0.0), mention("用户离婚了", -7, 0.0));
        assert!(!has_same_content(&a, &b, 1.0));
        let (a, b) = (mention("用户喜欢猫", 2, 0.9), mention("用户讨厌狗", 2, 0.9));
        assert!(!has_same_content(&a, &b, 1.0), "different words, whatever the vectors say");
    }

    #[test]
    fn the_same_words_merge_and_a_number_a_negation_or_a_sign_keeps_them_apart() {
        let base = mention("The user ran 5 km along the river", 3, 1.0);
        assert!(has_same_content(&base, &mention("The user ran 5 km along the river", 2, 1.0), 0.99));
        assert!(!has_same_content(&base, &mention("The user ran 10 km along the river", 3, 1.0), 0.99));
        assert!(!has_same_content(&base, &mention("The user never ran 5 km along the river", 3, 1.0), 0.99));
        assert!(!has_same_content(&base, &mention("The user ran 5 km along the river", -3, 1.0), 0.99));
        assert!(!has_same_content(&base, &base.clone(), 0.91));
    }

    #[test]
    fn a_word_that_the_older_one_lacks_keeps_both() {
        let long = "The user's mother has been in hospital in the old town with a broken leg since last week";
        let other = long.replace("mother", "father");
        assert!(!has_same_content(&mention(&other, -3, 1.0), &mention(long, -3, 1.0), 1.0));
        let (short, more) = ("用户周末养花和画画", "用户周末养花和画画、种菜");
        assert!(!has_same_content(&mention(more, 2, 1.0), &mention(short, 2, 1.0), 1.0), "it says more");
        assert!(has_same_content(&mention(short, 2, 1.0), &mention(more, 2, 1.0), 1.0), "all of it is known");
    }

    #[test]
    fn mentions_of_different_entities_are_not_the_same() {
        let mut other = mention("The user met a friend", 3, 1.0);
        other.entities.insert(EntityId(uuid::Uuid::nil()));
        assert!(!has_same_content(&mention("The user met a friend", 3, 1.0), &other, 0.99));
    }
}
