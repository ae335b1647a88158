//! What became memory, and when.

use std::fmt;
use std::str::FromStr;

use axum::Json;
use axum::extract::State;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use memory::nodes::NodeKind;
use memory::ports::TimelineItem;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::auth::Admin;
use crate::extract::{InScope, Query, page_size};
use crate::problem::Problem;
use crate::state::App;

const PAGE_DEFAULT: u32 = 50;
/// Items of one moment that a cursor can step over.
const SAME_MOMENT_MAX: u32 = 100_000;
/// The store's unit of time.
const TICK: SignedDuration = SignedDuration::from_micros(1);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Page {
    limit: Option<u32>,
    since: Option<String>,
    cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Timeline {
    items: Vec<Item>,
    oldest_timestamp: Option<Timestamp>,
    limit: u32,
    next_cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TimelineEntry")]
struct Item {
    kind: &'static str,
    timestamp: Timestamp,
    data: Value,
}

/// Where a page ended: how many items of its oldest moment have been shown. One session becomes memory in one moment,
/// so a moment alone is no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cursor {
    at: Timestamp,
    shown: u32,
}

/// `GET /api/admin/memory/timeline`: newest first. `cursor` goes on without loss; `since` (of the compatible
/// interface: a moment, exclusive, older things follow) passes over what else happened in that very moment.
pub(crate) async fn timeline(
    State(app): State<App>,
    Admin(_): Admin,
    InScope(scope): InScope,
    Query(page): Query<Page>,
) -> Result<Json<Timeline>, Problem> {
    let limit = page_size(page.limit, PAGE_DEFAULT)?;
    let cursor = page.cursor.as_deref().map(Cursor::from_str).transpose()?;
    let before = match (cursor, &page.since) {
        (Some(cursor), _) => Some(cursor.at.saturating_add(TICK).unwrap_or(Timestamp::MAX)),
        (None, Some(since)) => Some(moment(since)?),
        (None, None) => None,
    };
    let shown = cursor.map_or(0, |cursor| cursor.shown);
    let mut rows = app.runtime().store().timeline(&scope, before, shown + limit + 1).await?;
    rows.drain(..rows.len().min(shown as usize));
    let has_more = rows.len() > limit as usize;
    rows.truncate(limit as usize);
    let next = rows.last().filter(|_| has_more).map(|(oldest, _)| {
        let on_page = u32::try_from(rows.iter().filter(|(at, _)| at == oldest).count()).unwrap_or(limit);
        let earlier = cursor.filter(|cursor| cursor.at == *oldest).map_or(0, |cursor| cursor.shown);
        Cursor { at: *oldest, shown: earlier + on_page }
    });
    Ok(Json(Timeline {
        oldest_timestamp: rows.last().map(|(at, _)| *at),
        items: rows.into_iter().map(|(timestamp, item)| shape(timestamp, item)).collect(),
        limit,
        next_cursor: next.map(|cursor| cursor.to_string()),
    }))
}

fn shape(timestamp: Timestamp, item: TimelineItem) -> Item {
    let (kind, data) = match item {
        TimelineItem::Node(node) => (
            if node.kind == NodeKind::Event { "event" } else { "thought" },
            json!({"node_id": node.id, "type": node.kind, "subject": node.subject, "description": node.description,
                "emotional_impact": node.emotional_impact, "session_id": node.source_session_id}),
        ),
        TimelineItem::Entity(entity) => (
            "entity",
            json!({"entity_id": entity.id, "canonical_name": entity.canonical_name, "kind": entity.kind,
                "merge_status": entity.merge_status}),
        ),
        TimelineItem::EntityDescribed(entity) => (
            "entity_description",
            json!({"entity_id": entity.id, "canonical_name": entity.canonical_name, "kind": entity.kind,
                "merge_status": entity.merge_status, "description": entity.description,
                "source": if entity.owner_override { "owner" } else { "slow_tick" }}),
        ),
        TimelineItem::SessionClosed { session, events, thoughts } => {
            let duration = session.last_message_at.duration_since(session.first_message_at).as_secs();
            (
                "session_close",
                json!({"session_id": session.id, "channel_id": session.channel_id, "events_count": events,
                    "thoughts_count": thoughts, "duration_seconds": duration, "trivial": session.trivial}),
            )
        }
        TimelineItem::Mood(mood) => (
            "mood",
            json!({"mood": mood.mood, "energy": mood.energy, "last_user_signal": mood.last_user_signal}),
        ),
    };
    Item { kind, timestamp, data }
}

/// A moment with its offset, or without one: then it is UTC, as the compatible interface wrote it.
fn moment(text: &str) -> Result<Timestamp, Problem> {
    let civil = || text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp());
    let found = text.parse().ok().or_else(civil);
    found.ok_or_else(|| Problem::unprocessable("since: a moment is written like 2026-05-02T19:04:11Z"))
}

impl FromStr for Cursor {
    type Err = Problem;

    fn from_str(text: &str) -> Result<Self, Problem> {
        let parsed = text.split_once('~').and_then(|(at, shown)| {
            Some(Self {
                at: at.parse().ok()?,
                shown: shown.parse().ok().filter(|shown| *shown <= SAME_MOMENT_MAX)?,
            })
        });
        parsed
            .ok_or_else(|| Problem::unprocessable("cursor: it has to be the next_cursor of an earlier page"))
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}~{}", self.at, self.shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_survives_its_trip_to_the_client() {
        let cursor = Cursor { at: "2026-05-02T19:04:11.120003Z".parse().unwrap(), shown: 3 };
        assert_eq!(cursor.to_string().parse::<Cursor>().ok(), Some(cursor));
        for bad in
            ["", "~", "2026-05-02T19:04:11Z", "2026-05-02T19:04:11Z~-1", "2026-05-02T19:04:11Z~4000000000"]
        {
            assert!(bad.parse::<Cursor>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_moment_may_come_without_its_offset() {
        let utc: Timestamp = "2026-05-02T19:04:11.5Z".parse().unwrap();
        assert_eq!(moment("2026-05-02T19:04:11.5").ok(), Some(utc));
        assert_eq!(moment("2026-05-02T21:04:11.5+02:00").ok(), Some(utc));
        assert!(moment("yesterday").is_err());
    }
}
