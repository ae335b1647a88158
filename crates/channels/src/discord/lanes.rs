//! Queues of work: in order within each conversation, while no conversation waits for another.

use std::collections::{HashMap, VecDeque};

use serde_json::Value;

/// Something to do in a conversation.
pub(super) enum Task {
    /// Reads the history of the channel after the newest known message.
    CatchUp { newest: i64 },
    /// Processes an event of the gateway.
    Event { name: String, data: Value },
}

/// Queues of tasks, one for each conversation. A conversation has an entry while one of its tasks runs.
#[derive(Default)]
pub(super) struct TaskQueues {
    lanes: HashMap<String, VecDeque<Task>>,
    /// Number of waiting items in all lanes.
    pub(super) waiting: usize,
}

impl TaskQueues {
    /// Returns the task if no other runs in the conversation, so that it can start at once. Otherwise the task is
    /// queued.
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

/// The task that reads what a known conversation has missed.
pub(super) fn catch_up_task((conversation, newest): (String, i64)) -> (String, Task) {
    (conversation, Task::CatchUp { newest })
}

/// The task for an event, with its conversation; `None` for events without one.
pub(super) fn event_task(name: String, data: Value) -> Option<(String, Task)> {
    let conversation = data["channel_id"].as_str()?.to_owned();
    name.starts_with("MESSAGE_").then_some((conversation, Task::Event { name, data }))
}
