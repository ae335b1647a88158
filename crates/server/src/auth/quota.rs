//! Daily quotas of named tokens: number and cost of replies, and number of users.

use jiff::Timestamp;
use memory::UserId;
use memory::identifiers::TurnId;

use super::principal::Principal;
use crate::problem::Problem;
use crate::state::App;
use crate::tasks::spawn;

/// Default maximum of users that a token may create. It is enough for a group of friends, and stops a program that
/// invents a user for each request.
const USERS_MAX: u32 = 100;
/// A reply that was counted against a token's quota. If it is dropped before [`Self::note`], it does not count.
#[must_use]
pub(crate) struct AdmittedTurn {
    app: App,
    /// The token's public part; `None` for the owner, who has no quota.
    prefix: Option<String>,
    midnight: Timestamp,
}

impl AdmittedTurn {
    /// Stores the reply's turn after the request, so that it counts after a restart and its cost is known.
    pub(crate) fn note(mut self, turn: TurnId) {
        let Some(prefix) = self.prefix.take() else { return };
        let (access, now) = (self.app.parts.access.clone(), self.app.now());
        spawn(Box::pin(async move {
            if let Err(error) = access.add_token_turn(&prefix, now, turn).await {
                tracing::warn!("a reply was not counted for its token: {error}");
            }
        }));
    }
}

impl Drop for AdmittedTurn {
    fn drop(&mut self) {
        if let Some(prefix) = &self.prefix {
            self.app.turn_counts.remove_counted_turn(prefix, self.midnight);
        }
    }
}

/// Refuses a reply beyond the token's quota of the day, and a user beyond those that it may create.
pub(crate) async fn admit_turn(
    app: &App,
    principal: &Principal,
    user: &UserId,
) -> Result<AdmittedTurn, Problem> {
    let (midnight, tomorrow) = app.runtime().current_day();
    let Some(prefix) = &principal.prefix else {
        return Ok(AdmittedTurn { app: app.clone(), prefix: None, midnight });
    };
    admit_user(app, principal, prefix, user).await?;
    let settings = app.parts.settings.load();
    let access = &app.parts.access;
    if settings.usd_per_day > 0.0 {
        let (_, spent) = access.token_use(prefix, midnight).await?;
        if spent >= settings.usd_per_day {
            let reason = "limits.usd_per_day: this token has reached its daily spending limit";
            return Err(quota_problem(app, tomorrow, reason));
        }
    }
    let turns_max = if settings.turns_per_day == 0 { u64::MAX } else { settings.turns_per_day };
    let counts = &app.turn_counts;
    let mut has_room = counts.count_turn(prefix, midnight, turns_max);
    if has_room.is_none() {
        let (turns, _) = access.token_use(prefix, midnight).await?;
        counts.begin(prefix, midnight, turns);
        has_room = counts.count_turn(prefix, midnight, turns_max);
    }
    if has_room == Some(false) {
        let reason = "limits.turns_per_day: this token has reached its daily limit of replies";
        return Err(quota_problem(app, tomorrow, reason));
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
    app.runtime().metrics().count_refusal("users");
    let detail = format!(
        "user_id: this token has created its maximum of {users_max} users; nothing was saved. The owner can \
            create the user, or a token with a larger `--users`"
    );
    Err(Problem::forbidden(detail))
}

fn quota_problem(app: &App, tomorrow: Timestamp, reason: &str) -> Problem {
    app.runtime().metrics().count_refusal("quota");
    let wait = u64::try_from(tomorrow.duration_since(app.now()).as_secs()).unwrap_or_default();
    Problem::too_many_turns(format!("{reason}; nothing was saved. The limit resets at {tomorrow}"))
        .with_retry_after(wait.max(1))
}
