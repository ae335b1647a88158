//! Types of settings that are written as text: choices, sizes, and durations that may be left out.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::duration::{ConfigDuration, InvalidDuration};

/// The source of vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum EmbeddingProvider {
    Local,
    OpenAi,
    None,
}

/// The source of speech.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SpeechProvider {
    None,
    Command,
    OpenAi,
    FishAudio,
}

/// The source of transcripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TranscriptProvider {
    None,
    Command,
    OpenAi,
}

/// The first day of an English week.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum WeekStart {
    Monday,
    Sunday,
}

/// Treatment of prompts that a chat program writes by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum UtilityPrompts {
    Refuse,
    Answer,
}

/// A number of bytes, at least 1. Keeps the text it was written as, as `1MiB`, `512KiB` or `1048576`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub(crate) struct ByteSize {
    text: String,
    bytes: usize,
}

/// A text that is no number of bytes.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{0}` is not a size; write it as \"1MiB\", \"512KiB\" or in bytes")]
pub(crate) struct InvalidSize(String);

const UNITS: [(&str, usize); 5] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1), ("", 1)];

impl ByteSize {
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn mebibytes(number: usize) -> Self {
        Self { text: format!("{number}MiB"), bytes: number << 20 }
    }
}

impl TryFrom<String> for ByteSize {
    type Error = InvalidSize;

    fn try_from(text: String) -> Result<Self, InvalidSize> {
        let trimmed = text.trim();
        let bytes = UNITS.iter().find_map(|(unit, factor)| {
            trimmed.strip_suffix(unit)?.trim().parse::<usize>().ok()?.checked_mul(*factor)
        });
        match bytes {
            Some(bytes @ 1..) => Ok(Self { bytes, text }),
            _ => Err(InvalidSize(text)),
        }
    }
}

impl From<ByteSize> for String {
    fn from(size: ByteSize) -> String {
        size.text
    }
}

/// A duration, or none, which is written as an empty text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub(crate) struct OptionalDuration(pub(crate) Option<Duration>);

impl TryFrom<String> for OptionalDuration {
    type Error = InvalidDuration;

    fn try_from(text: String) -> Result<Self, InvalidDuration> {
        if text.is_empty() {
            return Ok(Self(None));
        }
        ConfigDuration::from_str(&text).map(|duration| Self(Some(duration.0)))
    }
}

impl From<OptionalDuration> for String {
    fn from(duration: OptionalDuration) -> String {
        duration.to_string()
    }
}

impl fmt::Display for OptionalDuration {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |duration| ConfigDuration(duration).fmt(formatter))
    }
}
