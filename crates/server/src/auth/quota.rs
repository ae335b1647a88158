//! How many replies a named token may ask for in a day, what they may cost, and how many users it may create.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use memory::UserId;
use memory::identifiers::TurnId;

use super::Principal;
use crate::problem::Problem;
use crate::state::App;

/// Users of a token for which no number was said.
const USERS_MAX: u32 = 100;
/// Tokens whose day is remembered; beyond that all are counted again from the database.
const TOKENS_MAX: usize = 10_000;

/// Replies of the present day, by the public part of the token.
#[derive(Default)]
pub(crate) struct TurnCounts(Mutex<HashMap<String, DayCount>>);

#[derive(Clone, Copy)]
struct DayCount {
    midnight: Timestamp,
    turns: u64,
}

impl TurnCounts {
    /// Counts one more if there are fewer than `turns_max`; none if this day of the token was not counted yet.
    fn take(&self, prefix: &str, midnight: Timestamp, turns_max: u64) -> Option<bool> {
        // Nothing that holds the lock can leave the map half-changed.
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let day = all.get_mut(prefix).filter(|day| day.midnight == midnight)?;
        let has_room = day.turns < turns_max;
        day.turns += u64::from(has_room);
        Some(has_room)
    }

    /// Takes back what [`Self::take`] counted, if it is still the same day.
    fn give_back(&self, prefix: &str, midnight: Timestamp) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(day) = all.get_mut(prefix).filter(|day| day.midnight == midnight) {
            day.turns = day.turns.saturating_sub(1);
        }
    }

    fn begin(&self, prefix: &str, midnight: Timestamp, turns: u64) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= TOKENS_MAX {
            all.clear();
        }
        let day = all.entry(prefix.to_owned()).or_insert(DayCount { midnight, turns });
        if day.midnight != midnight {
            *day = DayCount { midnight, turns };
        }
    }
}

/// A reply that a token may ask for. Dropped before [`Self::note`], it is not counted.
#[must_use]
pub(crate) struct AdmittedTurn {
    app: App,
    /// None for the owner, whom nobody limits.
    prefix: Option<String>,
    midnight: Timestamp,
}

impl AdmittedTurn {
    /// Stores which reply it was, behind the request: for the count after a restart, and for what it costs.
    pub(crate) fn note(mut self, turn: TurnId) {
        let Some(prefix) = self.prefix.take() else { return };
        let (access, now) = (self.app.parts.access.clone(), self.app.now());
        tokio::spawn(async move {
            if let Err(error) = access.add_token_turn(&prefix, now, turn).await {
                tracing::warn!("a reply was not counted for the token that asked for it: {error}");
            }
        });
    }
}

impl Drop for AdmittedTurn {
    fn drop(&mut self) {
        if let Some(prefix) = &self.prefix {
            self.app.turn_counts.give_back(prefix, self.midnight);
        }
    }
}

/// Refuses a reply beyond what the token may ask for today, and a user beyond those that it may create.
pub(crate) async fn admit_turn(
    app: &App,
    principal: &Principal,
    user: &UserId,
) -> Result<AdmittedTurn, Problem> {
    let (midnight, tomorrow) = app.runtime().day();
    let Some(prefix) = &principal.prefix else {
        return Ok(AdmittedTurn { app: app.clone(), prefix: None, midnight });
    };
    admit_user(app, principal, prefix, user).await?;
    let settings = app.parts.settings.load();
    let access = &app.parts.access;
    if settings.usd_per_day > 0.0 {
        let (_, spent) = access.token_use(prefix, midnight).await?;
        if spent >= settings.usd_per_day {
            let reason = "limits.usd_per_day: what this token may spend today is spent";
            return Err(used_up(app, tomorrow, reason));
        }
    }
    let turns_max = if settings.turns_per_day == 0 { u64::MAX } else { settings.turns_per_day };
    let counts = &app.turn_counts;
    let mut has_room = counts.take(prefix, midnight, turns_max);
    if has_room.is_none() {
        let (turns, _) = access.token_use(prefix, midnight).await?;
        counts.begin(prefix, midnight, turns);
        has_room = counts.take(prefix, midnight, turns_max);
    }
    if has_room == Some(false) {
        let reason = "limits.turns_per_day: this token has asked for as many replies as it may today";
        return Err(used_up(app, tomorrow, reason));
    }
    Ok(AdmittedTurn { app: app.clone(), prefix: Some(prefix.clone()), midnight })
}

async fn admit_user(app: &App, principal: &Principal, prefix: &str, user: &UserId) -> Result<(), Problem> {
    if principal.user.is_some() || app.runtime().store().user(user).await?.is_some() {
        return Ok(());
    }
    let users_max = principal.users_max.unwrap_or(USERS_MAX);
    if app.parts.access.admit_user(prefix, user, users_max).await? {
        return Ok(());
    }
    app.runtime().metrics().refused("users");
    let detail = format!(
        "user_id: this token has created as many users as it may ({users_max}); nothing was saved. The owner can create \
         the user, or a token with a larger `--users`"
    );
    Err(Problem::forbidden(detail))
}

fn used_up(app: &App, tomorrow: Timestamp, reason: &str) -> Problem {
    app.runtime().metrics().refused("quota");
    let wait = u64::try_from(tomorrow.duration_since(app.now()).as_secs()).unwrap_or_default();
    Problem::too_many_turns(format!("{reason}; nothing was saved, and it begins again at {tomorrow}"))
        .with_retry_after(wait.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_counted_from_what_is_known_of_it() {
        let counts = TurnCounts::default();
        let at = |second: i64| Timestamp::from_second(second).unwrap();
        assert_eq!(counts.take("a1", at(0), 3), None);
        counts.begin("a1", at(0), 1);
        assert_eq!([(); 3].map(|()| counts.take("a1", at(0), 3)), [Some(true), Some(true), Some(false)]);
        counts.begin("a1", at(0), 0);
        assert_eq!(counts.take("a1", at(0), 3), Some(false), "who counts at the same time changes nothing");
        assert_eq!(counts.take("a1", at(0), 4), Some(true), "a larger limit holds at once");
        counts.give_back("a1", at(0));
        assert_eq!([(); 2].map(|()| counts.take("a1", at(0), 4)), [Some(true), Some(false)]);
        counts.give_back("a1", at(86_400));
        assert_eq!(counts.take("a1", at(0), 4), Some(false), "another day's reply is not taken off this day");
        assert_eq!(counts.take("a1", at(86_400), 3), None, "the next day starts at zero");
        assert_eq!(counts.take("b2", at(0), 3), None, "another token has its own");
    }
}
