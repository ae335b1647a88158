//! Dates whose numbers are ambiguous: split into numbers, with their order determined from the whole file.

mod parts;
mod order;

use crate::message_time::MessageTime;

pub(super) use order::{DateOrder, OrderEvidence};
pub(super) use parts::{Clock, DateParts, clock_after, date_and_clock, date_parts, is_blank};

/// A time as written in a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum WrittenTime {
    /// No time, or one that can't be read.
    #[default]
    Unknown,
    /// A time whose day and month are unambiguous.
    Clear(MessageTime),
    /// A time whose day and month can be told apart only by other dates of the file.
    Ambiguous(DateParts, Clock),
}

impl WrittenTime {
    /// Parses ISO 8601, seconds or milliseconds since 1970, else three numbers with a time of day.
    pub(super) fn from_text(text: &str) -> Self {
        match MessageTime::parse(text) {
            MessageTime::Unknown => {
                date_and_clock(text).map_or(Self::Unknown, |(date, clock)| Self::Ambiguous(date, clock))
            }
            time => Self::Clear(time),
        }
    }

    /// The time for this order of day, month and year; without an order, only if the year comes first.
    pub(super) fn resolve(&self, order: Option<DateOrder>) -> MessageTime {
        match self {
            Self::Unknown => MessageTime::Unknown,
            Self::Clear(time) => *time,
            Self::Ambiguous(date, clock) => order
                .or(date.is_year_first.then_some(DateOrder::YearMonthDay))
                .and_then(|order| order.date(date))
                .map_or(MessageTime::Unknown, |day| MessageTime::Local(day.to_datetime(clock.time()))),
        }
    }

    /// Adds this date to the evidence for the order of day and month.
    pub(super) fn add_evidence(&self, evidence: &mut OrderEvidence) {
        if let Self::Ambiguous(date, clock) = self {
            evidence.add(date, clock.is_twelve_hour());
        }
    }
}
