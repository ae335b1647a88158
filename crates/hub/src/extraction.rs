//! Progress of extracting facts from memories.

use jiff::Timestamp;
use parking_lot::Mutex;

use crate::api::sync::ExtractionStatus;

/// Counts of extractions since the start of the program.
#[derive(Debug, Default)]
pub struct ExtractionLog {
    status: Mutex<ExtractionStatus>,
}

impl ExtractionLog {
    /// Notes whether a model is available from which facts can be extracted.
    pub fn set_available(&self, is_available: bool) {
        self.change(|status| status.llm_available = is_available);
    }

    /// Notes that a model was asked, with the numbers of new nodes and edges.
    pub fn note_success(&self, at: Timestamp, nodes: u64, edges: u64) {
        self.change(|status| {
            status.attempts_total += 1;
            status.successes_total += 1;
            status.nodes_created_total += nodes;
            status.edges_created_total += edges;
            status.last_attempt = Some(at);
            status.last_success = Some(at);
        });
    }

    /// Notes that a model was asked without success. The reason must not contain a memory's text.
    pub fn note_failure(&self, at: Timestamp, reason: &str) {
        self.change(|status| {
            status.attempts_total += 1;
            status.last_attempt = Some(at);
            status.last_error = Some(reason.to_owned());
        });
    }

    pub(crate) fn status(&self) -> ExtractionStatus {
        self.status.lock().clone()
    }

    fn change(&self, change: impl FnOnce(&mut ExtractionStatus)) {
        change(&mut self.status.lock());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_and_successes_are_counted() {
        let log = ExtractionLog::default();
        log.set_available(true);
        log.note_failure(Timestamp::UNIX_EPOCH, "the model is away");
        log.note_success(Timestamp::MAX, 3, 2);
        let status = log.status();
        assert_eq!((status.attempts_total, status.successes_total), (2, 1));
        assert_eq!((status.nodes_created_total, status.edges_created_total), (3, 2));
        assert_eq!((status.last_attempt, status.last_success), (Some(Timestamp::MAX), Some(Timestamp::MAX)));
        assert_eq!(status.last_error.as_deref(), Some("the model is away"));
        assert!(status.llm_available);
    }
}
