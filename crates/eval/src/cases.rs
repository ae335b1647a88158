//! Our own small cases: what a good memory does with a short conversation, in both languages, through the whole
//! runtime.
//!
//! A case is a TOML file in `cases/`: the messages of each session, and expectations for afterwards. Sessions end
//! explicitly, so that each is consolidated before the next begins; the case sets the clock.

mod stage;

use std::collections::BTreeMap;

use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize};

pub use stage::{Stage, StoryClock};

/// A case, as it is written in its file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The purpose of the case, in one sentence.
    pub shows: String,
    /// The case's kind: `peak`, `false_recall`, `attribution`, `date`, `correction`, `injection`.
    pub kind: String,
    pub language: String,
    /// The conversations, in order.
    #[serde(default)]
    pub talk: Vec<CaseSession>,
    /// Expectations after all conversations have become memory.
    pub expect: Vec<Expectation>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseSession {
    /// Time at which the session begins, as RFC 3339.
    pub at: jiff::Timestamp,
    /// Messages of the user, one per turn; each is answered.
    pub says: Vec<String>,
}

/// One requirement of a case. Words are compared regardless of case.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// Some event (or, with `ask`, the reply) contains each of these texts.
    #[serde(default)]
    pub holds: Vec<String>,
    /// No event (or, with `ask`, the reply does not) contains any of these texts.
    #[serde(default)]
    pub lacks: Vec<String>,
    /// Maximum impact of the event that contains `holds`.
    pub impact_at_most: Option<i8>,
    /// Minimum impact of the event that contains `holds`.
    pub impact_at_least: Option<i8>,
    /// Day (UTC) on which the event that contains `holds` begins; with `passage`, the day on which it was said.
    pub day: Option<jiff::civil::Date>,
    /// A question that is asked on the day after the last conversation.
    pub ask: Option<String>,
    /// If set, the expected answer of recall to "was nothing found?".
    pub nothing_found: Option<bool>,
    /// The first recalled passage contains this text, said by `by`.
    pub passage: Option<String>,
    pub by: Option<String>,
    /// Too hard for the offline provider: checked only with a language model.
    #[serde(default)]
    pub model_only: bool,
}

/// The result of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    pub name: String,
    pub kind: String,
    pub shows: String,
    /// Failed expectations, in sentences; empty if there are none.
    pub failures: Vec<String>,
}

/// The cases of this version, by name.
const SHIPPED_FILES: &[(&str, &str)] = &[
    ("attribution_en", include_str!("../cases/attribution_en.toml")),
    ("attribution_zh", include_str!("../cases/attribution_zh.toml")),
    ("correction_en", include_str!("../cases/correction_en.toml")),
    ("correction_zh", include_str!("../cases/correction_zh.toml")),
    ("date_en", include_str!("../cases/date_en.toml")),
    ("date_zh", include_str!("../cases/date_zh.toml")),
    ("false_recall_en", include_str!("../cases/false_recall_en.toml")),
    ("false_recall_zh", include_str!("../cases/false_recall_zh.toml")),
    ("injection_en", include_str!("../cases/injection_en.toml")),
    ("injection_zh", include_str!("../cases/injection_zh.toml")),
    ("peak_en", include_str!("../cases/peak_en.toml")),
    ("peak_zh", include_str!("../cases/peak_zh.toml")),
];

/// Reads the shipped cases.
///
/// # Errors
/// When a file is not a case; the message names it.
pub fn shipped_cases() -> anyhow::Result<BTreeMap<String, Case>> {
    let read = |(name, text): &(&str, &str)| {
        Ok(((*name).to_owned(), parse(text).with_context(|| (*name).to_owned())?))
    };
    SHIPPED_FILES.iter().map(read).collect()
}

/// Reads one case.
///
/// # Errors
/// When the text is not a case.
pub fn parse(text: &str) -> anyhow::Result<Case> {
    let case: Case = toml::from_str(text)?;
    if case.expect.is_empty() {
        bail!("a case that expects nothing can't fail");
    }
    Ok(case)
}

/// Runs a case on a fresh stage; `by_model` says that a language model takes part.
///
/// # Errors
///
/// When the store or the model fails. Unmet expectations are in the outcome.
pub async fn run_case(name: &str, case: &Case, stage: &mut Stage, by_model: bool) -> anyhow::Result<Outcome> {
    for talk in &case.talk {
        stage.run_session(talk).await?;
    }
    let mut failures = Vec::new();
    for expectation in case.expect.iter().filter(|expected| by_model || !expected.model_only) {
        failures.extend(stage.failed_expectations(expectation).await?);
    }
    Ok(Outcome { name: name.to_owned(), kind: case.kind.clone(), shows: case.shows.clone(), failures })
}

/// The outcomes as a table for people.
pub fn table(outcomes: &[Outcome]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for outcome in outcomes {
        let mark = if outcome.failures.is_empty() { "holds " } else { "FAILS " };
        lines.push(format!("{mark} {:<16} {}", outcome.name, outcome.shows));
        lines.extend(outcome.failures.iter().map(|failure| format!("         {failure}")));
    }
    let held = outcomes.iter().filter(|outcome| outcome.failures.is_empty()).count();
    lines.push(format!("{held} of {} hold", outcomes.len()));
    lines.join("\n") + "\n"
}
