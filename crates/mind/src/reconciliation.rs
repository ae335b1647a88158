//! Reconciliation: asks how newer statements relate to older ones.

use memory::ports::{PairVerdict, ProposedVerdict, Reconciliation, ReconciliationInput};
use serde::Serialize;
use serde_json::{Value, json};

use crate::answer::{self, List, MalformedAnswer, Notes, snippet};
use crate::calendar;
use crate::contract::{PairAnswer, ReconciliationAnswer};
use crate::parsed::ParsedAnswer;
use crate::quoted::{one_line, unquote_prompt_text};

/// Maximum length of a quote, in characters: the same as for quotes of events.
const QUOTE_LENGTH_MAX: usize = 2_000;

/// Values for the template.
#[derive(Debug, Default, Serialize)]
pub(crate) struct ReconciliationContext {
    pairs: Vec<PairLines>,
}

#[derive(Debug, Serialize)]
struct PairLines {
    number: usize,
    older_day: String,
    older: String,
    newer_day: String,
    newer: String,
    words: String,
}

impl ReconciliationContext {
    /// A context with one of everything, to try a template out.
    pub(crate) fn example() -> Self {
        let text = || "text".to_owned();
        Self {
            pairs: vec![PairLines {
                number: 1,
                older_day: text(),
                older: text(),
                newer_day: text(),
                newer: text(),
                words: text(),
            }],
        }
    }
}

/// A request for a reconciliation.
pub(crate) struct ReconciliationTask<'a> {
    input: &'a ReconciliationInput,
}

impl<'a> ReconciliationTask<'a> {
    pub(crate) fn new(input: &'a ReconciliationInput) -> Self {
        Self { input }
    }

    /// Values for the prompt's template.
    pub(crate) fn prompt_context(&self) -> ReconciliationContext {
        let zone = &self.input.zone;
        let pairs = self.input.pairs.iter().enumerate().map(|(place, pair)| PairLines {
            number: place + 1,
            older_day: calendar::format_day(pair.older_at, zone),
            older: one_line(&pair.older),
            newer_day: calendar::format_day(pair.newer_at, zone),
            newer: one_line(&pair.newer),
            words: one_line(&pair.words),
        });
        ReconciliationContext { pairs: pairs.collect() }
    }

    /// The input as data, for a provider without a language model.
    pub(crate) fn input_data(&self) -> Value {
        let pairs = self.input.pairs.iter().enumerate().map(|(place, pair)| {
            json!({"pair": place + 1, "older": pair.older, "newer": pair.newer, "words": pair.words})
        });
        json!({"pairs": pairs.collect::<Vec<_>>()})
    }

    /// Parses an answer; an invalid item does not affect the good ones.
    ///
    /// # Errors
    ///
    /// [`MalformedAnswer`] when the answer has no object with a list of pairs.
    pub(crate) fn read(&self, answer: &str) -> Result<ParsedAnswer<Reconciliation>, MalformedAnswer> {
        let mut answer = answer::read(answer, &["pairs"])?;
        let (mut notes, whole) = (Notes::from_notes(std::mem::take(&mut answer.notes)), answer.whole);
        let ReconciliationAnswer { pairs } = answer.parse_members()?;
        if matches!(pairs, List::Missing | List::Null | List::Wrong(_)) {
            return Err(MalformedAnswer("`pairs` must be a list of objects, one for each pair.".to_owned()));
        }
        let mut verdicts: Vec<ProposedVerdict> = Vec::new();
        for proposed in pairs.read("an object", "pairs", &mut notes) {
            match self.read_verdict(proposed) {
                Ok(verdict) if verdicts.iter().any(|known| known.pair == verdict.pair) => {
                    notes.add(format!("a second answer about pair {}, dropped", verdict.pair + 1));
                }
                Ok(verdict) => verdicts.push(verdict),
                Err(reason) => notes.add(reason),
            }
        }
        let value = Reconciliation { verdicts, notes: notes.into_list() };
        Ok(ParsedAnswer { value, whole, missing: None })
    }

    fn read_verdict(&self, proposed: &PairAnswer) -> Result<ProposedVerdict, String> {
        let number = proposed.pair.get().copied().unwrap_or(0.0);
        let places = 0..self.input.pairs.len();
        let pair = places.into_iter().find(|place| (place + 1) as f64 == number);
        let pair = pair.ok_or_else(|| format!("an answer about the unknown pair {number}, dropped"))?;
        let word = proposed.verdict.lower_case_word().unwrap_or_default();
        let verdict = PairVerdict::ALL.into_iter().find(|verdict| verdict.as_str() == word);
        let verdict =
            verdict.ok_or_else(|| format!("the verdict \"{}\" is unknown, dropped", snippet(&word)))?;
        let quote = unquote_prompt_text(proposed.quote.trimmed_text().unwrap_or_default());
        Ok(ProposedVerdict {
            pair,
            verdict,
            quote: quote.chars().take(QUOTE_LENGTH_MAX).collect(),
            still_true: proposed.still_true.trimmed_text().map(str::to_owned),
        })
    }
}
