//! Estimates the duration of spoken texts.

use std::time::Duration;

/// Seconds per character of a script with letters, as espeak-ng speaks by default.
const LETTER_SECONDS: f64 = 0.048;
/// Seconds per Han character.
const HAN_SECONDS: f64 = 0.34;
/// Seconds per sentence in addition to its characters: its onset and the silence at its end.
const SENTENCE_SECONDS: f64 = 0.55;
/// Maximum length of a sentence's sound, relative to the estimate. A longer sound comes from a provider that goes on
/// speaking or sends noise, and would be paid for and stored.
const SOUND_LENGTH_FACTOR_MAX: f64 = 8.0;
/// Seconds added to that maximum for every sentence: short ones may begin with a long pause.
const SLOWEST_EXTRA: f64 = 15.0;

/// Expected length of a text's sound, in seconds.
pub fn estimated_duration(text: &str) -> f64 {
    let (mut han, mut letters) = (0.0, 0.0);
    for letter in text.chars() {
        if text::is_han(letter) {
            han += HAN_SECONDS;
        } else if letter.is_ascii() || letter.is_alphanumeric() {
            letters += LETTER_SECONDS;
        }
    }
    han + letters + text::split_sentences(text).len() as f64 * SENTENCE_SECONDS
}

/// The maximum length of a sentence's sound; a longer one is refused.
pub fn longest_plausible_duration(text: &str) -> Duration {
    Duration::from_secs_f64(estimated_duration(text) * SOUND_LENGTH_FACTOR_MAX + SLOWEST_EXTRA)
}
