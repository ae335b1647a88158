//! Fits the weights of the message ranking to labelled data, and measures what each is worth.
//!
//! The weights maximise the likelihood of the answers: each question's candidates are compared by a softmax over
//! their totals, and the mean log-probability of its answers is maximised. That is concave, so Newton's method finds
//! the only maximum, the same on every run. The quality of the weights is measured on the conversation that was left
//! out.

mod newton;

use std::fmt::Write as _;

use memory::recall::{MessageWeights, Signal, Signals};
use serde::Serialize;

use crate::measure::{Figures, RankedUnits, compute_figures};
use crate::replay::AnsweredQuestion;

/// Weight of a misleading question relative to an ordinary one: it should be found too, but is rarely asked.
const MISLEADING_WEIGHT: f64 = 0.3;

/// Result of the fitting.
#[derive(Clone, Debug, Serialize)]
pub struct Tuning {
    /// The fitted weights, scaled to the length of the present ones.
    pub fitted: Vec<(&'static str, f64)>,
    /// Figures of the present weights on all data.
    pub present: Pair,
    /// Figures of cross-validation: for each conversation, weights are fitted on the others and measured on it.
    pub held_out: Pair,
    /// Pairs of figures by conversation.
    pub by_conversation: Vec<(String, Pair)>,
    /// Figures of the present weights without one signal.
    pub without: Vec<(&'static str, Pair)>,
}

/// Figures of ordinary and of misleading questions.
#[derive(Clone, Debug, Serialize)]
pub struct Pair {
    pub ordinary: Figures,
    pub misleading: Figures,
}

/// A question in the form that the fitting uses.
struct Example<'a> {
    answered: &'a AnsweredQuestion,
    misleading: bool,
}

/// Fits weights and measures them. `misleading` returns true for questions that are built to mislead.
pub fn tune_weights(
    answered: &[AnsweredQuestion],
    present: &MessageWeights,
    misleading: impl Fn(&RankedUnits) -> bool,
) -> Tuning {
    let examples: Vec<Example<'_>> = answered
        .iter()
        .filter(|answered| !answered.ranked.gold.is_empty())
        .map(|answered| Example { answered, misleading: misleading(&answered.ranked) })
        .collect();
    let all: Vec<&Example<'_>> = examples.iter().collect();
    let mut conversations: Vec<String> = Vec::new();
    for example in &examples {
        if !conversations.contains(&example.answered.ranked.conversation) {
            conversations.push(example.answered.ranked.conversation.clone());
        }
    }
    let mut held_out = Vec::new();
    let mut by_conversation = Vec::new();
    for left_out in conversations.iter().filter(|_| conversations.len() > 1) {
        let is_out = |example: &&&Example<'_>| example.answered.ranked.conversation == *left_out;
        let rest: Vec<&Example<'_>> = all.iter().filter(|example| !is_out(example)).copied().collect();
        let weights = fit_weights(&rest);
        let out = rerank_with_weights(all.iter().filter(is_out).copied(), &weights);
        by_conversation.push((left_out.clone(), figures_of_both_kinds(&out)));
        held_out.extend(out);
    }
    let without = Signal::ALL.into_iter().map(|signal| {
        (
            signal.name(),
            figures_of_both_kinds(&rerank_with_weights(
                all.iter().copied(),
                &present.with_weight(signal, 0.0),
            )),
        )
    });
    Tuning {
        fitted: scaled_weights(&fit_weights(&all), present).collect(),
        present: figures_of_both_kinds(&rerank_with_weights(all.iter().copied(), present)),
        held_out: figures_of_both_kinds(&held_out),
        by_conversation,
        without: without.collect(),
    }
}

/// Scales the fitted weights to the length of the present ones: only their ratios matter.
fn scaled_weights(
    fitted: &MessageWeights,
    present: &MessageWeights,
) -> impl Iterator<Item = (&'static str, f64)> {
    let length = |weights: &MessageWeights| {
        Signal::ALL.into_iter().map(|signal| weights[signal].powi(2)).sum::<f64>().sqrt()
    };
    let scale = length(present) / length(fitted).max(f64::EPSILON);
    let fitted = *fitted;
    Signal::ALL.into_iter().map(move |signal| (signal.name(), fitted[signal] * scale))
}

fn fit_weights(examples: &[&Example<'_>]) -> MessageWeights {
    let rows = examples.iter().filter_map(|example| {
        let gold = &example.answered.ranked.gold;
        let candidates = &example.answered.candidates;
        let values = candidates.iter().map(|(_, signals)| to_vector(signals)).collect();
        let answers: Vec<usize> = candidates
            .iter()
            .enumerate()
            .filter(|(_, (id, _))| gold.contains(id))
            .map(|(at, _)| at)
            .collect();
        let weight = if example.misleading { MISLEADING_WEIGHT } else { 1.0 };
        (!answers.is_empty()).then_some(newton::Choice { values, answers, weight })
    });
    let fitted = newton::fit_weights(&rows.collect::<Vec<_>>(), Signal::ALL.len());
    let pairs = Signal::ALL.into_iter().zip(fitted);
    pairs.fold(MessageWeights::default(), |weights, (signal, value)| weights.with_weight(signal, value))
}

fn to_vector(signals: &Signals) -> Vec<f64> {
    Signal::ALL.into_iter().map(|signal| signals[signal]).collect()
}

/// Sorts the candidates by other weights; ties keep their order.
fn rerank_with_weights<'a>(
    examples: impl Iterator<Item = &'a Example<'a>>,
    weights: &MessageWeights,
) -> Vec<(bool, RankedUnits)> {
    let reranked = examples.map(|example| {
        let mut scored: Vec<(f64, &String)> =
            example.answered.candidates.iter().map(|(id, signals)| (signals.total(weights), id)).collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0));
        let ranking = scored.into_iter().map(|(_, id)| id.clone()).collect();
        (example.misleading, RankedUnits { ranking, ..example.answered.ranked.clone() })
    });
    reranked.collect()
}

fn figures_of_both_kinds(ranked: &[(bool, RankedUnits)]) -> Pair {
    let of = |wanted: bool| {
        compute_figures(
            ranked.iter().filter(|(misleading, _)| *misleading == wanted).map(|(_, ranked)| ranked),
        )
    };
    Pair { ordinary: of(false), misleading: of(true) }
}

impl Tuning {
    /// A fragment of the configuration and the tables, for people.
    pub fn table(&self) -> String {
        let mut text =
            String::from("# Fitted; put it into config.toml to try it.\n[recall.message_weights]\n");
        for (name, weight) in &self.fitted {
            let _ = writeln!(text, "{name} = {weight:.2}");
        }
        let head = ["R@5", "R@10", "MRR", "misleading R@10"];
        let _ = writeln!(text, "\n{:<24}{:>8}{:>8}{:>8}{:>18}", "", head[0], head[1], head[2], head[3]);
        row(&mut text, "present weights", &self.present);
        if !self.by_conversation.is_empty() {
            row(&mut text, "fitted, held out", &self.held_out);
        }
        for (name, pair) in &self.by_conversation {
            row(&mut text, &format!("  {name}"), pair);
        }
        for (name, pair) in &self.without {
            row(&mut text, &format!("without {name}"), pair);
        }
        text.push_str(
            "Weights of nodes are the seed's: no public data has labelled events and thoughts to fit them on.\n",
        );
        text
    }
}

fn row(text: &mut String, name: &str, Pair { ordinary, misleading }: &Pair) {
    let at = |figures: &Figures, k: usize| figures.recall.get(&k).copied().unwrap_or_default();
    let (five, ten, mrr) = (at(ordinary, 5), at(ordinary, 10), ordinary.mrr);
    let misleading = at(misleading, 10);
    let _ = writeln!(text, "{name:<24}{five:>8.1}{ten:>8.1}{mrr:>8.1}{misleading:>18.1}");
}

#[cfg(test)]
mod tests {
    use memory::recall::MessageFit;

    use super::*;

    fn answered_question(conversation: &str, answer_has: Signal, other_has: Signal) -> AnsweredQuestion {
        let with = |signal: Signal| {
            let mut signals = Signals::default();
            signals[signal] = 1.0;
            signals
        };
        let ranked = RankedUnits {
            id: "q".to_owned(),
            conversation: conversation.to_owned(),
            question: String::new(),
            category: String::new(),
            gold: vec!["answer".to_owned()],
            ranking: Vec::new(),
        };
        let candidates = vec![("other".to_owned(), with(other_has)), ("answer".to_owned(), with(answer_has))];
        AnsweredQuestion { ranked, candidates, best: Vec::new(), fit: MessageFit::default(), sessions: None }
    }

    #[test]
    fn the_signal_that_tells_answers_is_found() {
        let data: Vec<AnsweredQuestion> =
            ["a", "b", "a", "b"].map(|c| answered_question(c, Signal::Time, Signal::Asks)).to_vec();
        let tuning = tune_weights(&data, &MessageWeights::default(), |_| false);
        let weight = |name: &str| tuning.fitted.iter().find(|(known, _)| *known == name).unwrap().1;
        assert!(weight("time") > 0.0 && weight("asks") < 0.0);
        assert_eq!(tuning.held_out.ordinary.mrr, 100.0);
        assert_eq!(tuning.by_conversation.len(), 2);
    }

    #[test]
    fn an_ablation_shows_what_a_signal_is_worth() {
        let data = vec![answered_question("a", Signal::Time, Signal::Speaker)];
        let tuning = tune_weights(&data, &MessageWeights::default(), |_| false);
        let mrr =
            |name: &str| tuning.without.iter().find(|(known, _)| *known == name).unwrap().1.ordinary.mrr;
        assert_eq!((tuning.present.ordinary.mrr, mrr("time"), mrr("words")), (100.0, 50.0, 100.0));
    }
}
