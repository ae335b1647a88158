//! Former values: those that a newer memory or a person's text replaced.

use jiff::Timestamp;

use super::ValueWords;
use crate::entities::fold_name;
use crate::identifiers::{EntityId, NodeId, SessionId};

/// Texts that are about to be shown, to be checked for values that are no longer current.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplacedQuery {
    pub messages: Vec<i64>,
    /// Current nodes whose former values are requested.
    pub nodes: Vec<NodeId>,
    /// Numbers of nodes that cite events: thoughts and expectations.
    pub citing: Vec<i64>,
    /// Entities whose descriptions will be shown.
    pub entities: Vec<EntityId>,
    /// Sessions whose summaries will be shown.
    pub sessions: Vec<SessionId>,
    /// Texts that may contain such a value, however long ago it was replaced.
    pub texts: Vec<String>,
}

/// The values that are no longer current.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplacedValues {
    /// Values of the messages, the nodes and the sessions, and those that the texts may contain; the latest change
    /// first.
    pub values: Vec<ReplacedValue>,
    /// Passages of the messages that state such a value.
    pub spans: Vec<ReplacedSpan>,
    /// Citing nodes, each with an event that it cites and that was replaced after the node was written.
    pub outdated: Vec<(i64, NodeId)>,
    /// Entities whose description is older than the replacement of one of their values.
    pub descriptions: Vec<EntityId>,
}

/// A passage of a message from which a node was written that is no longer current. A reply also gets the passages of
/// the message that it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplacedSpan {
    /// Number of the message.
    pub message: i64,
    /// Start of the passage, in characters.
    pub start: u32,
    /// End of the passage, in characters, exclusive.
    pub end: u32,
    /// The node that was written from the passage.
    pub node: NodeId,
}

/// A former text of a memory, with the text that is current instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplacedValue {
    /// The node that stated the value.
    pub node: NodeId,
    pub text: String,
    /// Time of the newest message that is evidence of the value.
    pub since: Timestamp,
    /// Time of the newest message that is evidence of its replacement.
    pub until: Timestamp,
    /// Time at which the replacement was stored; later than `until`.
    pub changed_at: Timestamp,
    /// The current node, at the end of the chain of replacements.
    pub current: NodeId,
    /// Text of the memory that is current.
    pub current_text: String,
    /// True if the value was never right: a person corrected it, or said that it was wrong. Otherwise it was right
    /// until the replacement.
    pub mistaken: bool,
    /// The session that the value came from.
    pub session: Option<SessionId>,
    /// The words by which a text is recognised to state the value.
    pub words: ValueWords,
    /// The words by which a text is recognised to state the current value.
    pub current_words: ValueWords,
}

impl ReplacedValue {
    /// True if a text states the former value: by a name that is no longer current, by its words together with their
    /// subject, or by all of it.
    pub fn is_stated_in(&self, text: &str) -> bool {
        self.is_stated_in_folded(text, &fold_name(text))
    }

    /// [`Self::is_stated_in`] for a text folded by [`fold_name`], for use with many values.
    pub(crate) fn is_stated_in_folded(&self, text: &str, folded: &str) -> bool {
        text != self.current_text && self.words.is_stated_in(text, folded)
    }

    /// True if a text states the current value.
    pub(crate) fn is_corrected_in(&self, text: &str) -> bool {
        self.current_words.is_stated_in(text, &fold_name(text))
    }
}
