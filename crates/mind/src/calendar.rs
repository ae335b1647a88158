//! Formats times for prompts: in the reader's zone, in whole calendar days.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Zoned};
use memory::nodes::{EventTime, Node, NodeKind};

/// Messages younger than this are "just now".
const JUST_NOW: SignedDuration = SignedDuration::from_mins(30);
/// Messages up to this many days ago are "earlier this week".
const WEEK_DAYS: i32 = 7;

/// Formats a time as `Tuesday 2026-03-03, 21:04`.
pub(crate) fn wall_clock(at: Timestamp, zone: &TimeZone) -> String {
    at.to_zoned(zone.clone()).strftime("%A %Y-%m-%d, %H:%M").to_string()
}

/// Formats a time as `2026-03-03 Tue 21:04`.
pub(crate) fn format_minute(at: Timestamp, zone: &TimeZone) -> String {
    at.to_zoned(zone.clone()).strftime("%Y-%m-%d %a %H:%M").to_string()
}

/// A day as in `2026-03-03`.
pub(crate) fn format_day(at: Timestamp, zone: &TimeZone) -> String {
    civil_date(at, zone).to_string()
}

pub(crate) fn format_with_offset(at: Timestamp, zone: &TimeZone) -> String {
    at.to_zoned(zone.clone()).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}

/// Age of a message as a heading of a conversation. Ordered from the oldest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DayBucket {
    Older,
    EarlierThisWeek,
    Yesterday,
    EarlierToday,
    JustNow,
}

impl DayBucket {
    /// The bucket of `at`, seen from `now`; a future time counts as just now.
    pub(crate) fn from_time(at: Timestamp, now: Timestamp, zone: &TimeZone) -> Self {
        if now.duration_since(at) < JUST_NOW {
            return Self::JustNow;
        }
        match days_between(civil_date(at, zone), civil_date(now, zone)) {
            ..=0 => Self::EarlierToday,
            1 => Self::Yesterday,
            2..WEEK_DAYS => Self::EarlierThisWeek,
            _ => Self::Older,
        }
    }

    pub(crate) fn day_heading(self) -> &'static str {
        match self {
            Self::Older => "Older",
            Self::EarlierThisWeek => "Earlier this week",
            Self::Yesterday => "Yesterday",
            Self::EarlierToday => "Earlier today",
            Self::JustNow => "Just now",
        }
    }
}

/// The suffix of a memory's text: ` · event 2026-03-05 · status=planned (in 2 days)` (`due` for promises and
/// expectations), or without an event time the date of the memory: ` · noted 2026-02-20 (11 days ago)`.
pub(crate) fn time_phrase(node: &Node, now: Timestamp, zone: &TimeZone) -> String {
    match node.event_time {
        Some(time) => {
            let word = match node.kind {
                NodeKind::Intention | NodeKind::Expectation => "due",
                NodeKind::Event | NodeKind::Thought => "event",
            };
            format!(" · {word} {} · {}", format_span(time, zone), event_status(time, now, zone))
        }
        None => {
            let noted = civil_date(node.created_at, zone);
            format!(" · noted {noted} ({})", days_ago(days_between(noted, civil_date(now, zone))))
        }
    }
}

/// One date, or two joined by `~`; with the time of day if the memory has one.
fn format_span(time: EventTime, zone: &TimeZone) -> String {
    let start = time.start.to_zoned(zone.clone());
    let end = time.end.unwrap_or(time.start).to_zoned(zone.clone());
    if start.date() != end.date() {
        return format!("{}~{}", start.date(), end.date());
    }
    if knows_the_hour(&start) {
        start.strftime("%Y-%m-%d %H:%M").to_string()
    } else {
        start.date().to_string()
    }
}

/// `past` counts from the end, `planned` to the start, `active` from the start; all in whole calendar days.
fn event_status(time: EventTime, now: Timestamp, zone: &TimeZone) -> String {
    let end = time.end.unwrap_or(time.start);
    let today = civil_date(now, zone);
    let (first_day, last_day) = (civil_date(time.start, zone), civil_date(end, zone));
    if end < now {
        return format!("status=past ({})", days_ago(days_between(last_day, today)));
    }
    if time.start > now {
        return match days_between(today, first_day) {
            ..=0 => "status=planned (today)".to_owned(),
            1 => "status=planned (in 1 day)".to_owned(),
            days => format!("status=planned (in {days} days)"),
        };
    }
    match days_between(first_day, today) {
        ..=0 => "status=active (just started)".to_owned(),
        1 => "status=active (1 day in)".to_owned(),
        days => format!("status=active ({days} days in)"),
    }
}

fn days_ago(days: i32) -> String {
    match days {
        ..=0 => "today".to_owned(),
        1 => "1 day ago".to_owned(),
        _ => format!("{days} days ago"),
    }
}

/// True if a time has a time of day: a date without one is stored as midnight.
fn knows_the_hour(start: &Zoned) -> bool {
    start.start_of_day().is_ok_and(|midnight| midnight != *start)
}

fn civil_date(at: Timestamp, zone: &TimeZone) -> Date {
    at.to_zoned(zone.clone()).date()
}

fn days_between(from: Date, to: Date) -> i32 {
    to.duration_since(from).as_hours().try_into().map_or(i32::MAX, |hours: i32| hours / 24)
}

#[cfg(test)]
mod tests {
    use jiff::tz;

    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn days_are_counted_in_the_zone_of_the_listener() {
        // 00:30 in Shanghai, while in UTC it is still the day before.
        let now = at("2026-03-03T00:30:00+08:00");
        let zone = TimeZone::fixed(tz::offset(8));
        let bucket = |text| DayBucket::from_time(at(text), now, &zone);
        assert_eq!(bucket("2026-03-03T00:10:00+08:00"), DayBucket::JustNow);
        assert_eq!(bucket("2026-03-09T00:10:00+08:00"), DayBucket::JustNow);
        assert_eq!(bucket("2026-03-03T00:00:00+08:00"), DayBucket::EarlierToday);
        assert_eq!(bucket("2026-03-02T23:59:00+08:00"), DayBucket::Yesterday);
        assert_eq!(bucket("2026-02-25T00:00:00+08:00"), DayBucket::EarlierThisWeek);
        assert_eq!(bucket("2026-02-24T23:59:00+08:00"), DayBucket::Older);
        assert_eq!(
            DayBucket::from_time(at("2026-03-02T01:00:00Z"), now, &TimeZone::UTC),
            DayBucket::EarlierToday
        );
    }

    #[test]
    fn an_event_is_past_active_or_upcoming() {
        let now = at("2026-03-03T12:00:00Z");
        let phrase = |start: &str, end: Option<&str>| {
            let time = EventTime { start: at(start), end: end.map(at) };
            format!("{} {}", format_span(time, &TimeZone::UTC), event_status(time, now, &TimeZone::UTC))
        };
        let cases = [
            ("2026-03-01T00:00:00Z", Some("2026-03-01T23:59:59Z"), "2026-03-01 status=past (2 days ago)"),
            ("2026-03-02T15:00:00Z", None, "2026-03-02 15:00 status=past (1 day ago)"),
            ("2026-03-03T09:00:00Z", None, "2026-03-03 09:00 status=past (today)"),
            ("2026-03-03T00:00:00Z", Some("2026-03-03T23:59:59Z"), "2026-03-03 status=active (just started)"),
            (
                "2026-03-03T08:00:00Z",
                Some("2026-03-09T00:00:00Z"),
                "2026-03-03~2026-03-09 status=active (just started)",
            ),
            (
                "2026-03-02T00:00:00Z",
                Some("2026-03-09T00:00:00Z"),
                "2026-03-02~2026-03-09 status=active (1 day in)",
            ),
            (
                "2026-02-27T00:00:00Z",
                Some("2026-03-09T00:00:00Z"),
                "2026-02-27~2026-03-09 status=active (4 days in)",
            ),
            ("2026-03-03T18:30:00Z", None, "2026-03-03 18:30 status=planned (today)"),
            ("2026-03-04T00:00:00Z", None, "2026-03-04 status=planned (in 1 day)"),
            ("2026-03-10T00:00:00Z", None, "2026-03-10 status=planned (in 7 days)"),
        ];
        for (start, end, expected) in cases {
            assert_eq!(phrase(start, end), expected);
        }
    }
}
