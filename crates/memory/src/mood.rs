//! L6: the persona's current mood. Replaced when a session is consolidated, neutral again after 12 hours; former
//! moods stay in a history, until their cause is forgotten.

use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::identifiers::SessionId;

/// Age at which a mood has faded. It is less than a night, so that nobody is greeted with yesterday's mood.
pub const MOOD_LIFETIME: SignedDuration = SignedDuration::from_hours(12);
/// Maximum length of the user's signal, in characters. It is one sentence, part of every prompt until the mood fades.
pub const SIGNAL_LENGTH_MAX: usize = 200;
/// Maximum length of a mood, in characters. Models sometimes answer with a paragraph; a phrase fits beside a name.
pub const MOOD_LENGTH_MAX: usize = 100;
/// Energy of a neutral mood.
pub const ENERGY_NEUTRAL: u8 = 5;
/// The word of a neutral mood.
pub const NEUTRAL: &str = "neutral";

/// The persona's mood towards one user, at one time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Mood {
    /// A word or short phrase.
    pub mood: String,
    /// Energy from 0 (exhausted) to 10 (very energetic).
    pub energy: u8,
    /// The persona's last impression of the user.
    pub last_user_signal: Option<String>,
    /// Time at which the mood was written.
    pub updated_at: Timestamp,
}

/// A mood after a session, as stored in the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MoodShift {
    /// Row number, which grows with each shift. It never leaves the process.
    pub seq: i64,
    /// The session whose consolidation stored the mood; `None` for one from before the history existed.
    pub session_id: Option<SessionId>,
    /// The mood; its `updated_at` is the time of the shift.
    pub mood: Mood,
}

impl Mood {
    pub fn neutral(at: Timestamp) -> Self {
        Self { mood: NEUTRAL.to_owned(), energy: ENERGY_NEUTRAL, last_user_signal: None, updated_at: at }
    }

    /// The mood at `now`: unchanged while younger than [`MOOD_LIFETIME`], then neutral.
    pub fn fade_at(&self, now: Timestamp) -> Self {
        if now.duration_since(self.updated_at) > MOOD_LIFETIME { Self::neutral(now) } else { self.clone() }
    }

    /// True if the mood is neutral, in any of the words that models use for it ("Neutral", "calm", 平静).
    pub fn is_neutral(&self) -> bool {
        let folded = crate::text::fold(&self.mood);
        let bare = folded.trim_matches(|character: char| !character.is_alphanumeric());
        let bare = bare.strip_suffix(['的', '地']).unwrap_or(bare);
        bare.is_empty() || bare == NEUTRAL || crate::text::lexicon::mood::NEUTRAL_WORDS.contains(bare)
    }

    /// Creates a mood from a model's signal, cut to the maximum lengths and clamped to the scale.
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
