//! Rankings against gold: recall@k, hit@k, MRR, nDCG@10.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Ranks at which recall and hits are measured.
pub const RANK_CUTS: [usize; 5] = [1, 5, 10, 20, 50];
/// Depth of nDCG. Benchmarks of retrieval report it at this depth.
const NDCG_DEPTH: usize = 10;

/// The mean of each figure over some questions, in percent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    pub questions: usize,
    /// Share of the gold units among the first k, by k.
    pub recall: BTreeMap<usize, f64>,
    /// Share of questions with any gold unit among the first k, by k.
    pub hit: BTreeMap<usize, f64>,
    /// Reciprocal rank of the first gold unit, 0 where none is ranked.
    pub mrr: f64,
    /// Discounted gain of the first ten against the ideal order.
    pub ndcg_10: f64,
}

/// The ranking of one question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankedUnits {
    pub id: String,
    #[serde(rename = "conv")]
    pub conversation: String,
    pub question: String,
    pub category: String,
    /// Units that answer the question.
    pub gold: Vec<String>,
    /// Units found, best first.
    pub ranking: Vec<String>,
}

/// The figures over all of the questions.
pub fn compute_figures<'a>(ranked: impl IntoIterator<Item = &'a RankedUnits>) -> Figures {
    let mut sum = Figures::default();
    for question in ranked {
        add(&mut sum, question);
    }
    let mean = |value: f64| 100.0 * value / sum.questions.max(1) as f64;
    Figures {
        questions: sum.questions,
        recall: sum.recall.iter().map(|(k, value)| (*k, mean(*value))).collect(),
        hit: sum.hit.iter().map(|(k, value)| (*k, mean(*value))).collect(),
        mrr: mean(sum.mrr),
        ndcg_10: mean(sum.ndcg_10),
    }
}

fn add(sum: &mut Figures, question: &RankedUnits) {
    let is_gold = |id: &String| question.gold.contains(id);
    sum.questions += 1;
    for k in RANK_CUTS {
        let found = question.ranking.iter().take(k).filter(|id| is_gold(id)).count();
        *sum.recall.entry(k).or_default() += found as f64 / question.gold.len().max(1) as f64;
        *sum.hit.entry(k).or_default() += f64::from(u8::from(found > 0));
    }
    if let Some(place) = question.ranking.iter().position(is_gold) {
        sum.mrr += 1.0 / (place + 1) as f64;
    }
    let discount = |place: usize| 1.0 / ((place + 2) as f64).log2();
    let gain: f64 =
        (0..NDCG_DEPTH).filter(|p| question.ranking.get(*p).is_some_and(is_gold)).map(discount).sum();
    let ideal: f64 = (0..question.gold.len().min(NDCG_DEPTH)).map(discount).sum();
    if ideal > 0.0 {
        sum.ndcg_10 += gain / ideal;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranked_units(gold: &[&str], ranking: &[&str]) -> RankedUnits {
        let owned = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect();
        RankedUnits {
            id: "1".to_owned(),
            conversation: "c".to_owned(),
            question: "q".to_owned(),
            category: "1".to_owned(),
            gold: owned(gold),
            ranking: owned(ranking),
        }
    }

    #[test]
    fn worked_by_hand() {
        let figures = compute_figures(&[
            ranked_units(&["a", "b"], &["x", "a", "y", "z", "w", "b"]),
            ranked_units(&["c"], &["x"]),
        ]);
        assert_eq!(figures.questions, 2);
        assert_eq!(figures.recall[&1], 0.0);
        assert_eq!(figures.recall[&5], 25.0);
        assert_eq!(figures.recall[&10], 50.0);
        assert_eq!(figures.hit[&5], 50.0);
        assert_eq!(figures.mrr, 25.0);
        // Gains at ranks 2 and 6: 1/log2(3) + 1/log2(7); ideal: 1 + 1/log2(3).
        let one = (1.0 / 3f64.log2() + 1.0 / 7f64.log2()) / (1.0 + 1.0 / 3f64.log2());
        assert!((figures.ndcg_10 - 100.0 * one / 2.0).abs() < 1e-9);
    }

    #[test]
    fn an_empty_set_has_no_division_by_zero() {
        assert_eq!(compute_figures(&[]).mrr, 0.0);
    }
}
