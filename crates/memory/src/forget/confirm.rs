//! Dry runs that wait for a person's confirmation.

use std::collections::VecDeque;

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;

use super::ForgetSummary;
use crate::identifiers::ErasureId;
use crate::scope::Scope;

/// Time within which a dry run can be confirmed. It is enough to read a long preview; messages written later are not
/// in it.
pub const CONFIRMATION_TIMEOUT: SignedDuration = SignedDuration::from_mins(10);
/// Maximum dry runs to remember; the oldest is dropped. Previews hold ids of rows to be erased, and are never stored.
const WAITING_MAX: usize = 64;

/// Remembers the results of dry runs: ids only, no text.
#[derive(Debug, Default)]
pub struct Confirmations {
    waiting: Mutex<VecDeque<WaitingErasure>>,
}

#[derive(Clone, Debug)]
struct WaitingErasure {
    id: ErasureId,
    scope: Scope,
    taken: ForgetSummary,
    until: Timestamp,
}

impl Confirmations {
    /// Remembers a dry run; returns the time until which it can be confirmed.
    pub fn await_confirmation(
        &self,
        id: ErasureId,
        scope: Scope,
        taken: ForgetSummary,
        now: Timestamp,
    ) -> Timestamp {
        let until = now.checked_add(CONFIRMATION_TIMEOUT).unwrap_or(now);
        let mut waiting = self.waiting.lock();
        waiting.retain(|known| known.until >= now);
        if waiting.len() >= WAITING_MAX {
            waiting.pop_front();
        }
        waiting.push_back(WaitingErasure { id, scope, taken, until });
        until
    }

    /// The preview with this id in this scope; `None` if it is unknown or expired.
    pub fn preview(&self, id: ErasureId, scope: &Scope, now: Timestamp) -> Option<ForgetSummary> {
        let waiting = self.waiting.lock();
        let known = waiting.iter().find(|known| known.id == id && known.scope == *scope);
        known.filter(|known| known.until >= now).map(|known| known.taken.clone())
    }

    /// Forgets a dry run that was confirmed.
    pub fn settle(&self, id: ErasureId) {
        self.waiting.lock().retain(|known| known.id != id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scope::{PersonaId, UserId};
    use uuid::Uuid;

    fn scope(user: &str) -> Scope {
        Scope::new(PersonaId::new("p").unwrap(), UserId::new(user).unwrap())
    }

    fn id(number: u128) -> ErasureId {
        ErasureId(Uuid::from_u128(number))
    }

    #[test]
    fn a_dry_run_is_good_for_its_scope_and_for_ten_minutes() {
        let (confirmations, now) = (Confirmations::default(), Timestamp::UNIX_EPOCH);
        let until = confirmations.await_confirmation(id(1), scope("ann"), ForgetSummary::default(), now);
        assert_eq!(until, now + CONFIRMATION_TIMEOUT);
        assert!(confirmations.preview(id(1), &scope("ann"), until).is_some());
        assert!(confirmations.preview(id(1), &scope("bob"), now).is_none());
        assert!(confirmations.preview(id(2), &scope("ann"), now).is_none());
        let late = until + SignedDuration::from_secs(1);
        assert!(confirmations.preview(id(1), &scope("ann"), late).is_none());
        confirmations.settle(id(1));
        assert!(confirmations.preview(id(1), &scope("ann"), now).is_none());
    }

    #[test]
    fn waiting_erasures_are_limited() {
        let (confirmations, now) = (Confirmations::default(), Timestamp::UNIX_EPOCH);
        for number in 0..=WAITING_MAX as u128 {
            confirmations.await_confirmation(id(number), scope("ann"), ForgetSummary::default(), now);
        }
        assert!(confirmations.preview(id(0), &scope("ann"), now).is_none());
        assert!(confirmations.preview(id(1), &scope("ann"), now).is_some());
    }
}
