//! The most common ways to name a time, in English and Chinese: yesterday, last week, three days ago, last June, in
//! 2023, 3 June 2023, tomorrow at 5 pm; 昨天, 上周三, 三天前, 去年六月, 2023年, 6月3日, 明天下午五点.
//!
//! No library is used: the maintained ones parse one language, and none reports how certain a date is, which decides
//! here if it may override another statement.

mod calendar;
mod english;
mod chinese;
mod clock;
mod due;

pub use due::names_due_time;

use std::collections::BTreeSet;
use std::ops::Range;

use jiff::civil::{Date, Weekday};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

use calendar::Calendar;

use super::lexicon::times as lexicon;

/// A time that a text names, relative to when it was said and in the speaker's zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimePhrase {
    /// First moment of its first day.
    pub start: Timestamp,
    /// Last moment of its last day.
    pub end: Timestamp,
    /// The exact time, if a time of day was named with a single day.
    pub moment: Option<Timestamp>,
    /// Days of tolerance, where speakers differ: "next Friday".
    pub slack_days: i64,
    /// True if it is relative to when it was said, and unambiguous: "yesterday", not "on Friday".
    pub sure: bool,
    /// True if people say it without asking for anything: "today".
    pub present: bool,
    /// Range in the folded text, in bytes.
    pub place: Range<usize>,
}

/// An entry in the tables of phrases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NamedPeriod {
    days: (Date, Date),
    slack_days: i64,
    sure: bool,
    present: bool,
}

impl NamedPeriod {
    fn without_slack(days: (Date, Date)) -> Self {
        Self { days, slack_days: 0, sure: true, present: false }
    }

    fn uncertain(days: (Date, Date)) -> Self {
        Self { sure: false, ..Self::without_slack(days) }
    }

    fn period_until_now(days: (Date, Date)) -> Self {
        Self { present: true, ..Self::without_slack(days) }
    }

    fn with_slack(self, slack_days: i64) -> Self {
        Self { slack_days, ..self }
    }
}

/// The times that a text names, in the order of their positions. Relative ones count from `now`. English weeks begin
/// on `week_start`, Chinese ones on Monday.
pub fn time_phrases(text: &str, now: Timestamp, zone: &TimeZone, week_start: Weekday) -> Vec<TimePhrase> {
    let folded = super::segment::fold(text);
    let today = now.to_zoned(zone.clone()).date();
    let mut found = english::scan_times(&folded, Calendar { today, week_start });
    found.extend(chinese::scan_times(&folded, Calendar { today, week_start: Weekday::Monday }));
    found.sort_by_key(|(place, _)| (place.start, place.end));
    let found = join_spans(found, &folded);
    let clock = clock::time_of_day(&folded);
    let mut phrases: Vec<TimePhrase> = found
        .into_iter()
        .filter_map(|(place, named)| {
            let (start, end) = to_moments(named.days, zone)?;
            let NamedPeriod { slack_days, sure, present, .. } = named;
            Some(TimePhrase { start, end, moment: None, slack_days, sure, present, place })
        })
        .collect();
    // A time of day belongs to a single named day; with several it is ambiguous.
    if let ([phrase], Some(time)) = (phrases.as_mut_slice(), clock) {
        let first = phrase.start.to_zoned(zone.clone()).date();
        if first == phrase.end.to_zoned(zone.clone()).date() {
            phrase.moment = zone.to_timestamp(first.to_datetime(time)).ok();
        }
    }
    phrases
}

/// Joins two times with "to" between them: 5月12日到5月31日, from 3 June to 9 June.
fn join_spans(found: Vec<(Range<usize>, NamedPeriod)>, folded: &str) -> Vec<(Range<usize>, NamedPeriod)> {
    let mut joined: Vec<(Range<usize>, NamedPeriod)> = Vec::with_capacity(found.len());
    for (place, named) in found {
        if let Some((before, earlier)) = joined.last_mut() {
            let between = folded.get(before.end..place.start).map_or("", str::trim);
            if lexicon::RANGE_WORDS.contains(between) && earlier.days.0 <= named.days.0 {
                before.end = place.end;
                earlier.days.1 = earlier.days.1.max(named.days.1);
                earlier.sure &= named.sure;
                earlier.present &= named.present;
                continue;
            }
        }
        joined.push((place, named));
    }
    joined
}

/// The times that a text asks about, each as its first and last moment in the zone, in chronological order. "Today"
/// is left out, because people say it without asking for anything.
pub fn named_times(
    text: &str,
    now: Timestamp,
    zone: &TimeZone,
    week_start: Weekday,
) -> Vec<(Timestamp, Timestamp)> {
    let phrases = time_phrases(text, now, zone, week_start).into_iter().filter(|phrase| !phrase.present);
    let spans: BTreeSet<(Timestamp, Timestamp)> = phrases.map(|phrase| (phrase.start, phrase.end)).collect();
    spans.into_iter().collect()
}

/// From the first moment of the first day to the last moment of the last day; the zone determines the lengths of
/// days.
pub fn to_moments((first, last): (Date, Date), zone: &TimeZone) -> Option<(Timestamp, Timestamp)> {
    let start = first.to_zoned(zone.clone()).ok()?.timestamp();
    let end = last.tomorrow().ok()?.to_zoned(zone.clone()).ok()?.timestamp();
    Some((start, end.checked_sub(1.microsecond()).ok()?))
}

#[cfg(test)]
mod tests;
