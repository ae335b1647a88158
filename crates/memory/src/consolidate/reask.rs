//! The answer to the question that names what did not hold: what it mends, what it adds, what stays lost.

use super::evidence::CheckedEvent;
use super::merge::shared_words;
use crate::ports::Extraction;

/// Share of the content words, of both together, from which two descriptions are of the same event. A model that is asked again
/// uses other words, so this is below the share for merging.
const RETOLD_WORDS_MIN: f64 = 0.5;

/// Takes what the second answer brought: new events that hold, and of those that failed before, what holds at least
/// in part. Gives back what is lost: each event that failed once and that no accepted one tells.
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

/// Adds to the first answer what only the second one has.
pub(super) fn merge_second_answer(answer: &mut Extraction, second: Extraction) {
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

/// True if two events are the same: by their words, by their quotes, or nearly so.
fn is_same_event(a: &CheckedEvent, b: &CheckedEvent) -> bool {
    let quotes = |checked: &CheckedEvent| -> Vec<String> {
        checked.event.evidence.iter().map(|proposed| proposed.quote.trim().to_owned()).collect()
    };
    is_of_same_event(a, b)
        || quotes(a).iter().any(|quote| quotes(b).contains(quote))
        || shared_words(&a.event.description, &b.event.description) >= RETOLD_WORDS_MIN
}
