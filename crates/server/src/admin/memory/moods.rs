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

/// Default length of the period, in days: a year.
const DAYS_DEFAULT: u32 = 365;
/// Maximum length of the period, in days: about a hundred years.
const DAYS_MAX: u32 = 36_500;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct MoodHistoryQuery {
    /// Length of the period, in days of 24 hours: 1 to 36,500, 365 by default.
    days: Option<u32>,
    limit: Option<u32>,
    /// The `next_cursor` of the preceding page.
    cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct MoodHistory {
    /// Start of the period.
    since: Timestamp,
    items: Vec<MoodShiftBody>,
    next_cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct MoodShiftBody {
    at: Timestamp,
    mood: String,
    /// Energy from 0 (exhausted) to 10 (very energetic).
    energy: u8,
    last_user_signal: Option<String>,
    /// True if the mood is neutral, in any word for it.
    neutral: bool,
    /// The session after which the mood was stored; `null` for one from before the history existed.
    session_id: Option<SessionId>,
}

/// Handler of `GET /api/admin/memory/mood/history`: one item for each session with a mood.
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
