//! The weights of the signals in the message ranking, with reasons. They are defined only here.

use std::ops::{Index, IndexMut};

/// A signal by which messages are ranked; its computation is in `recall/messages.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Signal {
    /// The message contains words of the question.
    Words,
    /// The message is similar to the question in meaning.
    Meaning,
    /// The messages around this one are about the topic of the question.
    TopicWords,
    /// Similarity of the messages around this one to the question.
    TopicMeaning,
    /// The message is by the speaker whom the question names.
    Speaker,
    /// The message was said at the time that the question names.
    Time,
    /// The question asks for a time, and the message names one.
    TellsWhen,
    /// The message is a question.
    Asks,
    /// The message follows a question.
    Answers,
}

const SIGNALS: usize = 9;

/// Name and default weight. Only ratios of weights matter. They are round numbers, chosen so that three public
/// conversations and one dialogue set agree (docs/evaluation.md).
const SIGNAL_TABLE: [(Signal, &str, f64); SIGNALS] = [
    // The base of the score: the share of the question that the message contains.
    (Signal::Words, "words", 1.25),
    // Cosines vary over about half the range of the word shares.
    (Signal::Meaning, "meaning", 2.0),
    // An answer rarely contains all words of the question, but its own words count more.
    (Signal::TopicWords, "topic_words", 0.75),
    // Less than the message's own meaning: it separates conversations, not messages.
    (Signal::TopicMeaning, "topic_meaning", 1.25),
    // More finds more ordinary answers, and loses those to questions about the wrong speaker.
    (Signal::Speaker, "speaker", 0.6),
    // A named time counts as much as all words of the question.
    (Signal::Time, "time", 1.25),
    // An answer to "when" contains a time.
    (Signal::TellsWhen, "tells_when", 0.6),
    // A question asks for the answer and does not contain it.
    (Signal::Asks, "asks", -0.3),
    // The message after a question may answer it.
    (Signal::Answers, "answers", 0.1),
];

impl Signal {
    /// Every signal, in the order of the table.
    pub const ALL: [Self; SIGNALS] = {
        let mut all = [Self::Words; SIGNALS];
        let mut at = 0;
        while at < SIGNALS {
            all[at] = SIGNAL_TABLE[at].0;
            at += 1;
        }
        all
    };

    /// The name in receipts and in the configuration.
    pub fn name(self) -> &'static str {
        SIGNAL_TABLE[self as usize].1
    }

    pub fn default_weight(self) -> f64 {
        SIGNAL_TABLE[self as usize].2
    }
}

/// A number for each signal: its values for one message, or its weights.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Signals([f64; SIGNALS]);

impl Signals {
    /// `Σ weight · value`.
    pub fn total(&self, weights: &MessageWeights) -> f64 {
        Signal::ALL.into_iter().map(|signal| weights[signal] * self[signal]).sum()
    }
}

impl Index<Signal> for Signals {
    type Output = f64;

    fn index(&self, signal: Signal) -> &f64 {
        &self.0[signal as usize]
    }
}

impl IndexMut<Signal> for Signals {
    fn index_mut(&mut self, signal: Signal) -> &mut f64 {
        &mut self.0[signal as usize]
    }
}

/// Weights of the signals in the sum by which messages are ranked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MessageWeights(Signals);

impl MessageWeights {
    /// The weights with another value for one signal.
    pub fn with_weight(mut self, signal: Signal, weight: f64) -> Self {
        self.0[signal] = weight;
        self
    }
}

impl Index<Signal> for MessageWeights {
    type Output = f64;

    fn index(&self, signal: Signal) -> &f64 {
        &self.0[signal]
    }
}

impl Default for MessageWeights {
    fn default() -> Self {
        let mut weights = Signals::default();
        for signal in Signal::ALL {
            weights[signal] = signal.default_weight();
        }
        Self(weights)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_signals() {
        for (place, signal) in Signal::ALL.into_iter().enumerate() {
            assert_eq!(signal as usize, place, "{}", signal.name());
        }
    }
}
