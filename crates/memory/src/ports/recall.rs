//! What recall asks on its way, many questions in one read. A storage that can't join them answers with the single ones.

use async_trait::async_trait;
use jiff::Timestamp;
use memchr::memmem::Finder;

use crate::identifiers::{EntityId, NodeId};
use crate::messages::Message;
use crate::nodes::{EventTime, Node, NodeKind, Subject};
use crate::ports::StoreError;
use crate::scope::Scope;
use crate::text::Phrase;

/// Selects nodes of one kind by the person that they are about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeQuery {
    pub kind: NodeKind,
    pub subjects: Vec<Subject>,
    /// Maximum number of rows.
    pub limit: u32,
}

/// The fields of a node by which recall decides whether to read the rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NodeOutline {
    pub seq: i64,
    /// True if a person wants it always shown.
    pub pinned: bool,
    /// From −10 to +10.
    pub emotional_impact: i8,
    pub event_time: Option<EventTime>,
    /// Time at which the node was written.
    pub created_at: Timestamp,
}

impl From<&Node> for NodeOutline {
    fn from(node: &Node) -> Self {
        Self {
            seq: node.seq,
            pinned: node.pinned,
            emotional_impact: node.emotional_impact,
            event_time: node.event_time,
            created_at: node.created_at,
        }
    }
}

/// Selects the rows of messages or those of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Corpus {
    Messages,
    /// L3 and L4 nodes.
    Nodes,
}

/// Counts of a scope's rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CorpusSize {
    pub documents: u64,
}

/// Occurrences of a phrase in the rows of a scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhraseHits {
    /// Rows of the scope that hold it, superseded ones included, deleted ones not. Counting stops at
    /// [`PhraseHits::FREQUENCY_MAX`]: beyond it a phrase tells next to nothing.
    pub document_frequency: u64,
    /// Numbers of the newest rows that hold it, newest first, at most the asked limit; or all of them.
    pub seqs: Vec<i64>,
}

impl PhraseHits {
    /// Number at which counting may stop.
    pub const FREQUENCY_MAX: u64 = 20_000;
}

/// Rows to be named by the word index: those that hold at least one phrase of each group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowSelection {
    /// The groups; none names no row.
    pub all_of: Vec<Vec<Phrase>>,
    /// First and last number that a row may have; `None` for any.
    pub span: Option<(i64, i64)>,
    /// Most rows, the newest.
    pub limit: u32,
}

/// Fields of a message that are known without reading its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageOutline {
    pub seq: i64,
    pub token_count: u32,
    /// Time at which the message was said.
    pub created_at: Timestamp,
}

/// Occurrences of phrases in a row, by which search ranks it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhraseCounts {
    pub seq: i64,
    /// One for each phrase that was asked for, in their order.
    pub counts: Vec<usize>,
    /// The kind of node; none for a message.
    pub kind: Option<NodeKind>,
}

/// Counts a phrase in index terms that are separated by blanks, without taking them apart.
#[derive(Clone, Debug)]
pub struct PhraseCounter(Finder<'static>);

impl PhraseCounter {
    pub fn new(phrase: &Phrase) -> Self {
        Self(Finder::new(&phrase.0.join(" ")).into_owned())
    }

    /// Number of places at which the phrase begins; whole terms only.
    pub fn count(&self, terms: &str) -> usize {
        let (phrase, terms) = (self.0.needle(), terms.as_bytes());
        if phrase.is_empty() {
            return 0;
        }
        let (mut count, mut from) = (0, 0);
        while let Some(at) = self.0.find(&terms[from..]) {
            let (start, end) = (from + at, from + at + phrase.len());
            let is_at_start = start == 0 || terms[start - 1] == b' ';
            let is_at_end = end == terms.len() || terms[end] == b' ';
            count += usize::from(is_at_start && is_at_end);
            // The phrase may begin again within itself.
            from = start + 1;
        }
        count
    }
}

/// A node with its index terms.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexedNode {
    pub node: Node,
    pub terms: String,
    /// Readability of its text; none without a vector.
    pub readability: Option<f32>,
}

/// A message with its index terms.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexedMessage {
    pub message: Message,
    pub terms: String,
    /// Readability of its text; none without a vector.
    pub readability: Option<f32>,
}

/// A thought depends on an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FillingEdge {
    /// The parent: thought, intention or expectation.
    pub thought_seq: i64,
    pub event_seq: i64,
    /// Time at which the edge was written.
    pub created_at: Timestamp,
}

/// Limits for following evidence edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeReach {
    /// Rounds: each follows the edges of what the one before has reached.
    pub rounds: u32,
    /// Nodes whose edges are followed in one round, those of the greatest numbers.
    pub nodes_max: usize,
    /// Most edges of one round.
    pub edges_max: u32,
}

/// Reads of recall and search, each in one snapshot, on the path of a turn; and the count of recalled nodes.
#[async_trait]
pub trait RecallStore: Send + Sync {
    /// Number of live rows the scope holds, and where each phrase is in it: one entry per phrase, in order, each with at
    /// most `limit` row numbers.
    async fn phrase_hits(
        &self,
        scope: &Scope,
        corpus: Corpus,
        phrases: &[Phrase],
        limit: u32,
    ) -> Result<(CorpusSize, Vec<PhraseHits>), StoreError>;
    /// The same, and all rows of a phrase with at most about `rows_named_at_once` of them, if the store finds these as quickly as the newest
    /// ones.
    async fn phrase_rows(
        &self,
        scope: &Scope,
        corpus: Corpus,
        phrases: &[Phrase],
        limit: u32,
        _all_up_to: u32,
    ) -> Result<(CorpusSize, Vec<PhraseHits>), StoreError> {
        self.phrase_hits(scope, corpus, phrases, limit).await
    }
    /// For each selection, the numbers of the rows of the scope that it names, newest first.
    async fn rows_holding(
        &self,
        scope: &Scope,
        corpus: Corpus,
        wanted: &[RowSelection],
    ) -> Result<Vec<Vec<i64>>, StoreError>;
    /// Counts phrases in rows of the scope by number, in no order: in live messages, or in live, current nodes.
    async fn phrase_counts(
        &self,
        scope: &Scope,
        corpus: Corpus,
        seqs: &[i64],
        phrases: &[Phrase],
    ) -> Result<Vec<PhraseCounts>, StoreError>;
    /// Numbers of the newest rows of the scope that hold the phrase, whose last term may be the beginning of a longer one; at
    /// most `limit`.
    async fn rows_beginning(
        &self,
        scope: &Scope,
        corpus: Corpus,
        phrase: &Phrase,
        limit: u32,
    ) -> Result<Vec<i64>, StoreError>;
    /// Numbers of those among the newest `rows` rows of the scope whose text, folded, holds this folded text.
    async fn rows_containing(
        &self,
        scope: &Scope,
        corpus: Corpus,
        folded: &str,
        rows: u32,
    ) -> Result<Vec<i64>, StoreError>;
    /// Outlines of live messages of the scope by number, in no order.
    async fn message_outlines(&self, scope: &Scope, seqs: &[i64]) -> Result<Vec<MessageOutline>, StoreError>;
    /// Numbers of the first and the last message that was said within the span; `None` where nothing was. A storage
    /// answers it at any length of the past alike.
    async fn message_span(
        &self,
        scope: &Scope,
        start: Timestamp,
        end: Timestamp,
    ) -> Result<Option<(i64, i64)>, StoreError>;
    /// Live, current (not superseded) nodes of the scope by number, in no order.
    async fn nodes_numbered(&self, scope: &Scope, seqs: &[i64]) -> Result<Vec<IndexedNode>, StoreError>;
    /// The newest live, current nodes of a kind about a subject, newest first; pinned ones are always among them.
    async fn nodes_about(
        &self,
        scope: &Scope,
        kind: NodeKind,
        subjects: &[Subject],
        limit: u32,
    ) -> Result<Vec<Node>, StoreError>;
    /// The nodes of [`Self::nodes_about`] for each of these queries, in order, as outlines.
    async fn outlines_about(
        &self,
        scope: &Scope,
        wanted: &[NodeQuery],
    ) -> Result<Vec<Vec<NodeOutline>>, StoreError>;
    /// Numbers of live, current events about the user that are identity-bearing, at most `limit` of the newest and as many
    /// of the oldest, each once, in no order. A storage answers it at any length of the past alike.
    async fn identity_events(&self, scope: &Scope, limit: u32) -> Result<Vec<i64>, StoreError>;
    /// Numbers of live, current nodes linked to any of the entities or to what was merged into them, newest first, at
    /// most `limit`. Each entity has an equal share of it: half for its newest nodes, half for the weightiest (|impact|)
    /// among its newest [`super::LINKS_WEIGHED_MAX`].
    async fn nodes_linked_to(
        &self,
        scope: &Scope,
        entities: &[EntityId],
        limit: u32,
    ) -> Result<Vec<i64>, StoreError>;
    /// Numbers of live, current nodes whose event time meets the span.
    async fn nodes_within(
        &self,
        scope: &Scope,
        start: Timestamp,
        end: Timestamp,
        limit: u32,
    ) -> Result<Vec<i64>, StoreError>;
    /// Live edges around the nodes, followed round by round as far as `reach` allows; each once, by its thought, then its
    /// event.
    async fn edges_around(
        &self,
        scope: &Scope,
        seqs: &[i64],
        reach: EdgeReach,
    ) -> Result<Vec<FillingEdge>, StoreError>;
    /// Live messages of the scope by number, in no order.
    async fn messages_numbered(&self, scope: &Scope, seqs: &[i64])
    -> Result<Vec<IndexedMessage>, StoreError>;
    /// For each of these numbers the message itself with up to `before` and `after` live neighbours within its session,
    /// oldest first; in the order asked, numbers without a live message of the scope left out. Recall asks for a few
    /// dozen at once, on the hot path.
    async fn neighbours(
        &self,
        scope: &Scope,
        seqs: &[i64],
        before: u32,
        after: u32,
    ) -> Result<Vec<(i64, Vec<IndexedMessage>)>, StoreError>;
    /// Counts a recall of these nodes. Off the hot path.
    async fn count_node_recalls(&self, ids: &[NodeId], at: Timestamp) -> Result<(), StoreError>;
}
