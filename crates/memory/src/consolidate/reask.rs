//! The second answer of extraction, about the events that failed: what it corrects, what it adds, and what is lost.

use super::evidence::CheckedEvent;
use super::merge::shared_words;
use crate::ports::Extraction;

/// Minimum share of the content words of both texts that two descriptions of one event have in common. A model that
/// is asked again uses other words, so this is lower than for merging.
const RETOLD_WORDS_MIN: f64 = 0.5;

/// Merges the second answer: valid new events, and valid parts of those that failed before. Returns the lost ones:
/// events that failed once and that no accepted one describes.
pub(super) fn merge_answers(
    accepted: &mut Vec<CheckedEvent>,
    failed: Vec<CheckedEvent>,
    second: Vec<CheckedEvent>,
) -> Vec<CheckedEvent> {
    let (mut fresh, broken): (Vec<_>, Vec<_>) =
        second.into_iter().partition(|checked| !checked.evidence.is_empty());
    fresh.retain(|checked| {
        !accepted.iter().any(|other| is_of_same_event(other, checked) || other.evidence == checked.evidence)
    });
    let mut mended = vec![false; fresh.len()];
    let mut lost: Vec<CheckedEvent> = Vec::new();
    for checked in failed {
        let by = (0..fresh.len()).find(|&index| !mended[index] && is_same_event(&fresh[index], &checked));
        match by {
            Some(index) => mended[index] = true,
            None if checked.evidence.is_empty() => lost.push(checked),
            None => accepted.push(checked),
        }
    }
    accepted.append(&mut fresh);
    for checked in broken {
        if !accepted.iter().chain(&lost).any(|other| is_of_same_event(other, &checked)) {
            lost.push(checked);
        }
    }
    lost
}

/// Adds items to the first answer that only the second one has.
pub(super) fn add_second_answer(answer: &mut Extraction, second: Extraction) {
    for refused in second.refused {
        if !answer.refused.iter().any(|known| known.description == refused.description) {
            answer.refused.push(refused);
        }
    }
    answer.mentioned_entities.extend(second.mentioned_entities);
    answer.mood = answer.mood.take().or(second.mood);
    answer.summary = answer.summary.take().or(second.summary);
    if answer.self_check_notes.is_empty() {
        answer.self_check_notes = second.self_check_notes;
    }
}

fn is_of_same_event(a: &CheckedEvent, b: &CheckedEvent) -> bool {
    a.event.description == b.event.description
}

/// True if two events are the same, by their words or by their quotes.
fn is_same_event(a: &CheckedEvent, b: &CheckedEvent) -> bool {
    let quotes = |checked: &CheckedEvent| -> Vec<String> {
        checked.event.evidence.iter().map(|proposed| proposed.quote.trim().to_owned()).collect()
    };
    is_of_same_event(a, b)
        || quotes(a).iter().any(|quote| quotes(b).contains(quote))
        || shared_words(&a.event.description, &b.event.description) >= RETOLD_WORDS_MIN
}
