//! What a benchmark is made of, whatever its format.

use jiff::Timestamp;

/// Conversations with the questions that are asked after their last unit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DataSet {
    pub conversations: Vec<Conversation>,
    /// References to evidence that were malformed and could be repaired.
    pub repaired: usize,
    /// References to units that do not exist; their question is measured by the others, or left out without any.
    pub dangling: usize,
    /// Questions whose answer is that there is none; they are left out of the ranking's figures.
    pub unanswerable: usize,
    /// Units longer than a message may be; they were cut to what fits.
    pub cut: usize,
}

/// One talk of two.
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
    /// Units that hold the answer.
    pub gold: Vec<String>,
    /// Sessions that hold the answer, where the data names them.
    pub gold_sessions: Vec<String>,
    /// The question's kind in the data.
    pub category: String,
    /// Time at which it is asked; by default right after the last unit.
    pub at: Option<Timestamp>,
}

/// Roles in a conversation, folded: no names of people.
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

/// True if a speaker's name is only a role: nobody asks "what did Assistant paint".
pub fn is_role(name: &str) -> bool {
    ROLES.contains(&name.trim().to_lowercase().as_str())
}
