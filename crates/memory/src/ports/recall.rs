//! Port for recall, with many queries in one read. A storage that can't combine them uses the single ones.

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

/// Fields of a node that decide if recall reads the rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NodeOutline {
    pub seq: i64,
    /// True if a person wants the node in every prompt.
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

/// The rows of messages, or those of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Corpus {
    Messages,
    /// L3 and L4 nodes.
    Nodes,
}

/// The messages within a time span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpanMessages {
    /// Numbers of all of them, in the order of their times.
    All(Vec<i64>),
    /// The lowest and the highest number among the first and the last messages of a span with too many. Imported messages
    /// have later numbers than their times suggest, so a few may be outside of this range.
    Between(i64, i64),
}

/// Counts of a scope's rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CorpusSize {
    pub documents: u64,
}

/// Occurrences of a phrase in the rows of a scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhraseHits {
    /// Number of live rows of the scope that contain the phrase, including replaced ones. Counting stops at
    /// [`PhraseHits::FREQUENCY_MAX`], where a phrase carries almost no information.
    pub document_frequency: u64,
    /// Numbers of the newest rows that contain the phrase, newest first, up to the requested limit; or of all rows.
    pub seqs: Vec<i64>,
}

impl PhraseHits {
    /// Number at which counting stops: a word with more rows is common anyway, and counting costs time.
    pub const FREQUENCY_MAX: u64 = 20_000;
}

/// Selection of rows by the word index: those that contain at least one phrase of each group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowSelection {
    /// The groups; without any, no row is selected.
    pub all_of: Vec<Vec<Phrase>>,
    /// First and last number of the rows; `None` for any.
    pub span: Option<(i64, i64)>,
    /// Maximum rows, the newest first.
    pub limit: u32,
}

/// Fields of a message that are read without its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageOutline {
    pub seq: i64,
    pub token_count: u32,
    /// Time of the message.
    pub created_at: Timestamp,
}

/// Number of occurrences of each phrase in a row, by which search ranks it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhraseCounts {
    pub seq: i64,
    /// One count for each requested phrase, in their order.
    pub counts: Vec<usize>,
    /// The kind of node; `None` for a message.
    pub kind: Option<NodeKind>,
}

/// Counts occurrences of a phrase in index terms separated by spaces, without splitting these.
#[derive(Clone, Debug)]
pub struct PhraseCounter(Finder<'static>);

impl PhraseCounter {
    pub fn new(phrase: &Phrase) -> Self {
        Self(Finder::new(&phrase.0.join(" ")).into_owned())
    }

    /// Number of occurrences of the phrase; whole terms only.
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
    /// Readability of its text; `None` without a vector.
    pub readability: Option<f32>,
}

/// A message with its index terms.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexedMessage {
    pub message: Message,
    pub terms: String,
    /// Readability of its text; `None` without a vector.
    pub readability: Option<f32>,
}

/// An evidence edge from a thought to an event that it cites.
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
pub struct EdgeLimits {
    /// Maximum rounds. Each follows the edges of the nodes that the round before has reached.
    pub rounds: u32,
    /// Maximum nodes whose edges are followed in one round, the newest first.
    pub nodes_max: usize,
    /// Maximum edges of one round.
    pub edges_max: u32,
}

/// Reads of recall and search, which a turn waits for. Each uses one snapshot. Also counts recalls.
#[async_trait]
pub trait RecallStore: Send + Sync {
    /// Number of live rows in the scope, and for each phrase, in order, its occurrences with at most `limit` row
    /// numbers.
    async fn phrase_hits(
        &self,
        scope: &Scope,
        corpus: Corpus,
        phrases: &[Phrase],
        limit: u32,
    ) -> Result<(CorpusSize, Vec<PhraseHits>), StoreError>;
    /// Like [`Self::phrase_hits`], but with all rows of a phrase that has at most about `_all_up_to`, if the store finds
    /// these as quickly as the newest ones.
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
    /// For each selection, the numbers of its rows in the scope, newest first.
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
    /// Numbers of the newest rows of the scope with the phrase, whose last term may be the prefix of a longer one; at
    /// most `limit`.
    async fn rows_beginning(
        &self,
        scope: &Scope,
        corpus: Corpus,
        phrase: &Phrase,
        limit: u32,
    ) -> Result<Vec<i64>, StoreError>;
    /// Numbers of those among the newest `rows` rows of the scope whose folded text contains this folded text.
    async fn rows_containing(
        &self,
        scope: &Scope,
        corpus: Corpus,
        folded: &str,
        rows: u32,
    ) -> Result<Vec<i64>, StoreError>;
    /// Outlines of live messages of the scope by number, in no order.
    async fn message_outlines(&self, scope: &Scope, seqs: &[i64]) -> Result<Vec<MessageOutline>, StoreError>;
    /// The messages within the span, all of them if there are at most `limit`. The cost must not depend on the length
    /// of the past.
    async fn messages_within(
        &self,
        scope: &Scope,
        start: Timestamp,
        end: Timestamp,
        limit: u32,
    ) -> Result<SpanMessages, StoreError>;
    /// Live, current (not superseded) nodes of the scope by number, in no order.
    async fn nodes_numbered(&self, scope: &Scope, seqs: &[i64]) -> Result<Vec<IndexedNode>, StoreError>;
    /// The newest live, current nodes of a kind about a subject, newest first, always including pinned ones.
    async fn nodes_about(
        &self,
        scope: &Scope,
        kind: NodeKind,
        subjects: &[Subject],
        limit: u32,
    ) -> Result<Vec<Node>, StoreError>;
    /// For each of these queries, in order, the nodes of [`Self::nodes_about`] as outlines.
    async fn outlines_about(
        &self,
        scope: &Scope,
        wanted: &[NodeQuery],
    ) -> Result<Vec<Vec<NodeOutline>>, StoreError>;
    /// Numbers of live, current, identity-bearing events about the user: at most `limit` of the newest and as many of
    /// the oldest, each once, in no order. The cost must not depend on the length of the past.
    async fn identity_events(&self, scope: &Scope, limit: u32) -> Result<Vec<i64>, StoreError>;
    /// Numbers of live, current nodes linked to any of the entities or to those merged into them, newest first, at
    /// most `limit`. Each entity has an equal share: half for its newest nodes, half for those with the highest
    /// |impact| among its newest [`super::LINKS_WEIGHED_MAX`].
    async fn nodes_linked_to(
        &self,
        scope: &Scope,
        entities: &[EntityId],
        limit: u32,
    ) -> Result<Vec<i64>, StoreError>;
    /// Numbers of live, current nodes whose event time overlaps with the span.
    async fn nodes_within(
        &self,
        scope: &Scope,
        start: Timestamp,
        end: Timestamp,
        limit: u32,
    ) -> Result<Vec<i64>, StoreError>;
    /// Live edges around the nodes, followed for as many rounds as `reach` allows; each once, sorted by thought, then
    /// by event.
    async fn edges_around(
        &self,
        scope: &Scope,
        seqs: &[i64],
        reach: EdgeLimits,
    ) -> Result<Vec<FillingEdge>, StoreError>;
    /// Live messages of the scope by number, in no order.
    async fn messages_numbered(&self, scope: &Scope, seqs: &[i64])
    -> Result<Vec<IndexedMessage>, StoreError>;
    /// For each of these numbers, in order, the message with up to `before` and `after` live neighbours in its
    /// session, oldest first. Numbers without a live message of the scope are left out. Recall requests a few dozen
    /// at once, and a turn waits for them.
    async fn neighbours(
        &self,
        scope: &Scope,
        seqs: &[i64],
        before: u32,
        after: u32,
    ) -> Result<Vec<(i64, Vec<IndexedMessage>)>, StoreError>;
    /// Counts a recall of these nodes. No turn waits for it.
    async fn count_node_recalls(&self, ids: &[NodeId], at: Timestamp) -> Result<(), StoreError>;
}
