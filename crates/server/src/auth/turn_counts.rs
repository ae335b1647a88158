//! Replies of the current day by named token.

use std::collections::HashMap;

use jiff::Timestamp;
use parking_lot::Mutex;

/// Maximum tokens whose counts are remembered; beyond that all are read from the database again.
const TOKENS_MAX: usize = 10_000;

/// Replies of the current day, by the public part of the token.
#[derive(Default)]
pub(crate) struct TurnCounts(Mutex<HashMap<String, DayCount>>);

#[derive(Clone, Copy)]
struct DayCount {
    midnight: Timestamp,
    turns: u64,
}

impl TurnCounts {
    /// Counts a reply if there are fewer than `turns_max`; `None` if this token's day was not loaded yet.
    pub(super) fn count_turn(&self, prefix: &str, midnight: Timestamp, turns_max: u64) -> Option<bool> {
        let mut all = self.0.lock();
        let day = all.get_mut(prefix).filter(|day| day.midnight == midnight)?;
        let has_room = day.turns < turns_max;
        day.turns += u64::from(has_room);
        Some(has_room)
    }

    /// Undoes [`Self::count_turn`], if it is still the same day.
    pub(super) fn remove_counted_turn(&self, prefix: &str, midnight: Timestamp) {
        let mut all = self.0.lock();
        if let Some(day) = all.get_mut(prefix).filter(|day| day.midnight == midnight) {
            day.turns = day.turns.saturating_sub(1);
        }
    }

    pub(super) fn begin(&self, prefix: &str, midnight: Timestamp, turns: u64) {
        let mut all = self.0.lock();
        if all.len() >= TOKENS_MAX {
            all.clear();
        }
        let day = all.entry(prefix.to_owned()).or_insert(DayCount { midnight, turns });
        if day.midnight != midnight {
            *day = DayCount { midnight, turns };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_counted_from_what_is_known_of_it() {
        let counts = TurnCounts::default();
        let at = |second: i64| Timestamp::from_second(second).unwrap();
        assert_eq!(counts.count_turn("a1", at(0), 3), None);
        counts.begin("a1", at(0), 1);
        assert_eq!(
            [(); 3].map(|()| counts.count_turn("a1", at(0), 3)),
            [Some(true), Some(true), Some(false)]
        );
        counts.begin("a1", at(0), 0);
        assert_eq!(
            counts.count_turn("a1", at(0), 3),
            Some(false),
            "who counts at the same time changes nothing"
        );
        assert_eq!(counts.count_turn("a1", at(0), 4), Some(true), "a larger limit holds at once");
        counts.remove_counted_turn("a1", at(0));
        assert_eq!([(); 2].map(|()| counts.count_turn("a1", at(0), 4)), [Some(true), Some(false)]);
        counts.remove_counted_turn("a1", at(86_400));
        assert_eq!(
            counts.count_turn("a1", at(0), 4),
            Some(false),
            "another day's reply is not taken off this day"
        );
        assert_eq!(counts.count_turn("a1", at(86_400), 3), None, "the next day starts at zero");
        assert_eq!(counts.count_turn("b2", at(0), 3), None, "another token has its own");
    }
}
