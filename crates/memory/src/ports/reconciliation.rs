//! Two statements that may be about the same matter: the question what the newer one is to the older one.

use async_trait::async_trait;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::identifiers::{MessageId, NodeId, SessionId};
use crate::nodes::{Evidence, NewNode, Node};
use crate::ports::StoreError;
use crate::scope::Scope;

/// Attempts to get an answer about a pair; after the last one both statements stay. A model that failed three times fails
/// again, and losing a true statement is worse than keeping an old one.
pub const PAIR_ATTEMPTS_MAX: u32 = 3;

/// The relation of a newer statement to an older one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairVerdict {
    /// Both say the same.
    Same,
    /// The older one was true until then.
    Replaces,
    /// The older one never was true.
    Corrects,
    Adds,
    /// The two are about different matters.
    Unrelated,
    /// It is unclear whether both statements are true; the persona asks.
    Unsure,
}

impl PairVerdict {
    pub const ALL: [Self; 6] =
        [Self::Same, Self::Replaces, Self::Corrects, Self::Adds, Self::Unrelated, Self::Unsure];

    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Replaces => "replaces",
            Self::Corrects => "corrects",
            Self::Adds => "adds",
            Self::Unrelated => "unrelated",
            Self::Unsure => "unsure",
        }
    }
}

/// Input of reconciliation: pairs of statements.
#[derive(Clone, Debug)]
pub struct ReconciliationInput {
    /// The session after which it is asked.
    pub session_id: SessionId,
    /// The pairs; their places are how the answer names them.
    pub pairs: Vec<PairQuestion>,
    pub zone: TimeZone,
}

/// One pair as it is asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairQuestion {
    pub older: String,
    /// Time at which the older statement was made.
    pub older_at: Timestamp,
    pub newer: String,
    /// Time at which the newer statement was made.
    pub newer_at: Timestamp,
    /// The words that prove the newer one.
    pub words: String,
}

/// An answer about one pair; whether its quote holds is for the memory to check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProposedVerdict {
    /// The pair's place in the input, from 0.
    pub pair: usize,
    /// The relation of the newer statement to the older one.
    pub verdict: PairVerdict,
    /// Words of the newer message that show it; may be empty.
    pub quote: String,
    /// The part of the older statement that stays true.
    pub still_true: Option<String>,
}

/// Answer of reconciliation, after parsing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reconciliation {
    /// At most one for each pair.
    pub verdicts: Vec<ProposedVerdict>,
    /// Parts that the parser dropped, for the trace.
    pub notes: Vec<String>,
}

/// The statement that a new memory is compared with.
#[derive(Clone, Debug, PartialEq)]
pub enum Counterpart {
    Node(NodeId),
    /// Words of the session that no memory depends on.
    Words(Evidence),
}

/// A pair to be asked about. Which of the two was said earlier is settled where it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct NewPair {
    pub node: NodeId,
    pub other: Counterpart,
}

/// The older statement of a stored pair.
#[derive(Clone, Debug, PartialEq)]
pub enum OlderStatement {
    /// A memory, with the words that prove it.
    Node(Box<Node>, Vec<Evidence>),
    /// Words that no memory depends on.
    Words(Evidence),
}

impl OlderStatement {
    pub fn text(&self) -> &str {
        match self {
            Self::Node(node, _) => &node.description,
            Self::Words(words) => &words.quote,
        }
    }
}

/// A stored pair that waits for an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitingPair {
    pub number: i64,
    pub older: OlderStatement,
    /// Time at which that was said.
    pub older_at: Timestamp,
    pub newer: Box<Node>,
    /// Time at which that was said.
    pub newer_at: Timestamp,
    /// The words that prove the newer one, the latest first.
    pub newer_evidence: Vec<Evidence>,
    /// Texts that may hold the quotes: the messages of these words, or what a person wrote instead.
    pub newer_texts: Vec<String>,
}

/// The decision about a pair of statements.
#[derive(Clone, Debug, PartialEq)]
pub enum PairOutcome {
    /// Both stay as they are.
    BothStand,
    /// The newer statement replaces the older one.
    Replaced {
        /// True if the former statement was never right; else it was right until then.
        is_mistaken: bool,
        /// If the older statement is a message alone: the memory that is written of it, as a former one.
        former: Option<Box<NewNode>>,
        /// The part of the older memory that stays current, as a memory of its own with the same evidence.
        rest: Option<Box<NewNode>>,
    },
    /// Both are marked as open, and the persona asks.
    Open,
    /// There was no usable answer: it is asked again with another session, [`PAIR_ATTEMPTS_MAX`] times in all.
    Unanswered,
}

/// Everything that one reconciliation writes, in one transaction.
#[derive(Clone, Debug)]
pub struct ReconciliationCommit {
    /// The session after which the pairs were compared.
    pub session_id: SessionId,
    pub scope: Scope,
    pub at: Timestamp,
    /// Each pair that was asked about, by its number.
    pub outcomes: Vec<(i64, PairOutcome)>,
}

/// An open question: two memories of which it is not clear whether both are true.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenPair {
    pub older: Node,
    pub newer: Node,
    pub opened_at: Timestamp,
    /// The messages that either was said in, with whether they say the newer one.
    pub messages: Vec<(MessageId, bool)>,
}

/// Storage of pairs of statements that may contradict each other.
#[async_trait]
pub trait ReconciliationStore: Send + Sync {
    /// Pairs of current statements of a scope that wait for an answer and were not asked about with this session, at most `limit`:
    /// those that were asked about least, the latest first.
    async fn waiting_pairs(
        &self,
        scope: &Scope,
        session: SessionId,
        limit: u32,
    ) -> Result<Vec<WaitingPair>, StoreError>;
    /// Writes the outcomes. A pair that is gone meanwhile is left out.
    async fn commit_reconciliation(&self, commit: ReconciliationCommit) -> Result<(), StoreError>;
    /// Open questions about memories with these numbers, and about what was said in the messages with these.
    async fn open_pairs(
        &self,
        scope: &Scope,
        nodes: &[i64],
        messages: &[i64],
    ) -> Result<Vec<OpenPair>, StoreError>;
}
