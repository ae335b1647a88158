//! The data of a benchmark, independent of its format.

use jiff::Timestamp;

/// Conversations with the questions that are asked after their last unit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DataSet {
    pub conversations: Vec<Conversation>,
    /// Malformed references to evidence that could be repaired.
    pub repaired: usize,
    /// References to units that do not exist. Their question is measured by its other references, or left out if it
    /// has none.
    pub dangling: usize,
    /// Questions to which the answer is that nothing is known; they are left out of the ranking's figures.
    pub unanswerable: usize,
    /// Units longer than the maximum of a message, which were cut.
    pub cut: usize,
}

/// A conversation of two speakers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conversation {
    pub id: String,
    /// The speaker who is the user; the other is the persona.
    pub user: String,
    /// The speaker who is the persona.
    pub persona: String,
    /// True if the two speakers have names, which questions may contain; false if they are roles such as `user`.
    pub named: bool,
    /// The messages, in order.
    pub units: Vec<CorpusUnit>,
    pub questions: Vec<Question>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CorpusUnit {
    /// The unit's id in the data.
    pub id: String,
    /// The session that the unit belongs to.
    pub session: String,
    /// Time at which the unit was said.
    pub at: Timestamp,
    pub speaker: String,
    pub text: String,
}

/// One question with the units that answer it.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The question's id in the data, or its number in the conversation.
    pub id: String,
    pub text: String,
    /// Units that contain the answer.
    pub gold: Vec<String>,
    /// Sessions that contain the answer, if the data names them.
    pub gold_sessions: Vec<String>,
    /// The question's kind in the data.
    pub category: String,
    /// Time of the question; by default right after the last unit.
    pub at: Option<Timestamp>,
}

/// Speakers that are roles rather than names, case-folded.
const ROLES: [&str; 14] = [
    "user",
    "human",
    "customer",
    "speaker",
    "assistant",
    "ai",
    "bot",
    "chatbot",
    "agent",
    "model",
    "system",
    "用户",
    "助手",
    "系统",
];

/// True if a speaker's name is only a role. Questions do not mention it.
pub fn is_role(name: &str) -> bool {
    ROLES.contains(&name.trim().to_lowercase().as_str())
}
