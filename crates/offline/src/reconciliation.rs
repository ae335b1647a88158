//! `reconciliation`: compares newer and older statements by plain clauses that differ in one value. Pairs that the
//! rules can't decide are left alone. Of 46 lives of our own they miss 18 of 24 corrections and remove nothing that
//! is true (`docs/evaluation.md`).

use serde::{Deserialize, Serialize};
use text::{CorrectionCue, Utterance, contradicts, correction_cue, puts_in_doubt, split_sentences};

use super::extraction::corrections::{is_change_of, is_retraction_of};

#[derive(Deserialize)]
pub(super) struct ReconciliationInputs {
    pairs: Vec<Pair>,
}

#[derive(Deserialize)]
struct Pair {
    pair: usize,
    older: String,
    newer: String,
    words: String,
}

#[derive(Serialize)]
pub(super) struct Reconciliation {
    pairs: Vec<Verdict>,
}

#[derive(Serialize)]
struct Verdict {
    pair: usize,
    verdict: &'static str,
    quote: String,
    still_true: Option<String>,
}

pub(super) fn reconcile(inputs: &ReconciliationInputs) -> Reconciliation {
    let verdict = |pair: &Pair| Verdict {
        pair: pair.pair,
        verdict: decide_verdict(pair),
        quote: pair.words.clone(),
        still_true: None,
    };
    Reconciliation { pairs: inputs.pairs.iter().map(verdict).collect() }
}

fn decide_verdict(pair: &Pair) -> &'static str {
    let cue = correction_cue(&pair.words);
    if matches!(cue, Some(CorrectionCue::Retracted | CorrectionCue::Denied)) {
        return if is_retraction_of(&pair.words, &pair.older) { "corrects" } else { "unrelated" };
    }
    let is_mistaken = cue == Some(CorrectionCue::Mistaken);
    let sentences: Vec<Utterance<'_>> =
        split_sentences(&pair.words).into_iter().map(Utterance::new).collect();
    let is_past = sentences.iter().all(Utterance::is_about_the_past);
    if !is_mistaken && (is_past || sentences.iter().any(Utterance::adds_to_known)) {
        return "adds";
    }
    if puts_in_doubt(&pair.newer, &pair.older) {
        return "unsure";
    }
    let corrects = is_mistaken || cue == Some(CorrectionCue::Changed);
    let is_other = is_change_of(&pair.words, &pair.older) || contradicts(&pair.newer, &pair.older, corrects);
    match is_other {
        true if is_mistaken => "corrects",
        true => "replaces",
        false => "unrelated",
    }
}
