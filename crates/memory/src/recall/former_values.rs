//! Former values, found in texts by their words.

use std::collections::{BTreeSet, HashMap, HashSet};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::corrections::{ReplacedValue, WordKey};
use crate::entities::fold_name;
use crate::identifiers::NodeId;

/// A former value, with the sentence that states it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FormerValue {
    /// The memory that stated the former value.
    pub node_id: NodeId,
    /// The replaced text or value.
    pub text: String,
    /// Time at which the value was written.
    pub since: Timestamp,
    /// Time at which the value was replaced.
    pub until: Timestamp,
    /// The memory that is current instead.
    pub current: NodeId,
    /// Text of the memory that is current.
    pub current_text: String,
    /// The text by which a reader recognises the current value.
    #[serde(default)]
    pub now: String,
    /// True if the value was never right; otherwise it was right until then.
    pub mistaken: bool,
}

impl From<&ReplacedValue> for FormerValue {
    fn from(value: &ReplacedValue) -> Self {
        Self {
            node_id: value.node,
            text: value.text.clone(),
            since: value.since,
            until: value.until,
            current: value.current,
            current_text: value.current_text.clone(),
            now: value.current_text.clone(),
            mistaken: value.mistaken,
        }
    }
}

/// Former values, the latest change first.
#[derive(Clone, Debug, Default)]
pub(super) struct FormerValues {
    values: Vec<ReplacedValue>,
    /// Indexes of the values that a text with this key may state.
    by_key: HashMap<WordKey, Vec<usize>>,
    /// Indexes of the values without a key, which are searched in every text.
    without_key: Vec<usize>,
}

impl FormerValues {
    pub(super) fn new(mut values: Vec<ReplacedValue>) -> Self {
        values.sort_by_key(|value| std::cmp::Reverse(value.until));
        let mut found = Self { values, ..Self::default() };
        for (place, value) in found.values.iter().enumerate() {
            for key in value.words.word_keys() {
                match key {
                    Some(key) => found.by_key.entry(key).or_default().push(place),
                    None => found.without_key.push(place),
                }
            }
        }
        found
    }

    /// Adds values that are not in the list yet.
    pub(super) fn add(&mut self, values: Vec<ReplacedValue>) {
        let known: HashSet<_> =
            self.values.iter().map(|value| (value.node, value.until, value.text.as_str())).collect();
        let mut fresh = values;
        fresh.retain(|value| !known.contains(&(value.node, value.until, value.text.as_str())));
        if !fresh.is_empty() {
            *self = Self::new(std::mem::take(&mut self.values).into_iter().chain(fresh).collect());
        }
    }

    pub(super) fn value_of_node(&self, node: NodeId) -> Option<&ReplacedValue> {
        self.values.iter().find(|value| value.node == node)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &ReplacedValue> {
        self.values.iter()
    }

    /// Former values that the text states.
    pub(super) fn values_in_text<'a, 'text>(
        &'a self,
        text: &'text str,
    ) -> impl Iterator<Item = &'a ReplacedValue> + use<'a, 'text> {
        let folded = if self.values.is_empty() { String::new() } else { fold_name(text) };
        let keys = WordKey::keys_in_text(&folded);
        let found = keys.iter().filter_map(|key| self.by_key.get(key)).flatten();
        let places: BTreeSet<usize> = found.chain(&self.without_key).copied().collect();
        let values = places.into_iter().map(|place| &self.values[place]);
        values.filter(move |value| value.is_stated_in_folded(text, &folded))
    }
}
