//! Converts between columns and the memory's types.

use jiff::Timestamp;
use jiff::civil::Date;
use memory::core_blocks::CoreBlockLabel;
use memory::entities::{EntityKind, MergeStatus};
use memory::identifiers::{MessageId, NodeId, RejectedId, SessionId, TurnId};
use memory::messages::{Message, Role, Turn, TurnStatus};
use memory::nodes::{EventTime, Evidence, Node, NodeKind, RejectedMemory, RelationalTag, Subject};
use memory::ports::{ExpectationOutcome, ImportStatus, Remembering};
use memory::proactive::{ProactiveGate, ProactiveOutcome, ProactiveTrigger};
use memory::sessions::{CloseTrigger, Session, SessionStatus};
use memory::{PersonaId, Scope, UserId};
use serde::Serialize;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use crate::engine::sql::{Connection, Error, FromSql, Result, Row, ToSql};

/// An enum that is stored by its names.
pub(crate) trait StoredEnum: Copy + 'static {
    const ALL: &'static [Self];
    fn as_str(self) -> &'static str;
}

macro_rules! stored_words {
    ($($name:ident { $($variant:ident = $word:literal),+ })+) => {$(
        impl StoredEnum for $name {
            const ALL: &'static [Self] = &[$(Self::$variant),+];
            fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }
    )+};
}

stored_words! {
    Role { User = "user", Persona = "persona", Other = "other" }
    TurnStatus { Pending = "pending", Answered = "answered", Failed = "failed" }
    SessionStatus {
        Open = "open", Closing = "closing", Consolidating = "consolidating", Closed = "closed", Failed = "failed"
    }
    CloseTrigger {
        Idle = "idle", MaxLength = "max_length", Explicit = "explicit", Lifecycle = "lifecycle", Catchup = "catchup"
    }
    NodeKind { Event = "event", Thought = "thought", Intention = "intention", Expectation = "expectation" }
    Subject { User = "user", Persona = "persona", Shared = "shared" }
    EntityKind { Person = "person", Place = "place", Org = "org", Pet = "pet", Other = "other" }
    MergeStatus { Confirmed = "confirmed", Uncertain = "uncertain", Disambiguated = "disambiguated" }
    ExpectationOutcome { Fulfilled = "fulfilled", Expired = "expired" }
    ProactiveOutcome {
        Sent = "sent", NothingToSay = "nothing_to_say", Dropped = "dropped", Deferred = "deferred", Failed = "failed"
    }
    ProactiveGate {
        Muted = "muted", QuietHours = "quiet_hours", ColdUser = "cold_user", RateLimit = "rate_limit",
        TurnInFlight = "turn_in_flight", SpendCap = "spend_cap", TooLate = "too_late", NoTrigger = "no_trigger"
    }
    ProactiveTrigger {
        PromiseDue = "promise_due", ExpectationDue = "expectation_due", Shock = "shock",
        Anniversary = "anniversary", LongSilence = "long_silence"
    }
    ImportStatus { Recording = "recording", Recorded = "recorded" }
    Remembering { On = "on", Paused = "paused", Off = "off" }
    CoreBlockLabel { Persona = "persona", User = "user", Style = "style" }
}

/// Microseconds since 1970 in UTC.
pub(crate) fn microseconds(time: Timestamp) -> i64 {
    time.as_microsecond()
}

/// The time with the precision of the database, microseconds.
pub(crate) fn round_to_microseconds(time: Timestamp) -> Timestamp {
    Timestamp::from_microsecond(time.as_microsecond()).unwrap_or(time)
}

pub(crate) fn time(row: &Row<'_>, column: usize) -> Result<Timestamp> {
    Timestamp::from_microsecond(row.get(column)?).map_err(|error| unreadable_column(column, error))
}

pub(crate) fn optional_time(row: &Row<'_>, column: usize) -> Result<Option<Timestamp>> {
    let microseconds: Option<i64> = row.get(column)?;
    microseconds
        .map(Timestamp::from_microsecond)
        .transpose()
        .map_err(|error| unreadable_column(column, error))
}

pub(crate) fn read_date(row: &Row<'_>, column: usize) -> Result<Date> {
    row.get_ref(column)?.as_str()?.parse().map_err(|error| unreadable_column(column, error))
}

pub(crate) fn read_uuid(row: &Row<'_>, column: usize) -> Result<Uuid> {
    row.get(column).map(Uuid::from_bytes)
}

pub(crate) fn optional_uuid(row: &Row<'_>, column: usize) -> Result<Option<Uuid>> {
    Ok(row.get::<Option<[u8; 16]>>(column)?.map(Uuid::from_bytes))
}

pub(crate) fn read_enum<T: StoredEnum>(row: &Row<'_>, column: usize) -> Result<T> {
    let text = row.get_ref(column)?.as_str()?;
    stored_enum(text)
        .ok_or_else(|| unreadable_column(column, format!("{text:?} is not a word of this column")))
}

fn stored_enum<T: StoredEnum>(text: &str) -> Option<T> {
    T::ALL.iter().copied().find(|word| word.as_str() == text)
}

pub(crate) fn optional_enum<T: StoredEnum>(row: &Row<'_>, column: usize) -> Result<Option<T>> {
    row.get_ref(column)?.as_str_or_null()?.map(|_| read_enum(row, column)).transpose()
}

pub(crate) fn read_json<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> Result<T> {
    serde_json::from_str(row.get_ref(column)?.as_str()?).map_err(|error| unreadable_column(column, error))
}

/// JSON of a value made of texts, numbers and lists, for a column.
pub(crate) fn to_json<T: Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::Unstorable(Box::new(error)))
}

pub(crate) fn unreadable_column(
    column: usize,
    error: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> Error {
    Error::Unreadable { column, reason: error.into() }
}

/// A scope: the persona in this column and the user in the next.
pub(crate) fn scope(row: &Row<'_>, column: usize) -> Result<Scope> {
    let persona = PersonaId::new(row.get::<String>(column)?);
    let user = UserId::new(row.get::<String>(column + 1)?);
    let persona = persona.map_err(|error| unreadable_column(column, error))?;
    Ok(Scope::new(persona, user.map_err(|error| unreadable_column(column + 1, error))?))
}

/// Columns for [`read_message`]: `m` is `recall_messages`, `s` is `scopes`.
macro_rules! message_columns {
    () => {
        "m.seq, m.id, m.session_id, m.turn_id, m.channel_id, m.role, m.content, m.token_count, m.day, m.created_at, \
         m.incomplete, m.speaker, m.model, s.persona_id, s.user_id"
    };
}
pub(crate) use message_columns;

/// Number of the first column after [`message_columns`], for queries that select more.
pub(crate) const FIRST_COLUMN_AFTER_MESSAGE: usize = 15;

/// The numbers or keys returned by a statement with one parameter.
pub(crate) fn column<T: FromSql>(
    connection: &Connection,
    statement: &str,
    key: impl ToSql,
) -> Result<Vec<T>> {
    connection.prepare_cached(statement)?.query_map([key], |row| row.get(0))?.collect()
}

/// The end of a page as parameters; for the first page, a position newer than every row.
pub(crate) fn place_of(place: Option<(Timestamp, Uuid)>) -> (i64, [u8; 16]) {
    place.map_or((i64::MAX, [u8::MAX; 16]), |(at, id)| (microseconds(at), id.into_bytes()))
}

pub(crate) fn read_message(row: &Row<'_>) -> Result<Message> {
    Ok(Message {
        seq: row.get(0)?,
        id: MessageId(read_uuid(row, 1)?),
        session_id: SessionId(read_uuid(row, 2)?),
        turn_id: optional_uuid(row, 3)?.map(TurnId),
        channel_id: row.get(4)?,
        role: read_enum(row, 5)?,
        content: row.get(6)?,
        token_count: row.get(7)?,
        day: read_date(row, 8)?,
        created_at: time(row, 9)?,
        incomplete: row.get(10)?,
        speaker: row.get(11)?,
        model: row.get(12)?,
        scope: scope(row, 13)?,
    })
}

/// Columns for [`turn`]: `t` is `turns`, `s` is `scopes`.
macro_rules! turn_columns {
    () => {
        "t.id, t.channel_id, t.status, t.started_at, t.last_message_at, t.reason, s.persona_id, s.user_id"
    };
}
pub(crate) use turn_columns;

pub(crate) fn turn(row: &Row<'_>) -> Result<Turn> {
    Ok(Turn {
        id: TurnId(read_uuid(row, 0)?),
        channel_id: row.get(1)?,
        status: read_enum(row, 2)?,
        started_at: time(row, 3)?,
        last_message_at: time(row, 4)?,
        reason: row.get(5)?,
        scope: scope(row, 6)?,
    })
}

macro_rules! saved_memories_channel {
    () => {
        "'import-memories'"
    };
}
pub(crate) use saved_memories_channel;

/// Columns for [`session`]: `c` is `sessions`, `s` is `scopes`.
macro_rules! session_columns {
    () => {
        "c.id, c.channel_id, c.status, c.message_count, c.total_tokens, c.first_message_at, c.last_message_at, \
         c.closed_at, c.close_trigger, c.extracted, c.reflected, c.extracted_events, c.trivial, c.summary, c.attempts, \
         c.last_error, c.retry_at, c.title, s.persona_id, s.user_id"
    };
}
pub(crate) use session_columns;

/// Number of the first column after [`session_columns`].
pub(crate) const COLUMNS_AFTER_SESSION: usize = 20;

pub(crate) fn session(row: &Row<'_>) -> Result<Session> {
    Ok(Session {
        id: SessionId(read_uuid(row, 0)?),
        channel_id: row.get(1)?,
        status: read_enum(row, 2)?,
        message_count: row.get(3)?,
        total_tokens: row.get(4)?,
        first_message_at: time(row, 5)?,
        last_message_at: time(row, 6)?,
        closed_at: optional_time(row, 7)?,
        close_trigger: optional_enum(row, 8)?,
        extracted: row.get(9)?,
        reflected: row.get(10)?,
        extracted_events: row.get(11)?,
        trivial: row.get(12)?,
        summary: row.get(13)?,
        attempts: row.get(14)?,
        last_error: row.get(15)?,
        retry_at: optional_time(row, 16)?,
        title: row.get(17)?,
        scope: scope(row, 18)?,
    })
}

/// Columns for [`read_node`]: `n` is `concept_nodes`.
macro_rules! node_columns {
    () => {
        "n.seq, n.id, n.type, n.description, n.emotional_impact, n.emotion_tags, n.relational_tags, n.subject, \
         n.event_time_start, n.event_time_end, n.source_session_id, n.mention_count, n.superseded_by, n.pinned, \
         n.access_count, n.last_accessed_at, n.created_at"
    };
}
pub(crate) use node_columns;

/// Number of the first column after [`node_columns`], for queries that select more.
pub(crate) const FIRST_COLUMN_AFTER_NODE: usize = 17;

pub(crate) fn read_node(row: &Row<'_>) -> Result<Node> {
    Ok(Node {
        seq: row.get(0)?,
        id: NodeId(read_uuid(row, 1)?),
        kind: read_enum(row, 2)?,
        description: row.get(3)?,
        emotional_impact: row.get(4)?,
        emotion_tags: read_words(row, 5)?,
        relational_tags: read_words(row, 6)?.iter().filter_map(|tag| RelationalTag::parse(tag)).collect(),
        subject: read_enum(row, 7)?,
        event_time: event_time(row, 8)?,
        source_session_id: optional_uuid(row, 10)?.map(SessionId),
        mention_count: row.get(11)?,
        superseded_by: optional_uuid(row, 12)?.map(NodeId),
        pinned: row.get(13)?,
        access_count: row.get(14)?,
        last_accessed_at: optional_time(row, 15)?,
        created_at: time(row, 16)?,
    })
}

/// An event time: the start in this column and the end in the next.
pub(crate) fn event_time(row: &Row<'_>, column: usize) -> Result<Option<EventTime>> {
    let start = optional_time(row, column)?;
    start.map(|start| Ok(EventTime { start, end: optional_time(row, column + 1)? })).transpose()
}

/// A JSON list of words. Most are empty or have plain words, which need no parser.
fn read_words(row: &Row<'_>, column: usize) -> Result<Vec<String>> {
    let text = row.get_ref(column)?.as_str()?;
    if text == "[]" {
        return Ok(Vec::new());
    }
    let plain = text.strip_prefix("[\"").and_then(|text| text.strip_suffix("\"]"));
    match plain.filter(|words| !words.contains('\\')) {
        Some(words) if !words.replace("\",\"", "").contains('"') => {
            Ok(words.split("\",\"").map(str::to_owned).collect())
        }
        _ => read_json(row, column),
    }
}

/// Reads `quote, span_start, span_end` and the message's id.
pub(crate) fn evidence(row: &Row<'_>) -> Result<Evidence> {
    Ok(Evidence {
        quote: row.get(0)?,
        start: row.get(1)?,
        end: row.get(2)?,
        message_id: MessageId(read_uuid(row, 3)?),
    })
}

/// Reads `id, session_id, description, emotional_impact, evidence, reason, created_at, proposal`.
pub(crate) fn rejected_memory(row: &Row<'_>) -> Result<RejectedMemory> {
    Ok(RejectedMemory {
        id: RejectedId(read_uuid(row, 0)?),
        session_id: SessionId(read_uuid(row, 1)?),
        description: row.get(2)?,
        emotional_impact: row.get(3)?,
        evidence: read_json(row, 4)?,
        reason: row.get(5)?,
        created_at: time(row, 6)?,
        proposal: read_json(row, 7)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sql_names_the_channel_of_saved_memories() {
        assert_eq!(saved_memories_channel!(), format!("'{}'", memory::sessions::SAVED_MEMORIES_CHANNEL));
    }

    #[test]
    fn lists_of_words_come_back_as_they_were() {
        let connection = crate::engine::plans::empty_database();
        let lists: [&[&str]; 7] =
            [&[], &["calm"], &["calm", "安心"], &[""], &["a\"b", "c\\d"], &["[", ","], &["\",\"", "x\ny"]];
        for list in lists {
            let stored = to_json(&list).unwrap();
            let read: Vec<String> =
                connection.query_row("SELECT ?1", [&stored], |row| read_words(row, 0)).unwrap();
            assert_eq!(read, list, "{stored}");
        }
        let spaced = connection.query_row(r#"SELECT '["a", "b"]'"#, [], |row| read_words(row, 0)).unwrap();
        assert_eq!(spaced, ["a", "b"]);
    }
}
