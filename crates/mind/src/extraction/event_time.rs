//! Parses dates as models write them.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use memory::nodes::EventTime;

use crate::answer::Member;
use crate::contract::{EventTimeAnswer, TimeAnswer};

/// Parses `{start, end}`, or a single string as the start. A date covers its whole day in `zone`; a time without an
/// offset is in the zone. A single bound is used for both.
///
/// # Errors
///
/// The reason why it is invalid; then none of it is used.
pub(crate) fn read(time: &Member<TimeAnswer>, zone: &TimeZone) -> Result<Option<EventTime>, String> {
    let (start, end) = match time {
        Member::Missing | Member::Null => return Ok(None),
        Member::Present(TimeAnswer::Span(EventTimeAnswer { start, end })) => {
            (parse_bound(start, zone)?, parse_bound(end, zone)?)
        }
        Member::Present(TimeAnswer::Start(text)) => (read_bound(text, zone)?, None),
        Member::Wrong(_) => return Err("it is neither null nor {start, end}".to_owned()),
    };
    let time = match (start, end) {
        (None, None) => return Ok(None),
        (Some(start), None) => EventTime { start: start.first, end: start.last },
        (None, Some(end)) => EventTime { start: end.first, end: end.last },
        (Some(start), Some(end)) => {
            let last = end.last.unwrap_or(end.first);
            if last < start.first {
                return Err("its end is before its start".to_owned());
            }
            EventTime { start: start.first, end: (last != start.first).then_some(last) }
        }
    };
    Ok(Some(time))
}

/// A bound of a time: a moment, or a whole day.
struct TimeBound {
    first: Timestamp,
    last: Option<Timestamp>,
}

fn parse_bound(given: &Member<String>, zone: &TimeZone) -> Result<Option<TimeBound>, String> {
    match given {
        Member::Missing | Member::Null => Ok(None),
        Member::Present(text) => read_bound(text, zone),
        Member::Wrong(_) => Err("a bound is not a string".to_owned()),
    }
}

fn read_bound(text: &str, zone: &TimeZone) -> Result<Option<TimeBound>, String> {
    let text = text.trim();
    if text.is_empty() || text == "null" {
        return Ok(None);
    }
    let unreadable = || format!("`{}` is no ISO date or time", text.chars().take(40).collect::<String>());
    if let Ok(first) = text.parse::<Timestamp>() {
        return Ok(Some(TimeBound { first, last: None }));
    }
    if text.len() == "2026-03-05".len() {
        let date: Date = text.parse().map_err(|_| unreadable())?;
        return day_bound(date, zone).map(Some).ok_or_else(unreadable);
    }
    let time: DateTime = text.parse().map_err(|_| unreadable())?;
    let first = zone.to_timestamp(time).map_err(|_| unreadable())?;
    Ok(Some(TimeBound { first, last: None }))
}

fn day_bound(date: Date, zone: &TimeZone) -> Option<TimeBound> {
    let first = date.to_zoned(zone.clone()).ok()?.timestamp();
    let next = date.tomorrow().ok()?.to_zoned(zone.clone()).ok()?.timestamp();
    let last = next.checked_sub(1.microsecond()).ok()?;
    Some(TimeBound { first, last: Some(last) })
}

#[cfg(test)]
mod tests {
    use jiff::tz;
    use serde_json::{Value, json};

    use super::*;

    fn read_time(value: Value) -> Result<Option<(String, Option<String>)>, String> {
        let zone = TimeZone::fixed(tz::offset(8));
        read(&serde_json::from_value(value).unwrap(), &zone)
            .map(|time| time.map(|time| (time.start.to_string(), time.end.map(|end| end.to_string()))))
    }

    fn span(start: &str, end: Option<&str>) -> Result<Option<(String, Option<String>)>, String> {
        Ok(Some((start.to_owned(), end.map(str::to_owned))))
    }

    #[test]
    fn dates_are_days_in_the_users_zone() {
        let whole_day = span("2026-03-04T16:00:00Z", Some("2026-03-05T15:59:59.999999Z"));
        assert_eq!(read_time(json!({"start": "2026-03-05", "end": null})), whole_day);
        assert_eq!(read_time(json!({"start": "2026-03-05"})), whole_day);
        assert_eq!(read_time(json!({"start": null, "end": "2026-03-05"})), whole_day);
        assert_eq!(read_time(json!("2026-03-05")), whole_day);
        assert_eq!(
            read_time(json!({"start": "2026-03-05", "end": "2026-03-07"})),
            span("2026-03-04T16:00:00Z", Some("2026-03-07T15:59:59.999999Z"))
        );
    }

    #[test]
    fn times_keep_their_offset_or_take_the_users() {
        assert_eq!(read_time(json!({"start": "2026-03-05T15:00"})), span("2026-03-05T07:00:00Z", None));
        assert_eq!(read_time(json!({"start": "2026-03-05 15:00:30"})), span("2026-03-05T07:00:30Z", None));
        assert_eq!(read_time(json!({"start": "2026-03-05T15:00:00Z"})), span("2026-03-05T15:00:00Z", None));
        assert_eq!(read_time(json!({"start": "2026-03-05T15:00-05:00"})), span("2026-03-05T20:00:00Z", None));
        assert_eq!(
            read_time(json!({"start": "2026-03-05T15:00", "end": "2026-03-05T15:00"})),
            span("2026-03-05T07:00:00Z", None)
        );
    }

    #[test]
    fn a_missing_time_is_none() {
        for value in [json!(null), json!({}), json!({"start": null, "end": null}), json!({"start": ""})] {
            assert_eq!(read_time(value), Ok(None));
        }
    }

    #[test]
    fn invalid_times_are_noted() {
        for value in [
            json!({"start": "next Friday"}),
            json!({"start": "2026-02-30"}),
            json!({"start": "2026-03"}),
            json!({"start": 20260305}),
            json!({"start": "2026-03-05", "end": "2026-03-04"}),
            json!({"start": "2026-03-05", "end": "soon"}),
            json!([1]),
            json!({"start": "9999-12-31"}),
            json!({"start": "二〇二六年三月五日"}),
        ] {
            assert!(read_time(value.clone()).is_err(), "{value}");
        }
    }
}
