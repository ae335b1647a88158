//! Cached frequencies of common phrases, so that they are not counted again for every query.

use std::collections::HashMap;
use std::sync::Arc;

use memory::ports::Corpus;
use parking_lot::Mutex;

/// Maximum phrases whose counts are cached; beyond that all are dropped and counted again on demand.
const COUNTS_MAX: usize = 4_096;

/// Counts of phrases up to a row of the index. Rows are only added at its end, so later ones are counted separately;
/// any other change of the index invalidates all counts.
#[derive(Default)]
pub(crate) struct Frequencies {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Incremented whenever all counts became invalid.
    generation: u64,
    counts: HashMap<(Corpus, String), Count>,
}

#[derive(Clone, Copy)]
struct Count {
    /// The newest row that was counted.
    newest: i64,
    rows: u64,
}

/// The counts for one reader. Take it before the reader's snapshot, so that it never stores counts that became
/// invalid meanwhile.
pub(crate) struct FrequencyReader {
    frequencies: Arc<Frequencies>,
    generation: u64,
}

impl Frequencies {
    /// Takes the present counts.
    pub(crate) fn now(self: &Arc<Self>) -> FrequencyReader {
        FrequencyReader { frequencies: Arc::clone(self), generation: self.state.lock().generation }
    }

    /// Drops all counts, because rows were removed from an index or inserted before its end.
    pub(crate) fn clear(&self) {
        let mut state = self.state.lock();
        state.generation += 1;
        state.counts.clear();
    }
}

impl FrequencyReader {
    /// Number of rows with the phrase, from an earlier count and later rows. `newest` are its newest rows, newest
    /// first; `None` if they do not reach back to the earlier count.
    pub(super) fn updated_count(&self, corpus: Corpus, query: &str, newest: &[i64]) -> Option<u64> {
        let mut state = self.frequencies.state.lock();
        let count = state.counts.get_mut(&(corpus, query.to_owned()))?;
        let since = newest.iter().position(|&seq| seq <= count.newest)?;
        if let (1.., Some(&first)) = (since, newest.first()) {
            *count = Count { newest: first, rows: count.rows + since as u64 };
        }
        Some(count.rows)
    }

    /// Stores a count that includes the given newest row.
    pub(super) fn insert_count(&self, corpus: Corpus, query: &str, newest: i64, rows: u64) {
        let mut state = self.frequencies.state.lock();
        if state.generation != self.generation {
            return;
        }
        if state.counts.len() >= COUNTS_MAX {
            state.counts.clear();
        }
        state.counts.insert((corpus, query.to_owned()), Count { newest, rows });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_added_since_a_count_are_added_to_it() {
        let frequencies = Arc::new(Frequencies::default());
        let counting = frequencies.now();
        assert_eq!(counting.updated_count(Corpus::Nodes, "cat", &[9, 8, 7]), None);
        counting.insert_count(Corpus::Nodes, "cat", 9, 700);
        assert_eq!(counting.updated_count(Corpus::Nodes, "cat", &[9, 8, 7]), Some(700));
        assert_eq!(counting.updated_count(Corpus::Messages, "cat", &[9, 8, 7]), None);
        assert_eq!(counting.updated_count(Corpus::Nodes, "cat", &[12, 11, 9]), Some(702));
        assert_eq!(
            counting.updated_count(Corpus::Nodes, "cat", &[13, 12, 11]),
            Some(703),
            "what was added is counted too"
        );
        assert_eq!(
            counting.updated_count(Corpus::Nodes, "cat", &[19, 18, 17]),
            None,
            "there may be more between"
        );
    }

    #[test]
    fn a_reader_from_before_a_removal_keeps_nothing() {
        let frequencies = Arc::new(Frequencies::default());
        let before = frequencies.now();
        before.insert_count(Corpus::Nodes, "cat", 9, 700);
        frequencies.clear();
        assert_eq!(frequencies.now().updated_count(Corpus::Nodes, "cat", &[9]), None);
        before.insert_count(Corpus::Nodes, "cat", 9, 700);
        assert_eq!(frequencies.now().updated_count(Corpus::Nodes, "cat", &[9]), None);
    }

    #[test]
    fn the_cache_is_bounded() {
        let frequencies = Arc::new(Frequencies::default());
        for number in 0..3 * COUNTS_MAX {
            frequencies.now().insert_count(Corpus::Messages, &number.to_string(), 1, 1);
        }
        assert!(frequencies.state.lock().counts.len() <= COUNTS_MAX);
    }
}
