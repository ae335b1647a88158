use std::fmt;

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// Time of a message, as precise as in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageTime {
    /// A point in time.
    Instant(Timestamp),
    /// Local time without a zone; a [`crate::Mapping`] names the zone.
    Local(DateTime),
    /// The file gives no time.
    Unknown,
}

impl MessageTime {
    /// The time for seconds since 1970; `Unknown` outside the years -9999 to 9999.
    pub(crate) fn from_seconds(seconds: f64) -> Self {
        SignedDuration::try_from_secs_f64(seconds)
            .ok()
            .and_then(|since| Timestamp::from_duration(since).ok())
            .map_or(Self::Unknown, |at| Self::Instant(at.round(jiff::Unit::Microsecond).unwrap_or(at)))
    }

    /// The time for milliseconds since 1970.
    pub(crate) fn from_millis(millis: i64) -> Self {
        Timestamp::from_millisecond(millis).map_or(Self::Unknown, Self::Instant)
    }

    /// Parses ISO 8601, with or without an offset (`2026-01-05T10:00:00Z`, `2026-01-05 10:00`, `2026-01-05`), or a
    /// number of seconds or milliseconds since 1970.
    pub(crate) fn parse(text: &str) -> Self {
        let text = text.trim().trim_end_matches(" UTC").trim();
        if let Ok(number) = text.parse::<f64>() {
            return Self::from_number(number);
        }
        if let Ok(at) = text.parse::<Timestamp>() {
            return Self::Instant(at);
        }
        if let Ok(at) = text.parse::<DateTime>() {
            return Self::Local(at);
        }
        text.replace('/', "-").parse::<DateTime>().map_or(Self::Unknown, Self::Local)
    }

    /// Reads a number as seconds, or as milliseconds if seconds would be after the year 5138.
    pub(crate) fn from_number(number: f64) -> Self {
        if number.abs() < 1e11 { Self::from_seconds(number) } else { Self::from_seconds(number / 1000.0) }
    }

    /// Calendar day in its own zone; in UTC for points in time.
    pub fn civil_day(&self) -> Option<Date> {
        match self {
            Self::Instant(at) => Some(at.to_zoned(TimeZone::UTC).date()),
            Self::Local(at) => Some(at.date()),
            Self::Unknown => None,
        }
    }

    /// Converts to a point in time, reading local times in `zone`. A time skipped by a clock change moves forward by
    /// the gap. For a time that occurs twice, the first is used, unless that is before `previous` and the second is
    /// not.
    pub fn to_instant(&self, zone: &TimeZone, previous: Option<Timestamp>) -> Option<Timestamp> {
        let local = match self {
            Self::Instant(at) => return Some(*at),
            Self::Unknown => return None,
            Self::Local(local) => *local,
        };
        let ambiguous = zone.to_ambiguous_timestamp(local);
        let earlier = ambiguous.compatible().ok()?;
        let Some(previous) = previous.filter(|previous| earlier < *previous && ambiguous.is_ambiguous())
        else {
            return Some(earlier);
        };
        let later = ambiguous.later().ok()?;
        Some(if later >= previous { later } else { earlier })
    }
}

/// Serializes as ISO 8601: with `Z` for a point in time, without an offset for a local time, empty if unknown.
impl fmt::Display for MessageTime {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Instant(at) => at.fmt(formatter),
            Self::Local(at) => at.fmt(formatter),
            Self::Unknown => Ok(()),
        }
    }
}
