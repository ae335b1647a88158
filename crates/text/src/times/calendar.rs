//! Days, weeks, months and years relative to a day.

use jiff::civil::{Date, Weekday};
use jiff::{Span, ToSpan};

/// First and last day of a named time.
pub(super) type Days = (Date, Date);

/// Numbers that are interpreted as years. Others with four digits are mostly prices, rooms and parts of addresses.
pub(super) const YEARS: std::ops::RangeInclusive<i16> = 1900..=2100;
/// Maximum number in "… ago", in its own unit: larger ones are figures of speech, and date arithmetic stays in range.
const AGO_MAX: i64 = 1_000;
/// Days of tolerance for "three weeks ago", which nobody means exactly.
const WEEKS_AGO_SLACK: i64 = 3;
/// Months of tolerance for "a year ago", which nobody means exactly.
const YEAR_AGO_SLACK: i64 = 2;
/// Months of tolerance for "three years ago", because people count calendar years.
const YEARS_AGO_SLACK: i64 = 6;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CalendarUnit {
    Day,
    Week,
    Month,
    Year,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Season {
    Spring,
    Summer,
    Autumn,
    Winter,
}

/// The present day, and the first day of a week.
#[derive(Clone, Copy, Debug)]
pub(super) struct Calendar {
    pub(super) today: Date,
    pub(super) week_start: Weekday,
}

impl Calendar {
    pub(super) fn day_at_offset(self, offset: i64) -> Option<Days> {
        shift_date(self.today, offset.days()).map(|date| (date, date))
    }

    /// The days from `first` to `last`, counted from now.
    pub(super) fn days_between(self, first: i64, last: i64) -> Option<Days> {
        Some((self.day_at_offset(first)?.0, self.day_at_offset(last)?.0))
    }

    pub(super) fn week(self, offset: i64) -> Option<Days> {
        let since_start = i64::from(self.today.weekday().since(self.week_start));
        let first = shift_date(self.today, (7 * offset - since_start).days())?;
        Some((first, shift_date(first, 6.days())?))
    }

    /// A weekday of this week, of the last (−1), of the next (1).
    pub(super) fn weekday_of_week(self, weekday: Weekday, offset: i64) -> Option<Days> {
        let (first, _) = self.week(offset)?;
        let date = shift_date(first, i64::from(weekday.since(self.week_start)).days())?;
        Some((date, date))
    }

    /// The latest such weekday before today.
    pub(super) fn latest_weekday(self, weekday: Weekday) -> Option<Days> {
        let date = self.today.nth_weekday(-1, weekday).ok()?;
        Some((date, date))
    }

    /// The first such weekday after today.
    pub(super) fn next_weekday(self, weekday: Weekday) -> Option<Days> {
        let date = self.today.nth_weekday(1, weekday).ok()?;
        Some((date, date))
    }

    /// Saturday and Sunday of this week, of the last (−1), of the next (1); always by weeks that begin on Monday, to
    /// keep a weekend together.
    pub(super) fn weekend(self, offset: i64) -> Option<Days> {
        let from_monday = Self { week_start: Weekday::Monday, ..self };
        Some((
            from_monday.weekday_of_week(Weekday::Saturday, offset)?.0,
            from_monday.weekday_of_week(Weekday::Sunday, offset)?.1,
        ))
    }

    pub(super) fn month(self, offset: i64) -> Option<Days> {
        let date = shift_date(self.today.first_of_month(), offset.months())?;
        Some((date, date.last_of_month()))
    }

    pub(super) fn year_at(self, offset: i64) -> Option<Days> {
        let date = shift_date(self.today.first_of_year(), offset.years())?;
        Some((date, date.last_of_year()))
    }

    pub(super) fn year_number(self, offset: i16) -> Option<i16> {
        self.today.year().checked_add(offset)
    }

    /// The latest month with this name that has begun; without `current`, the latest that is over.
    pub(super) fn latest_month(self, number: i8, current: bool) -> Option<Days> {
        let over = number < self.today.month() || (current && number == self.today.month());
        month_of(if over { self.today.year() } else { self.year_number(-1)? }, number)
    }

    /// The first month with this name that has not begun.
    pub(super) fn next_month_named(self, number: i8) -> Option<Days> {
        let ahead = number > self.today.month();
        month_of(if ahead { self.today.year() } else { self.year_number(1)? }, number)
    }

    /// The latest such day that is not in the future.
    pub(super) fn latest_day(self, month: i8, day: i8) -> Option<Days> {
        let this_year = single_day(self.today.year(), month, day).filter(|(date, _)| *date <= self.today);
        // A leap day refers back to the last leap year.
        this_year.or_else(|| (1..=8).find_map(|back| single_day(self.year_number(-back)?, month, day)))
    }

    /// A number of units ago, or (negative) ahead. A day is exact; a week has some days of tolerance, a month is the
    /// calendar month, a year has some months of tolerance around the day, which for a leap day is the 28th.
    pub(super) fn units_ago(self, count: i64, unit: CalendarUnit) -> Option<Days> {
        if !(1..=AGO_MAX).contains(&count.abs()) {
            return None;
        }
        match unit {
            CalendarUnit::Day => self.day_at_offset(-count),
            CalendarUnit::Week => {
                self.days_between(-7 * count - WEEKS_AGO_SLACK, -7 * count + WEEKS_AGO_SLACK)
            }
            CalendarUnit::Month => self.month(-count),
            CalendarUnit::Year => {
                let middle = shift_date(self.today, (-count).years())?;
                let slack = if count.abs() == 1 { YEAR_AGO_SLACK } else { YEARS_AGO_SLACK };
                Some((shift_date(middle, (-slack).months())?, shift_date(middle, slack.months())?))
            }
        }
    }

    /// "A few … ago": two to six.
    pub(super) fn few_units_ago(self, unit: CalendarUnit) -> Option<Days> {
        self.span_of_units_ago(2, 6, unit)
    }

    /// From `fewest` to `most` units ago.
    pub(super) fn span_of_units_ago(self, fewest: i64, most: i64, unit: CalendarUnit) -> Option<Days> {
        let (early, late) = (self.units_ago(most, unit)?, self.units_ago(fewest, unit)?);
        Some((early.0, late.1))
    }

    /// The same day of another year, exactly; for a leap day the 28th.
    pub(super) fn same_day(self, years: i64) -> Option<Days> {
        shift_date(self.today, years.years()).map(|date| (date, date))
    }
}

/// The months of a season on the northern hemisphere, as in meteorology; winter ends in the next year.
pub(super) fn season_of(year: i16, season: Season) -> Option<Days> {
    let (first, last_year, last) = match season {
        Season::Spring => (3, year, 5),
        Season::Summer => (6, year, 8),
        Season::Autumn => (9, year, 11),
        Season::Winter => (12, year.checked_add(1)?, 2),
    };
    Some((month_of(year, first)?.0, month_of(last_year, last)?.1))
}

pub(super) fn single_day(year: i16, month: i8, day: i8) -> Option<Days> {
    let date = Date::new(year, month, day).ok()?;
    Some((date, date))
}

pub(super) fn year_of(number: i16) -> Option<Days> {
    let date = Date::new(number, 1, 1).ok()?;
    Some((date, date.last_of_year()))
}

pub(super) fn month_of(year: i16, month: i8) -> Option<Days> {
    let date = Date::new(year, month, 1).ok()?;
    Some((date, date.last_of_month()))
}

pub(super) fn shift_date(date: Date, span: Span) -> Option<Date> {
    date.checked_add(span).ok()
}
