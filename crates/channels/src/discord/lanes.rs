//! Work of many conversations: in its order within each, and none waits for another conversation.

use std::collections::{HashMap, VecDeque};

use serde_json::Value;

/// Something to do in a conversation.
pub(super) enum Task {
    /// The history of the channel since the newest known number has to be read.
    CatchUp { newest: i64 },
    /// An event has to be taken.
    Event { name: String, data: Value },
}

/// Work that waits for earlier work in the same conversation. A conversation has an entry while something is done in it.
#[derive(Default)]
pub(super) struct TaskQueues {
    lanes: HashMap<String, VecDeque<Task>>,
    /// Number of waiting items in all lanes.
    pub(super) waiting: usize,
}

impl TaskQueues {
    /// Returns the work if nothing is being done in the conversation, so that it can begin at once. Otherwise it is queued.
    pub(super) fn begin_work(&mut self, conversation: &str, work: Task) -> Option<Task> {
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

    /// Marks the running task of a conversation as done; returns its next one.
    pub(super) fn end_work(&mut self, conversation: &str) -> Option<Task> {
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

/// The work for a conversation in which messages were received before.
pub(super) fn catch_up_task((conversation, newest): (String, i64)) -> (String, Task) {
    (conversation, Task::CatchUp { newest })
}

/// The work for an event, with its conversation; none for events without one.
pub(super) fn event_task(name: String, data: Value) -> Option<(String, Task)> {
    let conversation = data["channel_id"].as_str()?.to_owned();
    name.starts_with("MESSAGE_").then_some((conversation, Task::Event { name, data }))
}
