//! What an act of forgetting has found so far that must go.

use std::collections::{BTreeMap, BTreeSet};

use memory::forget::ForgetMode;
use memory::identifiers::{MessageId, NodeId};
use memory::nodes::NodeKind;
use memory::text;
use rusqlite::{Connection, OptionalExtension, Result};
use uuid::Uuid;

use crate::rows;

/// The 16 bytes of an id.
pub(super) type RowKey = [u8; 16];

/// A message that goes.
pub(super) struct RemovedMessage {
    pub(super) id: MessageId,
    pub(super) session: RowKey,
    pub(super) turn: Option<RowKey>,
    pub(super) content: String,
    pub(super) terms: String,
}

/// A node that goes.
pub(super) struct RemovedNode {
    pub(super) id: NodeId,
    pub(super) kind: NodeKind,
    pub(super) session: Option<RowKey>,
    pub(super) description: String,
    pub(super) terms: String,
}

/// A node that stays and says less.
pub(super) struct Rewritten {
    pub(super) id: NodeId,
    pub(super) before: String,
    pub(super) terms_before: String,
    pub(super) after: String,
    pub(super) terms_after: String,
}

/// All of it, by the rows' numbers.
pub(super) struct RemovalSet {
    pub(super) scope: i64,
    pub(super) thoughts: ForgetMode,
    /// Folded.
    pub(super) text: Option<String>,
    pub(super) messages: BTreeMap<i64, RemovedMessage>,
    pub(super) nodes: BTreeMap<i64, RemovedNode>,
    pub(super) rewritten: BTreeMap<i64, Rewritten>,
    /// Nodes that stay and lose something that they rested on: (their number, kind of what is gone, its id).
    pub(super) unsupported: BTreeSet<(i64, &'static str, RowKey)>,
    /// Entities that were pointed at.
    pub(super) entities: BTreeSet<RowKey>,
    /// Repeated mentions, by their number.
    pub(super) mentions: BTreeSet<i64>,
    /// Nodes that stay and were said less often than before.
    pub(super) said_less: BTreeSet<i64>,
    /// Refused memories.
    pub(super) rejected: BTreeSet<RowKey>,
}

impl RemovalSet {
    pub(super) fn new(scope: i64, thoughts: ForgetMode, text: Option<String>) -> Self {
        Self {
            scope,
            thoughts,
            text,
            messages: BTreeMap::new(),
            nodes: BTreeMap::new(),
            rewritten: BTreeMap::new(),
            unsupported: BTreeSet::new(),
            entities: BTreeSet::new(),
            mentions: BTreeSet::new(),
            said_less: BTreeSet::new(),
            rejected: BTreeSet::new(),
        }
    }

    /// Whether the text to be forgotten stands in this one.
    pub(super) fn is_in(&self, text: &str) -> bool {
        self.text.as_ref().is_some_and(|wanted| text::fold(text).contains(wanted))
    }

    /// Sessions that lose messages.
    pub(super) fn sessions(&self) -> BTreeSet<RowKey> {
        self.messages.values().map(|message| message.session).collect()
    }

    pub(super) fn add_message(&mut self, connection: &Connection, seq: i64) -> Result<()> {
        if self.messages.contains_key(&seq) {
            return Ok(());
        }
        let found = connection
            .prepare_cached(
                "SELECT id, session_id, turn_id, content, terms FROM recall_messages WHERE seq = ?1 AND scope = ?2",
            )?
            .query_row([seq, self.scope], |row| {
                Ok(RemovedMessage {
                    id: MessageId(rows::uuid(row, 0)?),
                    session: row.get(1)?,
                    turn: row.get(2)?,
                    content: row.get(3)?,
                    terms: row.get(4)?,
                })
            })
            .optional()?;
        self.messages.extend(found.map(|message| (seq, message)));
        Ok(())
    }

    /// Says whether the node was not going before.
    pub(super) fn add_node(&mut self, connection: &Connection, seq: i64) -> Result<bool> {
        if self.nodes.contains_key(&seq) {
            return Ok(false);
        }
        let found = connection
            .prepare_cached(
                "SELECT id, type, source_session_id, description, terms FROM concept_nodes
                 WHERE seq = ?1 AND scope = ?2",
            )?
            .query_row([seq, self.scope], |row| {
                Ok(RemovedNode {
                    id: NodeId(rows::uuid(row, 0)?),
                    kind: rows::read_enum(row, 1)?,
                    session: row.get(2)?,
                    description: row.get(3)?,
                    terms: row.get(4)?,
                })
            })
            .optional()?;
        let is_new = found.is_some();
        self.nodes.extend(found.map(|node| (seq, node)));
        self.rewritten.remove(&seq);
        Ok(is_new)
    }
}

pub(super) fn uuid(key: RowKey) -> Uuid {
    Uuid::from_bytes(key)
}
