//! The table that a person reads, and the comparison with the last run.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::measure::{CUTS, Figures, Ranked, figures};

/// Everything that one run found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The data set's format.
    pub set: String,
    /// Units captured.
    pub units: usize,
    /// Whether vectors took part.
    pub vectors: bool,
    /// Malformed references to evidence that were repaired.
    pub repaired: usize,
    /// References to units that do not exist.
    pub dangling: usize,
    /// All ordinary questions.
    pub all: Figures,
    /// Questions built to mislead, apart.
    pub adversarial: Option<Figures>,
    /// By kind of question.
    pub by_category: BTreeMap<String, Figures>,
}

/// LoCoMo's kind of question that is built to mislead.
const ADVERSARIAL: &str = "5";

impl Report {
    /// Sums the rankings up. In LoCoMo the adversarial questions are kept apart.
    pub fn new(
        set: &str,
        units: usize,
        vectors: bool,
        repaired: usize,
        dangling: usize,
        ranked: &[Ranked],
    ) -> Self {
        let misleading = |question: &&Ranked| set == "locomo" && question.category == ADVERSARIAL;
        let mut by_category: BTreeMap<String, Vec<&Ranked>> = BTreeMap::new();
        for question in ranked {
            by_category.entry(question.category.clone()).or_default().push(question);
        }
        let adversarial = figures(ranked.iter().filter(misleading));
        Self {
            set: set.to_owned(),
            units,
            vectors,
            repaired,
            dangling,
            all: figures(ranked.iter().filter(|question| !misleading(question))),
            adversarial: (adversarial.questions > 0).then_some(adversarial),
            by_category: by_category.into_iter().map(|(name, list)| (name, figures(list))).collect(),
        }
    }

    /// The table, with the change against `last` where there is one.
    pub fn table(&self, last: Option<&Self>) -> String {
        let mut text = String::new();
        let signals = if self.vectors { "words and vectors" } else { "words alone" };
        let _ = writeln!(
            text,
            "{}: {} units, {signals}; evidence repaired {}, dangling {}",
            self.set, self.units, self.repaired, self.dangling
        );
        let _ = write!(text, "{:<14}{:>6}", "", "n");
        for k in CUTS {
            let _ = write!(text, "{:>8}", format!("R@{k}"));
        }
        let _ = writeln!(text, "{:>8}{:>8}{:>8}", "hit@10", "MRR", "nDCG");
        row(&mut text, "all", &self.all);
        if let Some(adversarial) = &self.adversarial {
            row(&mut text, "adversarial", adversarial);
        }
        if self.by_category.len() > 1 {
            for (name, figures) in &self.by_category {
                row(&mut text, &format!("kind {name}"), figures);
            }
        }
        if let Some(last) = last {
            let change = |now: f64, before: f64| format!("{:+.1}", now - before);
            let at = |figures: &Figures, k: usize| figures.recall.get(&k).copied().unwrap_or_default();
            let _ = writeln!(
                text,
                "against the last run: R@5 {}, R@10 {}, MRR {}",
                change(at(&self.all, 5), at(&last.all, 5)),
                change(at(&self.all, 10), at(&last.all, 10)),
                change(self.all.mrr, last.all.mrr),
            );
        }
        text
    }
}

fn row(text: &mut String, name: &str, figures: &Figures) {
    let _ = write!(text, "{name:<14}{:>6}", figures.questions);
    for k in CUTS {
        let _ = write!(text, "{:>8.1}", figures.recall.get(&k).copied().unwrap_or_default());
    }
    let hit = figures.hit.get(&10).copied().unwrap_or_default();
    let _ = writeln!(text, "{hit:>8.1}{:>8.1}{:>8.1}", figures.mrr, figures.ndcg_10);
}
