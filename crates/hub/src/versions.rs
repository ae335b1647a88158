//! Rules for versions of one document: which one replaces another, which are concurrent, and which is shown.

use std::cmp::Ordering;

use jiff::Timestamp;

use crate::documents::{Version, seen_by_versions};
use crate::names::InstanceId;
use crate::version_vector::VersionVector;

/// The author name of automatic roll-ups.
pub const ROLL_UP_EDITOR: &str = "rollup";

/// The result of merging a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeOutcome {
    /// Everything that the version includes was known before: nothing changes.
    AlreadySeen,
    /// The version replaces every live version.
    Replaced,
    /// The version is stored beside others; neither includes the other.
    Concurrent,
}

/// Adds a version to the live ones, and drops those that it includes. The results are pairwise concurrent, and do not
/// depend on the order or repetition of merges.
pub fn merge_version(
    heads: Vec<Version>,
    incoming: Version,
    priority: &[InstanceId],
) -> (Vec<Version>, MergeOutcome) {
    if !heads.is_empty() && seen_by_versions(&heads).covers(&incoming.vector) {
        return (sort_for_display(heads, priority), MergeOutcome::AlreadySeen);
    }
    let mut heads: Vec<Version> =
        heads.into_iter().filter(|head| !incoming.vector.covers(&head.vector)).collect();
    let meeting = if heads.is_empty() { MergeOutcome::Replaced } else { MergeOutcome::Concurrent };
    heads.push(incoming);
    (sort_for_display(heads, priority), meeting)
}

/// Sorts live versions, the one to show first: a deletion before a text, so that nothing reappears by itself; then
/// texts of people or clients before automatic roll-ups; then the later one; then by the priority of instances; then
/// by id; at last by the text, so that no two are equal.
pub fn sort_for_display(mut heads: Vec<Version>, priority: &[InstanceId]) -> Vec<Version> {
    heads.sort_by(|one, other| compare_versions(one, other, priority));
    heads
}

fn compare_versions(one: &Version, other: &Version, priority: &[InstanceId]) -> Ordering {
    let rank = |version: &Version| {
        priority.iter().position(|instance| *instance == version.author).unwrap_or(priority.len())
    };
    let is_automatic = |version: &Version| version.edited_by == ROLL_UP_EDITOR;
    one.content
        .is_some()
        .cmp(&other.content.is_some())
        .then_with(|| is_automatic(one).cmp(&is_automatic(other)))
        .then_with(|| other.written_at.cmp(&one.written_at))
        .then_with(|| rank(one).cmp(&rank(other)))
        .then_with(|| one.author.cmp(&other.author))
        .then_with(|| one.content.cmp(&other.content))
}

/// The time of a new version: the present, but later than all that it includes (a hybrid logical clock).
pub fn written_at(now: Timestamp, seen: &[Version]) -> Timestamp {
    let latest = seen.iter().map(|version| version.written_at).max();
    match latest {
        Some(latest) if latest >= now => {
            latest.checked_add(jiff::SignedDuration::from_micros(1)).unwrap_or(latest)
        }
        _ => now,
    }
}

/// Version vector of a client that received the shown version: it includes that version, and every other one with the
/// same text.
pub fn vector_of_shown(heads: &[Version]) -> VersionVector {
    let mut vector = VersionVector::default();
    let shown = heads.first().map(|head| &head.content);
    for head in heads.iter().filter(|head| Some(&head.content) == shown) {
        vector.join(&head.vector);
    }
    vector
}

/// True if the live versions have different texts.
pub fn have_different_content(heads: &[Version]) -> bool {
    heads.windows(2).any(|pair| pair[0].content != pair[1].content)
}
