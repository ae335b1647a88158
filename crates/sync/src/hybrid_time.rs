//! Times that order changes although no clock is right.

use serde::{Deserialize, Serialize};

/// How far ahead of the receiver's clock a time may be, in microseconds: 24 hours.
pub const AHEAD_MAX: i64 = 24 * 60 * 60 * 1_000_000;

/// Microseconds since 1970 on the clock of the writer, but later than everything that the writer had seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HybridTime(pub i64);

impl HybridTime {
    /// The time of the next change, when the clock says `now` and this is the latest time that was seen.
    #[must_use]
    pub fn next(self, now: i64) -> Self {
        Self(now.max(self.0.saturating_add(1)))
    }

    /// The time as a receiver keeps it whose clock says `now`: at most 24 hours ahead.
    #[must_use]
    pub fn bounded(self, now: i64) -> Self {
        Self(self.0.clamp(0, now.saturating_add(AHEAD_MAX)))
    }
}
