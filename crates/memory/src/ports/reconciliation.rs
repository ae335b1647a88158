//! Pairs of statements that may be about the same subject, and the question how the newer one relates to the older
//! one.

use async_trait::async_trait;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::identifiers::{MessageId, NodeId, SessionId};
use crate::nodes::{Evidence, NewNode, Node};
use crate::ports::StoreError;
use crate::scope::Scope;

/// Maximum attempts to get an answer about a pair. After the last one both statements stay: a model that failed three
/// times fails again, and losing a true statement is worse than keeping an old one.
pub const PAIR_ATTEMPTS_MAX: u32 = 3;

/// The relation of a newer statement to an older one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairVerdict {
    /// Both mean the same.
    Same,
    /// The older one was true until the newer one.
    Replaces,
    /// The older one was never true.
    Corrects,
    Adds,
    /// The two are about different subjects.
    Unrelated,
    /// It is unclear which of the statements are true; the persona asks.
    Unsure,
}

impl PairVerdict {
    pub const ALL: [Self; 6] =
        [Self::Same, Self::Replaces, Self::Corrects, Self::Adds, Self::Unrelated, Self::Unsure];

    /// The verdict's name on the wire.
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
    /// The session after which the model is asked.
    pub session_id: SessionId,
    /// The pairs; the answer identifies them by their index.
    pub pairs: Vec<PairQuestion>,
    pub zone: TimeZone,
}

/// One pair, as the model is asked about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairQuestion {
    pub older: String,
    /// Time at which the older statement was made.
    pub older_at: Timestamp,
    pub newer: String,
    /// Time at which the newer statement was made.
    pub newer_at: Timestamp,
    /// The quotes that are evidence of the newer one.
    pub words: String,
}

/// An answer about one pair. The memory checks if its quote is valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProposedVerdict {
    /// The pair's index in the input, from 0.
    pub pair: usize,
    /// The relation of the newer statement to the older one.
    pub verdict: PairVerdict,
    /// A quote of the newer message as evidence; may be empty.
    pub quote: String,
    /// The part of the older statement that stays true.
    pub still_true: Option<String>,
}

/// Answer of reconciliation, after parsing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reconciliation {
    /// At most one verdict for each pair.
    pub verdicts: Vec<ProposedVerdict>,
    /// Parts that the parser dropped, for the trace.
    pub notes: Vec<String>,
}

/// The statement that a new memory is compared with.
#[derive(Clone, Debug, PartialEq)]
pub enum Counterpart {
    Node(NodeId),
    /// A passage of the session that is not evidence of any memory.
    Words(Evidence),
}

/// A pair to ask about. The store determines which of the two statements is older.
#[derive(Clone, Debug, PartialEq)]
pub struct NewPair {
    pub node: NodeId,
    pub other: Counterpart,
}

/// The older statement of a stored pair.
#[derive(Clone, Debug, PartialEq)]
pub enum OlderStatement {
    /// A memory, with the quotes that are its evidence.
    Node(Box<Node>, Vec<Evidence>),
    /// A passage that is not evidence of any memory.
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

/// A stored pair that waits for a verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitingPair {
    pub number: i64,
    pub older: OlderStatement,
    /// Time of the older statement.
    pub older_at: Timestamp,
    pub newer: Box<Node>,
    /// Time of the newer statement.
    pub newer_at: Timestamp,
    /// The quotes that are evidence of the newer one, the latest first.
    pub newer_evidence: Vec<Evidence>,
    /// Texts in which the model's quotes may be found: the messages of this evidence, or a person's correction.
    pub newer_texts: Vec<String>,
}

/// The decision about a pair of statements.
#[derive(Clone, Debug, PartialEq)]
pub enum PairOutcome {
    /// Both statements stay as they are.
    BothStand,
    /// The newer statement replaces the older one.
    Replaced {
        /// True if the former statement was never right; otherwise it was right until then.
        is_mistaken: bool,
        /// If the older statement is only a message: the memory to write for it, as a former one.
        former: Option<Box<NewNode>>,
        /// The part of the older memory that stays current, as a memory of its own with the same evidence.
        rest: Option<Box<NewNode>>,
    },
    /// Both are marked as undecided, and the persona asks.
    Open,
    /// There was no usable answer: the pair is asked about again after another session, [`PAIR_ATTEMPTS_MAX`] times
    /// in all.
    Unanswered,
}

/// Everything that one reconciliation writes, in one transaction.
#[derive(Clone, Debug)]
pub struct ReconciliationCommit {
    /// The session after which the pairs were compared.
    pub session_id: SessionId,
    pub scope: Scope,
    pub at: Timestamp,
    /// The outcome of each pair that was asked about, by its number.
    pub outcomes: Vec<(i64, PairOutcome)>,
}

/// An undecided pair: two memories of which it is unclear which are true.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenPair {
    pub older: Node,
    pub newer: Node,
    pub opened_at: Timestamp,
    /// The messages of either statement; true for those of the newer one.
    pub messages: Vec<(MessageId, bool)>,
}

/// Storage of pairs of statements that may contradict each other.
#[async_trait]
pub trait ReconciliationStore: Send + Sync {
    /// Pairs of current statements that wait for a verdict and were not asked about after this session, at most
    /// `limit`: those with the fewest attempts first, then the latest.
    async fn waiting_pairs(
        &self,
        scope: &Scope,
        session: SessionId,
        limit: u32,
    ) -> Result<Vec<WaitingPair>, StoreError>;
    /// Stores the outcomes. Pairs that were deleted meanwhile are skipped.
    async fn commit_reconciliation(&self, commit: ReconciliationCommit) -> Result<(), StoreError>;
    /// Undecided pairs with a memory among these numbers, or a statement in the messages with these numbers.
    async fn open_pairs(
        &self,
        scope: &Scope,
        nodes: &[i64],
        messages: &[i64],
    ) -> Result<Vec<OpenPair>, StoreError>;
}
