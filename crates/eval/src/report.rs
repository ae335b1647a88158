//! Prints the result as a table, compared with the last run.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use memory::messages::MESSAGE_LENGTH_MAX;
use serde::{Deserialize, Serialize};

use crate::absence::{AbsenceBound, FOREIGN_CATEGORY, bound_curve};
use crate::data::DataSet;
use crate::measure::{Figures, RANK_CUTS, RankedUnits, compute_figures};
use crate::passages::{RuleResult, ScoredMessage, measure_rules};
use crate::replay::AnsweredQuestion;

/// All figures of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The data set's format.
    pub set: String,
    /// Name of the file or folder of the data.
    #[serde(default)]
    pub data: String,
    pub units: usize,
    /// True if vectors took part.
    pub vectors: bool,
    /// Malformed references to evidence that were repaired.
    pub repaired: usize,
    /// References to evidence that does not exist in the conversation.
    pub dangling: usize,
    /// Questions left out because nothing is known about them.
    #[serde(default)]
    pub unanswerable: usize,
    /// Units longer than the maximum of a message, which were cut.
    #[serde(default)]
    pub cut: usize,
    pub all: Figures,
    /// Figures of questions that are built to mislead.
    pub adversarial: Option<Figures>,
    /// Figures by kind of question.
    pub by_category: BTreeMap<String, Figures>,
    /// Figures of sessions instead of units, if the data names them.
    #[serde(default)]
    pub sessions: Option<Figures>,
    /// Precision and recall of the shown messages, by each rule.
    #[serde(default)]
    pub shown: Vec<RuleResult>,
    /// Precision and recall of saying that nothing is known, if measured.
    #[serde(default)]
    pub absence: Vec<AbsenceBound>,
}

/// LoCoMo's kind of question that is built to mislead.
const ADVERSARIAL_KIND: &str = "5";

/// Step between the printed bounds of the curve.
const ABSENCE_STEP: usize = 3;

/// True if a question of this set is built to mislead.
pub fn is_misleading(set: &str, question: &RankedUnits) -> bool {
    set == "locomo" && question.category == ADVERSARIAL_KIND
}

impl Report {
    /// Averages the rankings. In LoCoMo the adversarial questions are kept apart.
    pub fn new(set: &str, name: &str, data: &DataSet, vectors: bool, answered: &[AnsweredQuestion]) -> Self {
        let asked = || answered.iter().filter(|one| !one.ranked.gold.is_empty()).map(|one| &one.ranked);
        let mut by_category: BTreeMap<String, Vec<&RankedUnits>> = BTreeMap::new();
        for question in asked() {
            by_category.entry(question.category.clone()).or_default().push(question);
        }
        let adversarial = compute_figures(asked().filter(|question| is_misleading(set, question)));
        let sessions = compute_figures(answered.iter().filter_map(|one| one.sessions.as_ref()));
        Self {
            set: set.to_owned(),
            data: name.to_owned(),
            units: data.conversations.iter().map(|conversation| conversation.units.len()).sum(),
            vectors,
            repaired: data.repaired,
            dangling: data.dangling,
            unanswerable: data.unanswerable,
            cut: data.cut,
            all: compute_figures(asked().filter(|question| !is_misleading(set, question))),
            adversarial: (adversarial.questions > 0).then_some(adversarial),
            by_category: by_category.into_iter().map(|(name, list)| (name, compute_figures(list))).collect(),
            sessions: (sessions.questions > 0).then_some(sessions),
            shown: shown_at_cuts(set, answered),
            absence: absence_curve(set, vectors, answered),
        }
    }

    /// The table; if `last` is given, with the change since that run.
    pub fn table(&self, last: Option<&Self>) -> String {
        let mut text = String::new();
        let signals = if self.vectors { "words and vectors" } else { "words alone" };
        let _ = writeln!(
            text,
            "{}: {} units, {signals}; evidence repaired {}, dangling {}; without an answer {}",
            self.data, self.units, self.repaired, self.dangling, self.unanswerable
        );
        if self.cut > 0 {
            let _ = writeln!(
                text,
                "note: {} units have more than {MESSAGE_LENGTH_MAX} characters and were cut",
                self.cut
            );
        }
        let _ = write!(text, "{:<14}{:>6}", "", "n");
        for k in RANK_CUTS {
            let _ = write!(text, "{:>8}", format!("R@{k}"));
        }
        let _ = writeln!(text, "{:>8}{:>8}{:>8}", "hit@10", "MRR", "nDCG");
        row(&mut text, "all", &self.all);
        if let Some(adversarial) = &self.adversarial {
            row(&mut text, "adversarial", adversarial);
        }
        if let Some(sessions) = &self.sessions {
            row(&mut text, "sessions", sessions);
        }
        if self.by_category.len() > 1 {
            for (name, figures) in &self.by_category {
                row(&mut text, &format!("kind {name}"), figures);
            }
        }
        self.shown_table(&mut text);
        self.absence_table(&mut text);
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

    fn shown_table(&self, text: &mut String) {
        let _ = writeln!(text, "shown, by share of the best total and least relevance:");
        let _ = writeln!(text, "{:<14}{:>12}{:>10}{:>10}", "share  least", "precision", "recall", "shown");
        for RuleResult { share, floor, precision, recall, shown } in &self.shown {
            let _ = writeln!(text, "{share:<7.2}{floor:<7.2}{precision:>12.1}{recall:>10.1}{shown:>10.1}");
        }
    }

    fn absence_table(&self, text: &mut String) {
        if self.absence.is_empty() {
            return;
        }
        let fit = if self.vectors { "support" } else { "words" };
        let _ = writeln!(text, "saying that nothing is known, when {fit} is below:");
        let _ = writeln!(text, "{fit:<14}{:>12}{:>10}{:>18}", "precision", "recall", "memories denied");
        for bound in self.absence.iter().step_by(ABSENCE_STEP) {
            let AbsenceBound { support, precision, recall, denied } = bound;
            let _ = writeln!(text, "{support:<14.2}{precision:>12.1}{recall:>10.1}{denied:>18.1}");
        }
    }
}

fn shown_at_cuts(set: &str, answered: &[AnsweredQuestion]) -> Vec<RuleResult> {
    let is_asked = |one: &&AnsweredQuestion| {
        !one.ranked.gold.is_empty()
            && one.ranked.category != FOREIGN_CATEGORY
            && !is_misleading(set, &one.ranked)
    };
    let asked = answered.iter().filter(is_asked);
    let questions: Vec<(&[String], &[ScoredMessage])> =
        asked.map(|one| (one.ranked.gold.as_slice(), one.best.as_slice())).collect();
    measure_rules(&questions)
}

/// The curve over answerable and foreign questions; empty if there are no foreign ones.
fn absence_curve(set: &str, vectors: bool, answered: &[AnsweredQuestion]) -> Vec<AbsenceBound> {
    let supports = |foreign: bool| -> Vec<f64> {
        let wanted = |one: &&AnsweredQuestion| {
            (one.ranked.category == FOREIGN_CATEGORY) == foreign && !is_misleading(set, &one.ranked)
        };
        answered
            .iter()
            .filter(wanted)
            .map(|one| if vectors { one.fit.support } else { one.fit.said })
            .collect()
    };
    let foreign = supports(true);
    if foreign.is_empty() { Vec::new() } else { bound_curve(&supports(false), &foreign) }
}

fn row(text: &mut String, name: &str, figures: &Figures) {
    let _ = write!(text, "{name:<14}{:>6}", figures.questions);
    for k in RANK_CUTS {
        let _ = write!(text, "{:>8.1}", figures.recall.get(&k).copied().unwrap_or_default());
    }
    let hit = figures.hit.get(&10).copied().unwrap_or_default();
    let _ = writeln!(text, "{hit:>8.1}{:>8.1}{:>8.1}", figures.mrr, figures.ndcg_10);
}
