//! Repeated mentions: two events become one only when they truly say the same. A false merge loses a memory.

use std::collections::BTreeSet;

use crate::identifiers::EntityId;
use crate::nodes::EventTime;
use crate::text;

/// Cosine from which two readable texts may say the same.
pub const MERGE_COSINE_MIN: f32 = 0.92;
/// Readability below which a vector says nothing.
pub(super) const READABILITY_MIN: f32 = 0.6;
/// Share of the content words, of both together, that must be common.
const MERGE_SHARED_WORDS_MIN: f64 = 0.75;

/// One side of the comparison.
#[derive(Clone, Debug)]
pub struct Mention<'a> {
    /// The text.
    pub description: &'a str,
    /// Its impact.
    pub emotional_impact: i8,
    /// When it happened.
    pub event_time: Option<EventTime>,
    /// Whom it is about.
    pub entities: BTreeSet<EntityId>,
    /// Share of it that the embedder reads.
    pub readability: f32,
}

/// Whether the two say the same: close vectors, both readable, nearly the same content words and the same numbers,
/// the same entities, the same day where both have one, and no change of sign in the feeling.
pub fn says_the_same(a: &Mention<'_>, b: &Mention<'_>, cosine: f32) -> bool {
    cosine >= MERGE_COSINE_MIN
        && a.readability >= READABILITY_MIN
        && b.readability >= READABILITY_MIN
        && a.entities == b.entities
        && a.emotional_impact.signum() == b.emotional_impact.signum()
        && a.event_time.is_none_or(|time| b.event_time.is_none_or(|other| time.start == other.start))
        && negations(a.description) == negations(b.description)
        && numbers(a.description) == numbers(b.description)
        && shared_words(a.description, b.description) >= MERGE_SHARED_WORDS_MIN
}

fn shared_words(a: &str, b: &str) -> f64 {
    let (a, b): (BTreeSet<_>, BTreeSet<_>) =
        (text::content_terms(a).into_iter().collect(), text::content_terms(b).into_iter().collect());
    let union = a.union(&b).count();
    if union == 0 { 0.0 } else { a.intersection(&b).count() as f64 / union as f64 }
}

fn numbers(text: &str) -> BTreeSet<&str> {
    text.split(|c: char| !c.is_numeric()).filter(|part| !part.is_empty()).collect()
}

fn negations(text: &str) -> usize {
    let lower = text.to_lowercase();
    let words = ["not", "no", "never", "without", "cannot"];
    let latin = lower.split(|c: char| !c.is_alphanumeric() && c != '\'');
    latin.filter(|word| words.contains(word) || word.ends_with("n't")).count()
        + lower.chars().filter(|c| matches!(c, '不' | '没' | '沒' | '无' | '別' | '别')).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mention(description: &str, impact: i8, readability: f32) -> Mention<'_> {
        Mention {
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
        assert!(!says_the_same(&a, &b, 1.0));
        let (a, b) = (mention("用户喜欢猫", 2, 0.9), mention("用户讨厌狗", 2, 0.9));
        assert!(!says_the_same(&a, &b, 1.0), "different words, whatever the vectors say");
    }

    #[test]
    fn the_same_words_merge_and_a_number_a_negation_or_a_sign_keeps_them_apart() {
        let base = mention("The user ran 5 km along the river", 3, 1.0);
        assert!(says_the_same(&base, &mention("The user ran 5 km along the river", 2, 1.0), 0.99));
        assert!(!says_the_same(&base, &mention("The user ran 10 km along the river", 3, 1.0), 0.99));
        assert!(!says_the_same(&base, &mention("The user never ran 5 km along the river", 3, 1.0), 0.99));
        assert!(!says_the_same(&base, &mention("The user ran 5 km along the river", -3, 1.0), 0.99));
        assert!(!says_the_same(&base, &base.clone(), 0.91));
    }

    #[test]
    fn entities_decide() {
        let mut other = mention("The user met a friend", 3, 1.0);
        other.entities.insert(EntityId(uuid::Uuid::nil()));
        assert!(!says_the_same(&mention("The user met a friend", 3, 1.0), &other, 0.99));
    }
}
