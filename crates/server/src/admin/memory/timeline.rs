//! The timeline of stored memories.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use memory::Scope;
use memory::entities::{EntityKind, MergeStatus};
use memory::identifiers::{EntityId, NodeId, SessionId};
use memory::mood::MoodShift;
use memory::nodes::{EventTime, Node, NodeKind, Subject};
use memory::ports::TimelineItem;
use memory::recall::{FormerValue, OutdatedValues};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::Admin;
use crate::cursor::{Cursor, not_a_cursor};
use crate::extract::{Query, ScopeParam, page_size};
use crate::problem::Problem;
use crate::state::App;

const PAGE_DEFAULT: u32 = 50;
/// Maximum items of the same time that a cursor can skip. An import can give that many messages the same second.
const ITEMS_OF_MOMENT_MAX: u32 = 100_000;
/// The store's unit of time.
const TIME_UNIT: SignedDuration = SignedDuration::from_micros(1);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct TimelineQuery {
    limit: Option<u32>,
    since: Option<String>,
    cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Timeline {
    items: Vec<TimelineEntry>,
    oldest_timestamp: Option<Timestamp>,
    limit: u32,
    next_cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct TimelineEntry {
    /// `event`, `thought`, `entity`, `entity_description`, `session_close` or `mood`.
    kind: &'static str,
    timestamp: Timestamp,
    data: TimelineData,
}

/// The subject of a timeline entry; its `kind` says which.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum TimelineData {
    Node {
        node_id: NodeId,
        #[serde(rename = "type")]
        kind: NodeKind,
        subject: Subject,
        description: String,
        emotional_impact: i8,
        session_id: Option<SessionId>,
        /// Period in which the event happened or is due.
        event_time: Option<EventTime>,
        /// Time of the messages that are its evidence.
        said_at: Timestamp,
        /// A value in it that was replaced, with the current one.
        #[serde(skip_serializing_if = "Option::is_none")]
        no_longer_current: Option<FormerValue>,
    },
    EntityDescribed {
        entity_id: EntityId,
        canonical_name: String,
        kind: EntityKind,
        merge_status: MergeStatus,
        description: Option<String>,
        /// Either `owner` or `slow_tick`.
        source: &'static str,
    },
    Entity {
        entity_id: EntityId,
        canonical_name: String,
        kind: EntityKind,
        merge_status: MergeStatus,
    },
    SessionClosed {
        session_id: SessionId,
        channel_id: String,
        events_count: u32,
        thoughts_count: u32,
        duration_seconds: i64,
        /// Time of the session's last message.
        ended_at: Timestamp,
        trivial: bool,
    },
    Mood {
        mood: String,
        energy: u8,
        last_user_signal: Option<String>,
    },
}

/// Position of an item: its time, then its kind, then its number or id, all descending. The time alone is not unique,
/// because consolidating a session stores many items at one time.
type SortKey = (i64, Reverse<u8>, String);

/// Handler of `GET /api/admin/memory/timeline`, newest first. `cursor` continues without gaps; `since` (of the
/// compatible interface: only older items follow) skips other items of that very time.
pub(crate) async fn timeline(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    Query(page): Query<TimelineQuery>,
) -> Result<Json<Timeline>, Problem> {
    let limit = page_size(page.limit, PAGE_DEFAULT)?;
    let last = page.cursor.as_deref().map(Cursor::<SortKey>::read).transpose()?.map(|Cursor(place)| place);
    let before = match (&last, &page.since) {
        (Some((at, ..)), _) => Some(Timestamp::from_microsecond(*at).map_err(|_| not_a_cursor())?),
        (None, Some(since)) => Some(parse_moment(since)?),
        (None, None) => None,
    };
    let before = before.map(|at| match last {
        Some(_) => at.saturating_add(TIME_UNIT).unwrap_or(Timestamp::MAX),
        None => at,
    });
    let (rows, has_more) = rows_after(&app, &scope, before, last.as_ref(), limit).await?;
    let next = rows.last().filter(|_| has_more).map(|(at, item)| Cursor(sort_key(*at, item)).encode());
    let nodes = rows.iter().filter_map(|(_, item)| match item {
        TimelineItem::Node(node) => Some(Node::clone(node)),
        _ => None,
    });
    let nodes: Vec<Node> = nodes.collect();
    let former = OutdatedValues::former_values_in_nodes(app.runtime().store(), &scope, &nodes).await?;
    let seqs: Vec<i64> = nodes.iter().map(|node| node.seq).collect();
    let said_at = app.runtime().store().said_at(&seqs).await?;
    Ok(Json(Timeline {
        oldest_timestamp: rows.last().map(|(at, _)| *at),
        items: rows
            .into_iter()
            .map(|(timestamp, item)| timeline_entry(timestamp, item, &former, &said_at))
            .collect(),
        limit,
        next_cursor: next,
    }))
}

/// At most `limit` rows after the last one that was returned, and true if there are more. Rows written meanwhile with
/// the same time may be before the cursor, so more are requested until enough are after it.
async fn rows_after(
    app: &App,
    scope: &Scope,
    before: Option<Timestamp>,
    last: Option<&SortKey>,
    limit: u32,
) -> Result<(Vec<(Timestamp, TimelineItem)>, bool), Problem> {
    let mut reach = limit + 1;
    loop {
        let rows = app.runtime().store().timeline(scope, before, reach).await?;
        let is_all = rows.len() < reach as usize;
        let is_behind =
            |(at, item): &(Timestamp, TimelineItem)| last.is_none_or(|last| sort_key(*at, item) < *last);
        let mut behind: Vec<_> = rows.into_iter().filter(is_behind).collect();
        if is_all || behind.len() > limit as usize || reach >= ITEMS_OF_MOMENT_MAX {
            let has_more = behind.len() > limit as usize || !is_all;
            behind.truncate(limit as usize);
            return Ok((behind, has_more));
        }
        reach = reach.saturating_mul(2);
    }
}

/// The position of an item, in the order of the store.
fn sort_key(at: Timestamp, item: &TimelineItem) -> SortKey {
    let (rank, name) = match item {
        TimelineItem::Node(node) => (0, format!("{:020}", node.seq)),
        TimelineItem::Entity(entity) => (1, entity.id.to_string()),
        TimelineItem::EntityDescribed(entity) => (2, entity.id.to_string()),
        TimelineItem::SessionClosed { session, .. } => (3, session.id.to_string()),
        TimelineItem::Mood(shift) => (4, format!("{:020}", shift.seq)),
    };
    (at.as_microsecond(), Reverse(rank), name)
}

fn timeline_entry(
    timestamp: Timestamp,
    item: TimelineItem,
    former: &BTreeMap<NodeId, FormerValue>,
    said_at: &BTreeMap<i64, Timestamp>,
) -> TimelineEntry {
    let (kind, data) = match item {
        TimelineItem::Node(node) => (
            if node.kind == NodeKind::Event { "event" } else { "thought" },
            TimelineData::Node {
                node_id: node.id,
                kind: node.kind,
                subject: node.subject,
                description: node.description,
                emotional_impact: node.emotional_impact,
                session_id: node.source_session_id,
                event_time: node.event_time,
                said_at: said_at.get(&node.seq).copied().unwrap_or(node.created_at),
                no_longer_current: former.get(&node.id).cloned(),
            },
        ),
        TimelineItem::Entity(entity) => (
            "entity",
            TimelineData::Entity {
                entity_id: entity.id,
                canonical_name: entity.canonical_name,
                kind: entity.kind,
                merge_status: entity.merge_status,
            },
        ),
        TimelineItem::EntityDescribed(entity) => (
            "entity_description",
            TimelineData::EntityDescribed {
                entity_id: entity.id,
                canonical_name: entity.canonical_name,
                kind: entity.kind,
                merge_status: entity.merge_status,
                description: entity.description,
                source: if entity.owner_override { "owner" } else { "slow_tick" },
            },
        ),
        TimelineItem::SessionClosed { session, events, thoughts } => {
            let duration = session.last_message_at.duration_since(session.first_message_at).as_secs();
            (
                "session_close",
                TimelineData::SessionClosed {
                    session_id: session.id,
                    channel_id: session.channel_id,
                    events_count: events,
                    thoughts_count: thoughts,
                    duration_seconds: duration,
                    ended_at: session.last_message_at,
                    trivial: session.trivial,
                },
            )
        }
        TimelineItem::Mood(MoodShift { mood, .. }) => (
            "mood",
            TimelineData::Mood {
                mood: mood.mood,
                energy: mood.energy,
                last_user_signal: mood.last_user_signal,
            },
        ),
    };
    TimelineEntry { kind, timestamp, data }
}

/// Parses a time with its offset; without one as UTC, as in the compatible interface.
fn parse_moment(text: &str) -> Result<Timestamp, Problem> {
    let civil = || text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp());
    let found = text.parse().ok().or_else(civil);
    found.ok_or_else(|| Problem::unprocessable("since: must be a time like 2026-05-02T19:04:11Z"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_may_come_without_its_offset() {
        let utc: Timestamp = "2026-05-02T19:04:11.5Z".parse().unwrap();
        assert_eq!(parse_moment("2026-05-02T19:04:11.5").ok(), Some(utc));
        assert_eq!(parse_moment("2026-05-02T21:04:11.5+02:00").ok(), Some(utc));
        assert!(parse_moment("yesterday").is_err());
    }
}
