//! L6: how the persona feels right now. Replaced when a session becomes memory, neutral again after 12 hours; what it
//! was stays in a history, until what caused it is forgotten.

use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::identifiers::SessionId;

/// Age at which a mood has faded. A night lies between: nobody is greeted with yesterday's mood.
pub const MOOD_LIFETIME: SignedDuration = SignedDuration::from_hours(12);
/// Longest remembered signal of the user, in characters. It is one sentence, part of every prompt until the mood fades.
pub const SIGNAL_LENGTH_MAX: usize = 200;
/// Longest mood word or phrase, in characters. Models sometimes answer with a paragraph; a phrase is what fits beside a name.
pub const MOOD_LENGTH_MAX: usize = 100;
/// Energy of a neutral mood.
pub const ENERGY_NEUTRAL: u8 = 5;
/// The word of a neutral mood.
pub const NEUTRAL: &str = "neutral";

/// A snapshot of the persona's feeling towards one user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Mood {
    /// A word or short phrase.
    pub mood: String,
    /// 0 (drained) to 10 (bursting).
    pub energy: u8,
    /// The last sense of the user.
    pub last_user_signal: Option<String>,
    /// Time at which the mood was written.
    pub updated_at: Timestamp,
}

/// A mood that a session left, as the history keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MoodShift {
    /// The store's own number of the row: grows with each shift. Never leaves the process.
    pub seq: i64,
    /// The session whose consolidation wrote it; `None` for one from before histories were kept.
    pub session_id: Option<SessionId>,
    /// The mood; its `updated_at` is the moment of the shift.
    pub mood: Mood,
}

impl Mood {
    pub fn neutral(at: Timestamp) -> Self {
        Self { mood: NEUTRAL.to_owned(), energy: ENERGY_NEUTRAL, last_user_signal: None, updated_at: at }
    }

    /// The mood as it is at `now`: itself while it is younger than [`MOOD_LIFETIME`], neutral afterwards.
    pub fn fade_at(&self, now: Timestamp) -> Self {
        if now.duration_since(self.updated_at) > MOOD_LIFETIME { Self::neutral(now) } else { self.clone() }
    }

    /// True if the mood is neutral, by any word that models write for that ("Neutral", "calm", 平静).
    pub fn is_neutral(&self) -> bool {
        let folded = crate::text::fold(&self.mood);
        let bare = folded.trim_matches(|character: char| !character.is_alphanumeric());
        let bare = bare.strip_suffix(['的', '地']).unwrap_or(bare);
        bare.is_empty() || bare == NEUTRAL || crate::text::lexicon::mood::NEUTRAL_WORDS.contains(bare)
    }

    /// A mood from a model's signal, with its lengths and bounds kept.
    pub fn from_signal(mood: &str, energy: i64, signal: Option<&str>, at: Timestamp) -> Self {
        let cut = |text: &str, length: usize| text.trim().chars().take(length).collect::<String>();
        Self {
            mood: cut(mood, MOOD_LENGTH_MAX),
            energy: u8::try_from(energy.clamp(0, 10)).unwrap_or(ENERGY_NEUTRAL),
            last_user_signal: signal.map(|text| cut(text, SIGNAL_LENGTH_MAX)).filter(|text| !text.is_empty()),
            updated_at: at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_neutral_mood_is_known_by_any_word_for_it() {
        let mood = |word: &str| Mood::from_signal(word, 5, None, Timestamp::UNIX_EPOCH);
        for word in ["neutral", "Neutral", "NEUTRAL.", "calm", "平静", "平静的", "中性", "", "none"] {
            assert!(mood(word).is_neutral(), "{word}");
        }
        for word in ["quiet and tender", "warm", "不平静", "calm before a storm", "难过"] {
            assert!(!mood(word).is_neutral(), "{word}");
        }
    }
}
