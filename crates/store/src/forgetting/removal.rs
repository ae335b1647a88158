//! The set of everything that one removal has found so far.

use std::collections::{BTreeMap, BTreeSet};

use memory::forget::{LossReason, ThoughtPolicy};
use memory::identifiers::{MessageId, NodeId};
use memory::nodes::NodeKind;
use memory::text;
use uuid::Uuid;

use crate::engine::sql::{Connection, OptionalExtension, Result, params};
use crate::rows;

/// The 16 bytes of an id.
pub(super) type RowKey = [u8; 16];

/// A message that is deleted.
pub(super) struct RemovedMessage {
    pub(super) id: MessageId,
    pub(super) session: RowKey,
    pub(super) turn: Option<RowKey>,
    pub(super) content: String,
    pub(super) terms: String,
}

/// A removed node: deleted if it was forgotten, else marked.
pub(super) struct RemovedNode {
    pub(super) id: NodeId,
    pub(super) kind: NodeKind,
    pub(super) session: Option<RowKey>,
    pub(super) description: String,
    pub(super) terms: String,
}

/// A message that stays and is no longer evidence.
pub(super) struct ChangedMessage {
    pub(super) id: MessageId,
    pub(super) session: RowKey,
    /// Index terms before the edit; `None` if the text has not changed and was only withdrawn as evidence.
    pub(super) terms_before: Option<String>,
}

/// A node that stays with a reduced text.
pub(super) struct RewrittenNode {
    pub(super) id: NodeId,
    pub(super) before: String,
    pub(super) terms_before: String,
    pub(super) after: String,
    pub(super) terms_after: String,
}

/// All rows to remove, by number.
pub(super) struct RemovalSet {
    pub(super) scope: i64,
    /// `Forgotten` deletes nodes and leaves tombstones; `Edited` marks nodes.
    pub(super) reason: LossReason,
    pub(super) thoughts: ThoughtPolicy,
    /// Sessions that are extracted again, after an edit.
    pub(super) again: BTreeSet<RowKey>,
    pub(super) text: Option<String>,
    pub(super) documents: BTreeSet<String>,
    /// True to silence the evidence of forgotten nodes.
    pub(super) silences: bool,
    /// True to leave documents alone that all users share.
    pub(super) spares_shared: bool,
    /// True to count rows without removing them. Messages, memories, receipts and traces are then only read. The few
    /// rows of names, of the graph and of documents are written and rolled back, since only their removal shows which
    /// of them are affected.
    pub(super) is_preview: bool,
    pub(super) messages: BTreeMap<i64, RemovedMessage>,
    pub(super) changed: BTreeMap<i64, ChangedMessage>,
    pub(super) nodes: BTreeMap<i64, RemovedNode>,
    pub(super) rewritten: BTreeMap<i64, RewrittenNode>,
    /// Remaining nodes that lose support: number of the node, kind of the support (`message` or `node`), its id.
    pub(super) unsupported: BTreeSet<(i64, &'static str, RowKey)>,
    pub(super) entities: BTreeSet<RowKey>,
    /// Repeated mentions, by number.
    pub(super) mentions: BTreeSet<i64>,
    /// Remaining nodes with fewer mentions than before.
    pub(super) said_less: BTreeSet<i64>,
    pub(super) rejected: BTreeSet<RowKey>,
}

impl RemovalSet {
    pub(super) fn new(scope: i64, reason: LossReason, thoughts: ThoughtPolicy) -> Self {
        Self {
            scope,
            reason,
            thoughts,
            again: BTreeSet::new(),
            text: None,
            documents: BTreeSet::new(),
            silences: false,
            spares_shared: false,
            is_preview: false,
            messages: BTreeMap::new(),
            changed: BTreeMap::new(),
            nodes: BTreeMap::new(),
            rewritten: BTreeMap::new(),
            unsupported: BTreeSet::new(),
            entities: BTreeSet::new(),
            mentions: BTreeSet::new(),
            said_less: BTreeSet::new(),
            rejected: BTreeSet::new(),
        }
    }

    /// True if this text contains the text to be forgotten.
    pub(super) fn is_part_of(&self, text: &str) -> bool {
        self.text.as_ref().is_some_and(|wanted| text::fold(text).contains(wanted))
    }

    pub(super) fn is_forgotten(&self) -> bool {
        self.reason == LossReason::Forgotten
    }

    /// True if a node is removed or rewritten.
    pub(super) fn changes_nodes(&self) -> bool {
        !self.nodes.is_empty() || !self.rewritten.is_empty()
    }

    /// Sessions that lose messages or words.
    pub(super) fn sessions(&self) -> BTreeSet<RowKey> {
        let changed = self.changed.values().map(|message| message.session);
        self.messages.values().map(|message| message.session).chain(changed).collect()
    }

    /// Messages that are no longer evidence, by number.
    pub(super) fn messages_removed_as_evidence(&self) -> BTreeMap<i64, MessageId> {
        let changed = self.changed.iter().map(|(seq, message)| (*seq, message.id));
        self.messages.iter().map(|(seq, message)| (*seq, message.id)).chain(changed).collect()
    }

    pub(super) fn lost_message(&self, seq: i64) -> Option<MessageId> {
        let changed = || self.changed.get(&seq).map(|message| message.id);
        self.messages.get(&seq).map(|message| message.id).or_else(changed)
    }

    /// Index terms of an edited message before the edit.
    pub(super) fn terms_before(&self, seq: i64) -> Option<&str> {
        self.changed.get(&seq).and_then(|message| message.terms_before.as_deref())
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
                    id: MessageId(rows::read_uuid(row, 0)?),
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

    /// Adds a node; true if it was not in the set.
    pub(super) fn add_node(&mut self, connection: &Connection, seq: i64) -> Result<bool> {
        if self.nodes.contains_key(&seq) {
            return Ok(false);
        }
        let found = connection
            .prepare_cached(
                "SELECT id, type, source_session_id, description, terms FROM concept_nodes
                 WHERE seq = ?1 AND scope = ?2 AND (?3 OR deleted_at IS NULL)",
            )?
            .query_row(params![seq, self.scope, self.is_forgotten()], |row| {
                Ok(RemovedNode {
                    id: NodeId(rows::read_uuid(row, 0)?),
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

pub(super) fn uuid_of_key(key: RowKey) -> Uuid {
    Uuid::from_bytes(key)
}
