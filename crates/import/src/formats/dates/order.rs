//! Determines which number of a date is the day, month and year, from the whole file, as a single date rarely shows
//! it.

use jiff::civil::Date;

use super::DateParts;

/// An order of day, month and year.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::formats) enum DateOrder {
    DayMonthYear,
    MonthDayYear,
    YearMonthDay,
    YearDayMonth,
}

/// Orders by preference, for dates that fit several of them.
const ORDERS_BY_PREFERENCE: [DateOrder; 4] =
    [DateOrder::DayMonthYear, DateOrder::MonthDayYear, DateOrder::YearMonthDay, DateOrder::YearDayMonth];

impl DateOrder {
    /// The day; `None` if there is no such day in this order.
    pub(in crate::formats) fn date(self, parts: &DateParts) -> Option<Date> {
        let [a, b, c] = parts.numbers;
        let (year, month, day) = match self {
            Self::DayMonthYear => (c, b, a),
            Self::MonthDayYear => (c, a, b),
            Self::YearMonthDay => (a, b, c),
            Self::YearDayMonth => (a, c, b),
        };
        let year = match year {
            0..=99 => year + 2000,
            // The Buddhist calendar of Thai phones.
            2400..=2700 => year - 543,
            1900..=2399 => year,
            _ => return None,
        };
        Date::new(i16::try_from(year).ok()?, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()
    }
}

/// Evidence in the dates of a file for and against each order.
#[derive(Default)]
pub(in crate::formats) struct OrderEvidence {
    candidates: [Candidate; 4],
    last: Option<DateParts>,
    is_year_first: bool,
    has_dots: bool,
    is_twelve_hour: bool,
}

#[derive(Clone, Copy, Default)]
struct Candidate {
    /// Number of dates that don't exist in this order.
    invalid: u64,
    /// Number of steps back in time. Messages are in chronological order, unless a clock was changed.
    backward: u64,
    /// Sum of days between neighbours: the true order has the smallest.
    distance: u64,
    previous: Option<Date>,
}

impl OrderEvidence {
    pub(in crate::formats) fn add(&mut self, parts: &DateParts, is_twelve_hour: bool) {
        self.is_year_first |= parts.is_year_first;
        self.has_dots |= parts.separator == '.';
        self.is_twelve_hour |= is_twelve_hour;
        if self.last == Some(*parts) {
            return;
        }
        self.last = Some(*parts);
        for (order, candidate) in ORDERS_BY_PREFERENCE.into_iter().zip(&mut self.candidates) {
            let Some(date) = order.date(parts) else {
                candidate.invalid += 1;
                continue;
            };
            if let Some(previous) = candidate.previous {
                candidate.backward += u64::from(date < previous);
                let days = (date - previous).get_days().unsigned_abs();
                candidate.distance = candidate.distance.saturating_add(u64::from(days));
            }
            candidate.previous = Some(date);
        }
    }

    /// The best order: the fewest impossible dates, then the fewest steps back, then the smallest distance, then the
    /// order that is usual with the file's separator.
    pub(in crate::formats) fn order(&self) -> DateOrder {
        let usual = |order: DateOrder| match order {
            DateOrder::MonthDayYear if self.is_twelve_hour && !self.has_dots => 0,
            DateOrder::DayMonthYear => 1,
            DateOrder::MonthDayYear => 2,
            DateOrder::YearMonthDay => 3,
            DateOrder::YearDayMonth => 4,
        };
        let fits = |order: DateOrder| {
            self.is_year_first == matches!(order, DateOrder::YearMonthDay | DateOrder::YearDayMonth)
                || !self.is_year_first
        };
        ORDERS_BY_PREFERENCE
            .into_iter()
            .zip(self.candidates)
            .filter(|(order, _)| fits(*order))
            .min_by_key(|(order, candidate)| {
                (candidate.invalid, candidate.backward, candidate.distance, usual(*order))
            })
            .map_or(DateOrder::DayMonthYear, |(order, _)| order)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(dates: &[[u16; 3]], separator: char, is_twelve_hour: bool) -> DateOrder {
        let mut evidence = OrderEvidence::default();
        for numbers in dates {
            let is_year_first = numbers[0] > 999;
            evidence.add(&DateParts { numbers: *numbers, is_year_first, separator }, is_twelve_hour);
        }
        evidence.order()
    }

    #[test]
    fn a_day_beyond_twelve_decides() {
        assert_eq!(order(&[[1, 5, 24], [13, 5, 24]], '/', true), DateOrder::DayMonthYear);
        assert_eq!(order(&[[5, 1, 24], [5, 13, 24]], '/', false), DateOrder::MonthDayYear);
        assert_eq!(order(&[[2024, 1, 5]], '-', false), DateOrder::YearMonthDay);
        assert_eq!(order(&[[2024, 5, 1], [2024, 13, 1]], '-', false), DateOrder::YearDayMonth);
        assert_eq!(order(&[[24, 1, 30], [24, 2, 1]], '/', false), DateOrder::YearMonthDay);
    }

    #[test]
    fn order_in_time_decides_where_no_day_does() {
        // 1 May, 2 May, 3 May is more likely than January, February, March.
        assert_eq!(
            order(&[[5, 1, 24], [5, 2, 24], [5, 3, 24], [6, 1, 24]], '/', false),
            DateOrder::MonthDayYear
        );
        assert_eq!(
            order(&[[1, 5, 24], [2, 5, 24], [3, 5, 24], [1, 6, 24]], '/', true),
            DateOrder::DayMonthYear
        );
    }

    #[test]
    fn signs_decide_where_nothing_else_does() {
        assert_eq!(order(&[[5, 1, 24]], '.', false), DateOrder::DayMonthYear);
        assert_eq!(order(&[[5, 1, 24]], '/', true), DateOrder::MonthDayYear);
        assert_eq!(order(&[[5, 1, 24]], '/', false), DateOrder::DayMonthYear);
    }
}
