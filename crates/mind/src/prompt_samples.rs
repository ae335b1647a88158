//! Each template is tried with sample inputs when it is loaded, so that a mistake shows now and not in the night.

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
    /// Reads the built-in templates and those that `overrides` (a folder of `NAME.md`) puts in their place.
    ///
    /// # Errors
    /// [`PromptError`] for the first file that is unreadable or broken.
    pub fn load(overrides: Option<&Path>) -> Result<Self, PromptError> {
        Self::load_and_try(overrides, sample_inputs)
    }
}

/// Inputs that a template is tried with: everything filled, and everything empty.
fn sample_inputs(name: PromptName) -> [Value; 2] {
    match name {
        PromptName::Extraction => pair(ExtractionContext::sample_input(), ExtractionContext::default()),
        PromptName::Reconciliation => {
            pair(ReconciliationContext::example(), ReconciliationContext::default())
        }
        PromptName::Reflection => pair(ReflectionContext::example(), ReflectionContext::default()),
        PromptName::SlowCycle => pair(SlowCycleContext::example(), SlowCycleContext::default()),
        PromptName::PersonaDraft => pair(PersonaDraftContext::example(), PersonaDraftContext::default()),
        PromptName::RollUp => pair(RollUpContext::example(), RollUpContext::default()),
        PromptName::Graph => pair(RelationContext::example(), RelationContext::default()),
        PromptName::Proactive => pair(ProactiveContext::example(), ProactiveContext::default()),
        PromptName::ReplySystem => pair(SystemContext::example(), SystemContext::default()),
        PromptName::ReplyUser => pair(UserContext::example(), UserContext::default()),
    }
}

fn pair(full: impl Serialize, empty: impl Serialize) -> [Value; 2] {
    [Value::from(Serde(full)), Value::from(Serde(empty))]
}
