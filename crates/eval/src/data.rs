//! What a benchmark is made of, whatever its format.

use std::path::Path;

use anyhow::bail;
use jiff::Timestamp;
use memory::messages::MESSAGE_LENGTH_MAX;

use crate::{jsonl, locomo, longmemeval};

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
    /// True if these two are names that a question may hold, not roles.
    pub named: bool,
    /// The messages, in order.
    pub units: Vec<Unit>,
    pub questions: Vec<Question>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Unit {
    /// Its id in the data.
    pub id: String,
    /// The session it belongs to.
    pub session: String,
    /// Time at which it was said.
    pub at: Timestamp,
    pub speaker: String,
    pub text: String,
}

/// One question with the units that answer it.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// Its id in the data, or its number in the conversation.
    pub id: String,
    pub text: String,
    /// Units that hold the answer.
    pub gold: Vec<String>,
    /// Sessions that hold it, where the data says so.
    pub gold_sessions: Vec<String>,
    /// Its kind in the data.
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

/// Reads a data set: `locomo` (a file or a folder of files), `madial`, `realmem`, `lifebench` and `jsonl` (a folder with
/// `units.jsonl` and `queries.jsonl`), `longmemeval` (a file). A unit longer than a message may be is cut and counted.
///
/// # Errors
/// When the files can't be read or are not in that format; the message names the file and the place.
pub fn read(set: &str, path: &Path) -> anyhow::Result<DataSet> {
    let mut data = match set {
        "locomo" => locomo::read(path)?,
        "madial" | "realmem" | "lifebench" | "jsonl" => jsonl::read(path)?,
        "longmemeval" => longmemeval::read(path)?,
        other => bail!("there is no data set format `{other}`"),
    };
    for unit in data.conversations.iter_mut().flat_map(|conversation| &mut conversation.units) {
        if let Some((end, _)) = unit.text.char_indices().nth(MESSAGE_LENGTH_MAX) {
            unit.text.truncate(end);
            data.cut += 1;
        }
    }
    for conversation in &mut data.conversations {
        let known: std::collections::HashSet<String> =
            conversation.units.iter().map(|unit| unit.id.clone()).collect();
        for question in &mut conversation.questions {
            let named = question.gold.len();
            question.gold.retain(|id| known.contains(id));
            data.dangling += named - question.gold.len();
        }
        conversation
            .questions
            .retain(|question| !question.gold.is_empty() || !question.gold_sessions.is_empty());
    }
    Ok(data)
}
