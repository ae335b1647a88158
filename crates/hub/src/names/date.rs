//! Dates of diary documents: days, weeks, months and years.

use std::fmt;
use std::str::FromStr;

use jiff::civil::{Date, ISOWeekDate, Weekday};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Granularity, InvalidName};

/// A day, an ISO week, a month or a year that is in the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum DiaryDate {
    /// A day as in `2026-03-09`.
    Day(Date),
    /// A week as in `2026-W11`.
    Week(ISOWeekDate),
    /// `2026-03`, as its first day.
    Month(Date),
    /// `2026`, as its first day.
    Year(Date),
}

string_form!(DiaryDate, r"^\d{4}(-W\d{2}|(-\d{2})?(-\d{2})?)$");

impl DiaryDate {
    /// The ISO week that holds a day.
    pub fn containing_week(day: Date) -> Self {
        let week = day.iso_week_date();
        let monday = ISOWeekDate::new(week.year(), week.week(), Weekday::Monday);
        Self::Week(monday.unwrap_or(week))
    }

    /// The month that a week belongs to: the month of its Thursday.
    pub fn month_of_week(week: ISOWeekDate) -> Self {
        let thursday = ISOWeekDate::new(week.year(), week.week(), Weekday::Thursday).unwrap_or(week);
        Self::Month(thursday.date().first_of_month())
    }

    /// The first day of the period; for a month, of the calendar month.
    pub fn first_day(self) -> Date {
        match self {
            Self::Day(day) | Self::Month(day) | Self::Year(day) => day,
            Self::Week(week) => week.date(),
        }
    }

    /// The last day of the period; for a month, of the calendar month.
    pub fn last_day(self) -> Date {
        match self {
            Self::Day(day) => day,
            Self::Week(week) => week.date().saturating_add(jiff::Span::new().days(6)),
            Self::Month(first) => first.last_of_month(),
            Self::Year(first) => first.last_of_year(),
        }
    }

    /// True if names of memories of this granularity have this form of date.
    pub fn matches_granularity(self, granularity: Granularity) -> bool {
        matches!(
            (self, granularity),
            (Self::Day(_), Granularity::Daily | Granularity::Significant)
                | (Self::Week(_), Granularity::Weekly)
                | (Self::Month(_), Granularity::Monthly)
                | (Self::Year(_), Granularity::Yearly)
        )
    }
}

impl PartialOrd for DiaryDate {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for DiaryDate {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.first_day().cmp(&other.first_day()).then_with(|| self.last_day().cmp(&other.last_day()))
    }
}

impl fmt::Display for DiaryDate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Day(day) => write!(formatter, "{day}"),
            Self::Week(week) => write!(formatter, "{:04}-W{:02}", week.year(), week.week()),
            Self::Month(first) => write!(formatter, "{:04}-{:02}", first.year(), first.month()),
            Self::Year(first) => write!(formatter, "{:04}", first.year()),
        }
    }
}

impl FromStr for DiaryDate {
    type Err = InvalidName;
    fn from_str(text: &str) -> Result<Self, InvalidName> {
        parse_date(text).ok_or_else(|| {
            InvalidName(format!("`{text}` is not a valid date: use YYYY-MM-DD, YYYY-Www, YYYY-MM or YYYY"))
        })
    }
}

fn parse_date(text: &str) -> Option<DiaryDate> {
    let digits = |part: &str, length: usize| -> Option<i16> {
        let is_number = part.len() == length && part.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| part.parse().ok()).flatten()
    };
    let mut parts = text.split('-');
    let year = digits(parts.next()?, 4).filter(|year| *year > 0)?;
    let (second, third, rest) = (parts.next(), parts.next(), parts.next());
    if rest.is_some() {
        return None;
    }
    let small = |part: &str| digits(part, 2).and_then(|number| i8::try_from(number).ok());
    match (second, third) {
        (None, _) => Date::new(year, 1, 1).ok().map(DiaryDate::Year),
        (Some(second), None) => match second.strip_prefix('W') {
            Some(week) => ISOWeekDate::new(year, small(week)?, Weekday::Monday).ok().map(DiaryDate::Week),
            None => Date::new(year, small(second)?, 1).ok().map(DiaryDate::Month),
        },
        (Some(month), Some(day)) => Date::new(year, small(month)?, small(day)?).ok().map(DiaryDate::Day),
    }
}
