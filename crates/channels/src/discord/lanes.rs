//! Work of many conversations: in its order within each, and none waits for another conversation.

use std::collections::{HashMap, VecDeque};

use serde_json::Value;

/// Something to do in a conversation.
pub(super) enum Work {
    /// Its history since the newest number known has to be read.
    CatchUp { newest: i64 },
    /// An event has to be taken.
    Event { name: String, data: Value },
}

/// For each conversation in which something is being done: what waits behind it.
#[derive(Default)]
pub(super) struct Lanes {
    lanes: HashMap<String, VecDeque<Work>>,
    /// Number of waiting items in all lanes.
    pub(super) waiting: usize,
}

impl Lanes {
    /// Gives the work back if it can be done at once; else it waits.
    pub(super) fn enter(&mut self, conversation: &str, work: Work) -> Option<Work> {
        match self.lanes.get_mut(conversation) {
            Some(lane) => {
                lane.push_back(work);
                self.waiting += 1;
                None
            }
            None => {
                self.lanes.insert(conversation.to_owned(), VecDeque::new());
                Some(work)
            }
        }
    }

    /// Notes that something was done, and gives what comes next in the conversation.
    pub(super) fn leave(&mut self, conversation: &str) -> Option<Work> {
        let next = self.lanes.get_mut(conversation).and_then(VecDeque::pop_front);
        match next {
            Some(_) => self.waiting -= 1,
            None => {
                self.lanes.remove(conversation);
            }
        }
        next
    }
}
