//! The history of the persona's mood.

use axum::Json;
use axum::extract::State;
use jiff::{SignedDuration, Timestamp};
use memory::identifiers::SessionId;
use memory::mood::MoodShift;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::Admin;
use crate::cursor::{Cursor, page_of};
use crate::extract::{LIST_LIMIT_MAX, Query, ScopeParam, page_size};
use crate::problem::Problem;
use crate::state::App;

/// Days that are listed unless the query says otherwise: a year.
const DAYS_DEFAULT: u32 = 365;
/// Longest period, in days: about a hundred years.
const DAYS_MAX: u32 = 36_500;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct MoodHistoryQuery {
    /// Length of the period, in days of 24 hours: 1 to 36,500, 365 by default.
    days: Option<u32>,
    limit: Option<u32>,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct MoodHistory {
    /// Beginning of the time that is listed.
    since: Timestamp,
    items: Vec<MoodShiftBody>,
    next_cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct MoodShiftBody {
    at: Timestamp,
    mood: String,
    /// 0 (drained) to 10 (bursting).
    energy: u8,
    last_user_signal: Option<String>,
    /// True if the mood is a neutral one, by any word for it.
    neutral: bool,
    /// The session that left it; `null` for one from before the history was kept.
    session_id: Option<SessionId>,
}

/// `GET /api/admin/memory/mood/history`: one item for each session that left a mood.
pub(crate) async fn history(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    Query(asked): Query<MoodHistoryQuery>,
) -> Result<Json<MoodHistory>, Problem> {
    let limit = page_size(asked.limit, LIST_LIMIT_MAX)?;
    let days = asked.days.unwrap_or(DAYS_DEFAULT);
    if !(1..=DAYS_MAX).contains(&days) {
        return Err(Problem::unprocessable(format!("days: must be 1 to {DAYS_MAX}")));
    }
    let cursor = asked.cursor.as_deref().map(Cursor::<(Timestamp, i64)>::read).transpose()?;
    let back = SignedDuration::from_hours(i64::from(days) * 24);
    let since = app.now().saturating_sub(back).unwrap_or(Timestamp::MIN);
    let before = cursor.map(|Cursor(place)| place);
    let found = app.runtime().store().mood_history(&scope, since, before, limit + 1).await?;
    let (found, next) = page_of(found, limit, |shift| (shift.mood.updated_at, shift.seq));
    let next_cursor = next.map(|place| Cursor(place).encode());
    Ok(Json(MoodHistory { since, items: found.into_iter().map(shift_body).collect(), next_cursor }))
}

fn shift_body(shift: MoodShift) -> MoodShiftBody {
    let neutral = shift.mood.is_neutral();
    MoodShiftBody {
        at: shift.mood.updated_at,
        mood: shift.mood.mood,
        energy: shift.mood.energy,
        last_user_signal: shift.mood.last_user_signal,
        neutral,
        session_id: shift.session_id,
    }
}
