//! The log of changes: who changed which row when, without what it says.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::actor::Actor;
use crate::hybrid_time::HybridTime;
use crate::row::RowKey;

/// One change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogEntry {
    /// Who made it.
    pub actor: Actor,
    /// Its number among the actor's, from 1, without gaps.
    pub index: u64,
    /// When.
    pub time: HybridTime,
    /// Which row it changed.
    pub row: RowKey,
}

impl LogEntry {
    /// What tells two changes of one number apart: 32 hexadecimal digits.
    pub fn digest(&self) -> String {
        let text = format!(
            "{} {} {} {} {}",
            self.actor,
            self.index,
            self.time.0,
            self.row.kind.as_str(),
            self.row.id
        );
        let mut digest = hex::encode(Sha256::digest(text.as_bytes()));
        digest.truncate(32);
        digest
    }
}

/// The last change that is known of an actor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Its number.
    pub index: u64,
    /// [`LogEntry::digest`] of it.
    pub digest: String,
}

/// Actors of which two homes hold different changes under one number: one of two homes is a copy. `digest_at` gives our
/// digest of a change, `None` where we have none of this number.
pub fn disputed_actors(
    theirs: &BTreeMap<Actor, Head>,
    digest_at: impl Fn(&Actor, u64) -> Option<String>,
) -> BTreeSet<Actor> {
    theirs
        .iter()
        .filter(|(actor, head)| digest_at(actor, head.index).is_some_and(|ours| ours != head.digest))
        .map(|(actor, _)| actor.clone())
        .collect()
}
