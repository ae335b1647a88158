//! Refusals at the door, recorded once a minute for each token and address.

use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use memory::access::AuditEntry;

use crate::state::App;

/// The actor of a refusal without a known token.
const NOBODY: &str = "(none)";
/// Refusals that are kept apart in one minute; further ones are only counted by the metrics.
const APART_MAX: usize = 1_000;
const SECONDS: i64 = 60;

/// Refusals that were recorded in the present minute.
#[derive(Default)]
pub(crate) struct Refusals(Mutex<RecordedMinute>);

#[derive(Default)]
struct RecordedMinute {
    /// In minutes since 1970 (Unix time).
    minute: i64,
    /// Token, address and status of what was recorded.
    recorded: HashSet<(String, IpAddr, u16)>,
}

impl Refusals {
    /// True if this is the first of its kind in this minute.
    fn is_first(&self, now: Timestamp, token: &str, address: IpAddr, status: u16) -> bool {
        let minute = now.as_second() / SECONDS;
        // Nothing that holds the lock can leave the set half-changed.
        let mut present = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if present.minute != minute {
            *present = RecordedMinute { minute, recorded: HashSet::new() };
        }
        let recorded = &mut present.recorded;
        recorded.len() < APART_MAX && recorded.insert((token.to_owned(), address, status))
    }
}

/// Records that a request was refused: in the audit log, and in the log for programs that block addresses.
pub(crate) fn note(app: &App, token: Option<&str>, address: IpAddr, status: u16) {
    let (now, token) = (app.now(), token.unwrap_or(NOBODY));
    if !app.refusals.is_first(now, token, address, status) {
        return;
    }
    tracing::warn!(token, %address, status, "refused");
    let (access, token) = (app.parts.access.clone(), token.to_owned());
    let entry = AuditEntry { at: now, token, act: "refused".to_owned(), object: address.to_string(), status };
    tokio::spawn(async move {
        if let Err(error) = access.record_act(entry).await {
            tracing::error!("a refusal was not written to the audit log: {error}");
        }
    });
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
        let many = (0..2 * APART_MAX).filter(|n| refusals.is_first(at(61), &n.to_string(), here, 401));
        assert!(many.count() < APART_MAX, "a flood of names does not fill the memory");
    }
}
