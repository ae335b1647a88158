//! Version vectors: the changes that a version includes.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::names::InstanceId;

/// Maximum counter: clients in JavaScript count exactly up to it.
pub const COUNTER_MAX: u64 = 1 << 53;
/// Maximum step of a pushed counter beyond the last known one of its author. An instance that was offline for years
/// stays below it; without this limit a single push could use up all remaining counters.
pub const COUNTER_STEP_MAX: u64 = 1_000_000;

/// For each author, the highest counter that a version includes; a missing author counts as 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct VersionVector(BTreeMap<InstanceId, u64>);

impl JsonSchema for VersionVector {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "VersionVector".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "object", "additionalProperties": {"type": "integer", "minimum": 1}})
    }

    fn inline_schema() -> bool {
        true
    }
}

impl VersionVector {
    /// The author's counter; 0 if it is missing.
    pub fn get(&self, author: &InstanceId) -> u64 {
        self.0.get(author).copied().unwrap_or(0)
    }

    /// True if no change is included.
    pub fn is_empty(&self) -> bool {
        self.0.values().all(|counter| *counter == 0)
    }

    /// Returns the vector with one more change included.
    pub fn with_change(mut self, author: &InstanceId, counter: u64) -> Self {
        self.note_seen(author, counter);
        self
    }

    /// Adds a change; one older than the newest of its author has no effect.
    pub fn note_seen(&mut self, author: &InstanceId, counter: u64) {
        if counter > self.get(author) {
            self.0.insert(author.clone(), counter);
        }
    }

    /// Adds the changes that the other vector includes.
    pub fn join(&mut self, other: &Self) {
        for (author, counter) in &other.0 {
            self.note_seen(author, *counter);
        }
    }

    /// Lowers an author's counter to at most this value.
    pub(crate) fn lower_counter(&mut self, author: &InstanceId, counter: u64) {
        if counter == 0 {
            self.0.remove(author);
        } else if let Some(seen) = self.0.get_mut(author) {
            *seen = (*seen).min(counter);
        }
    }

    /// True if this vector includes all changes of the other.
    pub fn covers(&self, other: &Self) -> bool {
        other.0.iter().all(|(author, counter)| self.get(author) >= *counter)
    }

    /// This vector with each counter limited to the other's, except for the `excepted` authors.
    pub fn capped_by(&self, other: &Self, excepted: impl Fn(&InstanceId) -> bool) -> Self {
        let limited = self.iter().map(|(name, counter)| {
            let counter = if excepted(name) { counter } else { counter.min(other.get(name)) };
            (name.clone(), counter)
        });
        Self(limited.filter(|(_, counter)| *counter > 0).collect())
    }

    /// The authors with a higher counter here than in the other, each with the counter here.
    pub fn authors_ahead_of<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = (&'a InstanceId, u64)> {
        self.iter().filter(|(author, counter)| *counter > other.get(author))
    }

    /// This vector with only these authors.
    pub fn filter_authors(&self, is_wanted: impl Fn(&InstanceId) -> bool) -> Self {
        Self(
            self.0.iter().filter(|(name, _)| is_wanted(name)).map(|(name, at)| (name.clone(), *at)).collect(),
        )
    }

    /// Returns the vector without one author's counter.
    pub fn without_author(&self, author: &InstanceId) -> Self {
        Self(
            self.0.iter().filter(|(name, _)| *name != author).map(|(name, at)| (name.clone(), *at)).collect(),
        )
    }

    /// Each author with its counter.
    pub fn iter(&self) -> impl Iterator<Item = (&InstanceId, u64)> {
        self.0.iter().map(|(author, counter)| (author, *counter))
    }
}

impl PartialOrd for VersionVector {
    /// Returns `None` for concurrent vectors.
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (self.covers(other), other.covers(self)) {
            (true, true) => Some(Ordering::Equal),
            (true, false) => Some(Ordering::Greater),
            (false, true) => Some(Ordering::Less),
            (false, false) => None,
        }
    }
}
