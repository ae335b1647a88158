//! Measures which of the found messages would be shown, compared with the right ones.

use memory::recall::RankedMessage;
use serde::{Deserialize, Serialize};

/// Maximum passages in a prompt: the default of recall.
const PASSAGES_MAX: usize = 5;
/// Shares of the best total from which a message is shown.
const BEST_TOTAL_FRACTIONS: [f64; 7] = [0.0, 0.6, 0.65, 0.7, 0.75, 0.8, 0.9];
/// Minimum relevance that one of the messages needs.
const RELEVANCE_FLOORS: [f64; 2] = [0.0, 0.4];

/// Scores that decide whether a message is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoredMessage {
    pub id: String,
    /// The weighted sum by which the message is ranked.
    pub total: f64,
    /// The larger of the message's vector and word relevance.
    pub relevance: f64,
}

impl ScoredMessage {
    /// The unit with this id, with its scores.
    pub fn new(id: String, ranked: &RankedMessage) -> Self {
        Self { id, total: ranked.total, relevance: ranked.vector.max(ranked.words) }
    }
}

/// Precision and recall of one rule, in percent, as the mean over questions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RuleResult {
    /// Share of the best total.
    pub share: f64,
    /// Minimum relevance that one of the messages needs.
    pub floor: f64,
    /// Share of the shown messages that is gold; a question without shown messages counts 0.
    pub precision: f64,
    /// Share of the gold that is shown.
    pub recall: f64,
    /// Messages that are shown for a question.
    pub shown: f64,
}

/// Measures each rule over questions, given their gold units and the ranking, best first.
pub fn measure_rules(questions: &[(&[String], &[ScoredMessage])]) -> Vec<RuleResult> {
    let rules = BEST_TOTAL_FRACTIONS
        .iter()
        .flat_map(|share| RELEVANCE_FLOORS.iter().map(move |floor| (*share, *floor)));
    rules.map(|(share, floor)| measure_rule(questions, share, floor)).collect()
}

fn measure_rule(questions: &[(&[String], &[ScoredMessage])], share: f64, floor: f64) -> RuleResult {
    let (mut precision, mut recall, mut count) = (0.0, 0.0, 0);
    for (gold, found) in questions {
        let best = found.first().map_or(0.0, |found| found.total);
        let is_near = |found: &&ScoredMessage| found.total >= share * best;
        let is_answered = found.iter().filter(is_near).any(|found| found.relevance >= floor);
        let near = found.iter().filter(is_near).filter(|_| is_answered);
        let ids: Vec<&String> = near.take(PASSAGES_MAX).map(|found| &found.id).collect();
        let hits = ids.iter().filter(|id| gold.contains(id)).count() as f64;
        precision += hits / ids.len().max(1) as f64;
        recall += hits / gold.len().max(1) as f64;
        count += ids.len();
    }
    let mean = |sum: f64| 100.0 * sum / questions.len().max(1) as f64;
    let shown = count as f64 / questions.len().max(1) as f64;
    RuleResult { share, floor, precision: mean(precision), recall: mean(recall), shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_by_hand() {
        let found = |id: &str, total, relevance| ScoredMessage { id: id.to_owned(), total, relevance };
        let gold = ["a".to_owned(), "b".to_owned()];
        let ranked = [found("a", 2.0, 0.9), found("x", 1.6, 0.5), found("b", 1.5, 0.3), found("y", 1.0, 0.6)];
        let rule = |share, floor| measure_rule(&[(&gold, &ranked)], share, floor);
        let figures = |rule: RuleResult| (rule.precision.round(), rule.recall, rule.shown);
        assert_eq!(figures(rule(0.0, 0.0)), (50.0, 100.0, 4.0));
        assert_eq!(figures(rule(0.75, 0.0)), (67.0, 100.0, 3.0));
        assert_eq!(figures(rule(0.75, 0.9)), (67.0, 100.0, 3.0));
        assert_eq!(figures(rule(0.75, 0.95)), (0.0, 0.0, 0.0));
        assert_eq!(figures(rule(0.9, 0.0)), (100.0, 50.0, 1.0));
        assert_eq!(figures(measure_rule(&[(&gold, &[])], 0.0, 0.0)), (0.0, 0.0, 0.0));
    }
}
