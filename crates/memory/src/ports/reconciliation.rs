//! Two statements that may be about the same matter: the question what the newer one is to the older one.

use async_trait::async_trait;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::identifiers::{MessageId, NodeId, SessionId};
use crate::nodes::{Evidence, NewNode, Node};
use crate::ports::StoreError;
use crate::scope::Scope;

/// Attempts to get an answer about a pair; after the last one both statements stay.
pub const PAIR_ATTEMPTS_MAX: u32 = 3;

/// How a newer statement relates to an older one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairVerdict {
    /// It says the same.
    Same,
    /// The older one was true until then.
    Replaces,
    /// The older one never was true.
    Corrects,
    /// Both are true.
    Adds,
    /// They are about different matters.
    Unrelated,
    /// It is unclear whether both are true; the persona asks.
    Unsure,
}

impl PairVerdict {
    /// All six.
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

/// What reconciliation reads.
#[derive(Clone, Debug)]
pub struct ReconciliationInput {
    /// The session after which it is asked.
    pub session_id: SessionId,
    /// The pairs; their places are how the answer names them.
    pub pairs: Vec<PairQuestion>,
    /// The user's zone.
    pub zone: TimeZone,
}

/// One pair as it is asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairQuestion {
    /// The older statement.
    pub older: String,
    /// When it was said.
    pub older_at: Timestamp,
    /// The newer statement.
    pub newer: String,
    /// When it was said.
    pub newer_at: Timestamp,
    /// The words that prove the newer one.
    pub words: String,
}

/// An answer about one pair; whether its quote holds is for the memory to check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProposedVerdict {
    /// The pair's place in the input, from 0.
    pub pair: usize,
    /// What the newer statement is to the older one.
    pub verdict: PairVerdict,
    /// Words of the newer message that show it; may be empty.
    pub quote: String,
    /// What of the older statement stays true.
    pub still_true: Option<String>,
}

/// What reconciliation answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reconciliation {
    /// At most one for each pair.
    pub verdicts: Vec<ProposedVerdict>,
    /// What the parser dropped, for the trace.
    pub notes: Vec<String>,
}

/// What a new memory is compared with.
#[derive(Clone, Debug, PartialEq)]
pub enum Counterpart {
    /// Another memory.
    Node(NodeId),
    /// Words of the session that no memory depends on.
    Words(Evidence),
}

/// A pair to be asked about. Which of the two was said earlier is settled where it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct NewPair {
    /// The new memory.
    pub node: NodeId,
    /// The other statement.
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
    /// What it says.
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
    /// Names it.
    pub number: i64,
    /// What was said earlier.
    pub older: OlderStatement,
    /// When that was said.
    pub older_at: Timestamp,
    /// What was said later.
    pub newer: Box<Node>,
    /// When that was said.
    pub newer_at: Timestamp,
    /// The words that prove the newer one, the latest first.
    pub newer_evidence: Vec<Evidence>,
    /// All that its quotes may be in: the messages of these words, or what a person wrote instead.
    pub newer_texts: Vec<String>,
}

/// What becomes of a pair.
#[derive(Clone, Debug, PartialEq)]
pub enum PairOutcome {
    /// Both stay as they are.
    BothStand,
    /// The older one becomes a former one.
    Replaced {
        /// It never was so; else it was so until then.
        is_mistaken: bool,
        /// Where the older statement is words alone: the memory that is written of them, to be a former one.
        former: Option<Box<NewNode>>,
        /// What of the older memory stays current, as a memory of its own with the same evidence.
        rest: Option<Box<NewNode>>,
    },
    /// Both are marked as open, and the persona asks.
    Open,
    /// There was no usable answer: it is asked again with another session, [`PAIR_ATTEMPTS_MAX`] times in all.
    Unanswered,
}

/// All that one reconciliation writes, in one transaction.
#[derive(Clone, Debug)]
pub struct ReconciliationCommit {
    /// The session after which it was asked.
    pub session_id: SessionId,
    /// Whose memory.
    pub scope: Scope,
    /// When.
    pub at: Timestamp,
    /// Each pair that was asked about, by its number.
    pub outcomes: Vec<(i64, PairOutcome)>,
}

/// An open question: two memories of which it is not clear whether both are true.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenPair {
    /// The older memory.
    pub older: Node,
    /// The newer one.
    pub newer: Node,
    /// Since when.
    pub opened_at: Timestamp,
    /// The messages that either was said in, with whether they say the newer one.
    pub messages: Vec<(MessageId, bool)>,
}

/// Storage of pairs.
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
