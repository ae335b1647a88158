//! Corrections in the open conversation, which hold before they have become memory.

use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::OutdatedValues;
use crate::entities::{fold_name, is_named_in_text};
use crate::messages::{Message, Role};
use crate::text::{Utterance, Values, correction_cue, denied_value};

/// Time for which a correction in the conversation applies before its session becomes memory.
const FRESH_TIME: SignedDuration = SignedDuration::from_hours(24);
/// Fresh corrections that count, the latest. Each is compared with every memory that is to be shown; older corrections are in
/// the memories by then.
const FRESH_MAX: usize = 10;

/// A correction in the user's latest words, not yet a memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FreshCorrection {
    /// The correcting sentence, verbatim.
    pub text: String,
    /// Time at which they were said.
    pub at: Timestamp,
    /// The value that they deny, where they name it.
    pub denied: Option<String>,
}

/// True if the user corrects something in a message that may not have become memory yet.
pub fn is_fresh_correction(message: &Message, now: Timestamp) -> bool {
    let age = now.duration_since(message.created_at);
    let is_recent = !age.is_negative() && age < FRESH_TIME;
    message.role == Role::User && is_recent && correction_cue(&message.content).is_some()
}

impl OutdatedValues {
    /// Notes which of these messages say what is no longer current, and which correct something themselves.
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

    /// The correction in the user's latest words after which a text is wrong that was said or written at this time.
    pub fn correction_denying(&self, text: &str, at: Timestamp) -> Option<&FreshCorrection> {
        if self.fresh.is_empty() {
            return None;
        }
        let (folded, values) = (fold_name(text), Values::new(text));
        let mut later = self.fresh.iter().zip(&self.fresh_values).filter(|(fresh, _)| fresh.at > at);
        let found = later.find(|(fresh, said)| {
            let denied = fresh.denied.as_ref().map(|denied| fold_name(denied));
            denied.is_some_and(|denied| is_named_in_text(&folded, &denied))
                || !Utterance::new(&fresh.text).tells_of_addition() && said.contradict(&values, true)
        });
        found.map(|(fresh, _)| fresh)
    }
}
