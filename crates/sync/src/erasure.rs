//! Erasure wins over everything: it is asked before any merge.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::row::{Kind, RowKey, RowState};

/// Fields whose value is the id of another row.
const SINGLE_REFERENCES: [(&str, Kind); 4] = [
    ("session", Kind::Session),
    ("superseded_by", Kind::Node),
    ("merged_into", Kind::Entity),
    ("merge_target", Kind::Entity),
];

/// Rows that were removed, by their keys. It only grows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Erasures(BTreeSet<RowKey>);

impl Erasures {
    /// Notes a marker's row.
    pub fn add(&mut self, row: RowKey) {
        self.0.insert(row);
    }

    /// Whether the row was removed.
    pub fn names(&self, kind: Kind, id: &str) -> bool {
        self.0.contains(&RowKey { kind, id: id.to_owned() })
    }

    /// Rows that [`Erasures::admit`] asks about for this row: itself and those that it refers to.
    pub fn candidates(key: &RowKey, state: &RowState) -> BTreeSet<RowKey> {
        let mut rows: BTreeSet<RowKey> = state
            .fields
            .keys()
            .filter_map(|name| referred(name))
            .map(|(kind, id)| RowKey { kind, id: id.to_owned() })
            .collect();
        for (name, kind) in SINGLE_REFERENCES {
            if let Some(id) = state.fields.get(name).and_then(|field| field.value.as_str()) {
                rows.insert(RowKey { kind, id: id.to_owned() });
            }
        }
        rows.insert(key.clone());
        rows
    }

    /// What may be kept of an arriving row: nothing if it was removed or if all that it depended on was; else the row
    /// without the parts that refer to removed rows.
    pub fn admit(&self, key: &RowKey, mut state: RowState) -> Option<RowState> {
        if self.0.contains(key) {
            return None;
        }
        let session = state.fields.get("session").and_then(|field| field.value.as_str());
        let is_of_erased_session = session.is_some_and(|id| self.names(Kind::Session, id));
        if matches!(key.kind, Kind::Message | Kind::Mood) && is_of_erased_session {
            return None;
        }
        let before = supports(&state);
        state.fields.retain(|name, _| referred(name).is_none_or(|(kind, id)| !self.names(kind, id)));
        let after = supports(&state);
        if key.kind == Kind::Node && after < before {
            if after == 0 {
                return None;
            }
            say_only_what_is_quoted(&mut state);
        }
        for (name, kind) in SINGLE_REFERENCES {
            if let Some(field) = state.fields.get_mut(name)
                && field.value.as_str().is_some_and(|id| self.names(kind, id))
            {
                field.value = Value::Null;
            }
        }
        Some(state)
    }
}

/// The row that an element of a set refers to: `evidence/MESSAGE/START/END`, `cites/NODE`, `about/ENTITY`.
fn referred(field: &str) -> Option<(Kind, &str)> {
    let mut parts = field.split('/');
    let kind = match parts.next()? {
        "evidence" => Kind::Message,
        "cites" => Kind::Node,
        "about" => Kind::Entity,
        _ => return None,
    };
    Some((kind, parts.next()?))
}

fn supports(state: &RowState) -> usize {
    let is_support = |name: &str| name.starts_with("evidence/") || name.starts_with("cites/");
    state.fields.iter().filter(|(name, field)| is_support(name) && !field.value.is_null()).count()
}

/// The text of a node that lost a quote may hold words of it: what is left is what the other quotes say.
fn say_only_what_is_quoted(state: &mut RowState) {
    let quotes: Vec<&str> = state
        .fields
        .iter()
        .filter(|(name, _)| name.starts_with("evidence/"))
        .filter_map(|(_, field)| field.value.as_str())
        .collect();
    let text = quotes.join(" ");
    if let Some(description) = state.fields.get_mut("description")
        && !text.is_empty()
    {
        description.value = Value::String(text);
    }
    state.fields.retain(|name, _| !name.starts_with("change/"));
}
