//! Corrections in the open conversation, which apply before they are memories.

use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::OutdatedValues;
use crate::entities::{fold_name, is_named_in_text};
use crate::messages::{Message, Role};
use crate::text::{Utterance, Values, correction_cue, denied_value};

/// Period for which a correction in the conversation applies before its session is consolidated.
const FRESH_CORRECTION_PERIOD: SignedDuration = SignedDuration::from_hours(24);
/// Maximum fresh corrections, the latest first. Each is compared with every memory that is shown; older corrections
/// have become memories by then.
const FRESH_MAX: usize = 10;

/// A correction in the user's latest messages that is not a memory yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FreshCorrection {
    /// The correcting sentence, verbatim.
    pub text: String,
    /// Time of the correction.
    pub at: Timestamp,
    /// The value that the correction denies, if it names one.
    pub denied: Option<String>,
}

/// True if a message, which may not be consolidated yet, corrects something.
pub fn is_fresh_correction(message: &Message, now: Timestamp) -> bool {
    let age = now.duration_since(message.created_at);
    let is_recent = !age.is_negative() && age < FRESH_CORRECTION_PERIOD;
    message.role == Role::User && is_recent && correction_cue(&message.content).is_some()
}

impl OutdatedValues {
    /// Marks messages that state a former value, and messages that correct something.
    pub fn mark_window(&mut self, window: &[Message], now: Timestamp) {
        self.note_messages(window);
        for message in window {
            if is_fresh_correction(message, now) {
                let denied = denied_value(&message.content).map(str::to_owned);
                let fresh = FreshCorrection { text: message.content.clone(), at: message.created_at, denied };
                if !self.fresh.contains(&fresh) {
                    self.fresh.push(fresh);
                }
            }
        }
        self.fresh.sort_by_key(|fresh| fresh.at);
        let surplus = self.fresh.len().saturating_sub(FRESH_MAX);
        self.fresh.drain(..surplus);
        self.fresh_values = self.fresh.iter().map(|fresh| Values::new(&fresh.text)).collect();
    }

    /// The user's latest correction of a text that was written before it.
    pub fn correction_denying(&self, text: &str, at: Timestamp) -> Option<&FreshCorrection> {
        if self.fresh.is_empty() {
            return None;
        }
        let (folded, values) = (fold_name(text), Values::new(text));
        let mut later = self.fresh.iter().zip(&self.fresh_values).filter(|(fresh, _)| fresh.at > at);
        let found = later.find(|(fresh, said)| {
            let denied = fresh.denied.as_ref().map(|denied| fold_name(denied));
            denied.is_some_and(|denied| is_named_in_text(&folded, &denied))
                || !Utterance::new(&fresh.text).adds_to_known() && said.contradict(&values, true)
        });
        found.map(|(fresh, _)| fresh)
    }
}
