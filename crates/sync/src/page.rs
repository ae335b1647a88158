//! What travels between two peers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::actor::{Actor, VersionVector};
use crate::log::{Head, LogEntry};
use crate::row::{RowKey, RowState};

/// Most changes in one page.
pub const PAGE_ENTRIES_MAX: usize = 2_000;
/// Most bytes of a page before compression.
pub const PAGE_BYTES_MAX: usize = 8 * 1024 * 1024;

/// A row with its scope by names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PageRow {
    /// Which row.
    #[serde(flatten)]
    pub key: RowKey,
    /// The persona that it belongs to; `None` for a user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persona: Option<String>,
    /// The user that it belongs to; `None` for what belongs to the persona alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Its values.
    pub state: RowState,
}

/// Changes in an order that respects each actor's own, and the rows as they are now.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Page {
    /// The changes.
    pub entries: Vec<LogEntry>,
    /// Each changed row once. A row that was removed since is not in it.
    pub rows: Vec<PageRow>,
    /// Whether more is waiting.
    pub more: bool,
}

/// Why a page is refused. Nothing of it is kept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    /// A page larger than a peer may send.
    #[error("the page holds more than {PAGE_ENTRIES_MAX} changes")]
    TooLarge,
    /// Changes are missing before one of the page.
    #[error("the changes of {actor} do not continue after {after}: the next one is {found}")]
    Gap {
        /// Whose changes.
        actor: Actor,
        /// The last one that is known.
        after: u64,
        /// The one that came.
        found: u64,
    },
    /// A row with a change that is in no log.
    #[error("row {0} holds a change with an impossible number")]
    Implausible(String),
    /// A change of the receiving home that the home never made.
    #[error("the page holds change {0} of this home, which has not made it")]
    Forged(u64),
    /// A row that none of the changes names.
    #[error("row {0} belongs to none of the changes")]
    Foreign(String),
}

impl Page {
    /// Checks that the page continues after what is known of each actor and that its rows belong to its changes.
    /// Changes that are known already are passed over. `own` is who receives: nobody else makes changes in its name.
    ///
    /// # Errors
    /// [`PageError`] for the first thing that is wrong.
    pub fn check(&self, known: &VersionVector, own: Option<&Actor>) -> Result<(), PageError> {
        if self.entries.len() > PAGE_ENTRIES_MAX || self.rows.len() > PAGE_ENTRIES_MAX {
            return Err(PageError::TooLarge);
        }
        let mut reached = known.clone();
        let mut rows = std::collections::BTreeSet::new();
        for entry in &self.entries {
            check_own(&entry.actor, entry.index, known, own)?;
            let after = reached.of(&entry.actor);
            if entry.index > after + 1 || entry.index == 0 {
                return Err(PageError::Gap { actor: entry.actor.clone(), after, found: entry.index });
            }
            reached.raise(&entry.actor, entry.index);
            rows.insert(&entry.row);
        }
        for row in &self.rows {
            if !row.state.vector.is_plausible() {
                return Err(PageError::Implausible(row.key.id.clone()));
            }
            let stamps = row.state.fields.values().map(|field| (&field.stamp.actor, field.stamp.index));
            for (actor, index) in row.state.vector.iter().chain(stamps) {
                check_own(actor, index, known, own)?;
            }
            if !rows.contains(&row.key) {
                return Err(PageError::Foreign(row.key.id.clone()));
            }
        }
        Ok(())
    }
}

/// A number beyond this home's own would pass for later than every change that it will make.
fn check_own(actor: &Actor, index: u64, known: &VersionVector, own: Option<&Actor>) -> Result<(), PageError> {
    match own {
        Some(own) if own == actor && !known.has_seen(own, index) => Err(PageError::Forged(index)),
        _ => Ok(()),
    }
}

/// What one peer asks of the other: here is what I have and a page that you lack; send me what I lack.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExchangeRequest {
    /// The asking home.
    pub actor: Actor,
    /// What it has of each actor.
    pub heads: BTreeMap<Actor, Head>,
    /// Changes for the other side; empty while the asking side still receives.
    #[serde(default)]
    pub page: Page,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExchangeResponse {
    /// The answering home.
    pub actor: Actor,
    /// What it has of each actor, after it has taken the page.
    pub heads: BTreeMap<Actor, Head>,
    /// Erasures of others that it has received and not finished.
    pub waiting_erasures: u64,
    /// Changes for the asking side.
    #[serde(default)]
    pub page: Page,
}
