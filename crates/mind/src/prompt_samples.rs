//! Each template is tried with sample inputs when it is loaded, so that mistakes show at the start.

use std::path::Path;

use minijinja::Value;
use minijinja::value::Serde;
use serde::Serialize;

use crate::extraction::ExtractionContext;
use crate::persona_draft::PersonaDraftContext;
use crate::proactive::ProactiveContext;
use crate::prompts::{PromptError, PromptName, Prompts};
use crate::reconciliation::ReconciliationContext;
use crate::reflection::ReflectionContext;
use crate::relations::RelationContext;
use crate::reply::{SystemContext, UserContext};
use crate::rollup::RollUpContext;
use crate::slow_cycle::SlowCycleContext;

impl Prompts {
    /// Reads the built-in templates, and those in `overrides` (a folder of `NAME.md`) that replace them.
    ///
    /// # Errors
    ///
    /// [`PromptError`] for the first file that is unreadable or invalid.
    pub fn load(overrides: Option<&Path>) -> Result<Self, PromptError> {
        Self::load_and_try(overrides, sample_inputs)
    }
}

/// Inputs to try a template with: everything filled, and everything empty.
fn sample_inputs(name: PromptName) -> [Value; 2] {
    match name {
        PromptName::Extraction => {
            full_and_empty(ExtractionContext::sample_input(), ExtractionContext::default())
        }
        PromptName::Reconciliation => {
            full_and_empty(ReconciliationContext::example(), ReconciliationContext::default())
        }
        PromptName::Reflection => full_and_empty(ReflectionContext::example(), ReflectionContext::default()),
        PromptName::SlowCycle => full_and_empty(SlowCycleContext::example(), SlowCycleContext::default()),
        PromptName::PersonaDraft => {
            full_and_empty(PersonaDraftContext::example(), PersonaDraftContext::default())
        }
        PromptName::RollUp => full_and_empty(RollUpContext::example(), RollUpContext::default()),
        PromptName::Graph => full_and_empty(RelationContext::example(), RelationContext::default()),
        PromptName::Proactive => full_and_empty(ProactiveContext::example(), ProactiveContext::default()),
        PromptName::ReplySystem => full_and_empty(SystemContext::example(), SystemContext::default()),
        PromptName::ReplyUser => full_and_empty(UserContext::example(), UserContext::default()),
    }
}

fn full_and_empty(full: impl Serialize, empty: impl Serialize) -> [Value; 2] {
    [Value::from(Serde(full)), Value::from(Serde(empty))]
}
