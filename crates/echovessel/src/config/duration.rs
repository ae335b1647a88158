//! Parses durations as people write them: `500ms`, `2s`, `30m`, `12h`, `14d`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A length of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct ConfigDuration(pub(crate) Duration);

/// A text that is no length of time.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "`{0}` is not a duration; write a whole number and a unit, as \"500ms\", \"2s\", \"30m\", \"12h\" or \"14d\""
)]
pub(crate) struct InvalidDuration(String);

const UNITS: [(&str, u64); 5] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

impl FromStr for ConfigDuration {
    type Err = InvalidDuration;

    fn from_str(text: &str) -> Result<Self, InvalidDuration> {
        let refused = || InvalidDuration(text.to_owned());
        let trimmed = text.trim();
        let digits = trimmed.find(|c: char| !c.is_ascii_digit()).ok_or_else(refused)?;
        let (number, unit) = trimmed.split_at(digits);
        let number: u64 = number.parse().map_err(|_| refused())?;
        let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit.trim()).ok_or_else(refused)?;
        number.checked_mul(*factor).map(|ms| Self(Duration::from_millis(ms))).ok_or_else(refused)
    }
}

impl fmt::Display for ConfigDuration {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX);
        let whole = UNITS.iter().rev().find(|(_, factor)| ms >= *factor && ms.is_multiple_of(*factor));
        match whole {
            Some((name, factor)) => write!(formatter, "{}{name}", ms / factor),
            None => write!(formatter, "{ms}ms"),
        }
    }
}

impl TryFrom<String> for ConfigDuration {
    type Error = InvalidDuration;
    fn try_from(text: String) -> Result<Self, InvalidDuration> {
        text.parse()
    }
}

impl From<ConfigDuration> for String {
    fn from(period: ConfigDuration) -> String {
        period.to_string()
    }
}

impl JsonSchema for ConfigDuration {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Period".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "pattern": "^[0-9]+(ms|s|m|h|d)$"})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_print_as_they_were_written() {
        for text in ["500ms", "2s", "30m", "12h", "14d", "0ms"] {
            assert_eq!(text.parse::<ConfigDuration>().unwrap().to_string(), text);
        }
        assert_eq!("90s".parse::<ConfigDuration>().unwrap().to_string(), "90s");
    }

    #[test]
    fn a_number_alone_and_a_huge_one_are_refused() {
        for text in ["", "5", "five minutes", "-3s", "3 fortnights", "99999999999999999999d"] {
            assert!(text.parse::<ConfigDuration>().is_err(), "{text}");
        }
    }
}
