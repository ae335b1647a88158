//! Refused requests, logged once a minute for each token and address.

use std::collections::HashSet;
use std::net::IpAddr;

use jiff::Timestamp;
use parking_lot::Mutex;

/// Maximum refusals to log in one minute; further ones are only counted in the metrics. Guessing tokens must not fill
/// the log.
const KINDS_PER_MINUTE_MAX: usize = 1_000;
const SECONDS_PER_MINUTE: i64 = 60;

/// Refusals logged in the current minute.
#[derive(Default)]
pub(crate) struct Refusals(Mutex<RecordedMinute>);

#[derive(Default)]
struct RecordedMinute {
    /// Minutes since 1970 (Unix time).
    minute: i64,
    /// Token, address and status of the logged refusals.
    recorded: HashSet<(String, IpAddr, u16)>,
}

impl Refusals {
    /// True if this is the first of its kind in this minute.
    pub(super) fn is_first(&self, now: Timestamp, token: &str, address: IpAddr, status: u16) -> bool {
        let minute = now.as_second() / SECONDS_PER_MINUTE;
        let mut present = self.0.lock();
        if present.minute != minute {
            *present = RecordedMinute { minute, recorded: HashSet::new() };
        }
        let recorded = &mut present.recorded;
        recorded.len() < KINDS_PER_MINUTE_MAX && recorded.insert((token.to_owned(), address, status))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_a_kind_is_recorded_in_a_minute() {
        let refusals = Refusals::default();
        let at = |second: i64| Timestamp::from_second(second).unwrap();
        let (here, there): (IpAddr, IpAddr) = ("192.0.2.7".parse().unwrap(), "192.0.2.8".parse().unwrap());
        assert!(refusals.is_first(at(0), "phone", here, 403));
        assert!(!refusals.is_first(at(59), "phone", here, 403));
        assert!(refusals.is_first(at(59), "phone", there, 403));
        assert!(refusals.is_first(at(59), "phone", here, 429));
        assert!(refusals.is_first(at(60), "phone", here, 403));
        let many =
            (0..2 * KINDS_PER_MINUTE_MAX).filter(|n| refusals.is_first(at(61), &n.to_string(), here, 401));
        assert!(many.count() < KINDS_PER_MINUTE_MAX, "a flood of names does not fill the memory");
    }
}
