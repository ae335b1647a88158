//! Recall for a text, with reasons for each candidate.

use axum::Json;
use axum::extract::State;
use hub::RelatedMemory;
use jiff::Timestamp;
use memory::capture;
use memory::recall::{Candidate, FormerValue, FreshCorrection, OmittedValue, OutdatedValues, RecallTimings};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::admin::memory::entities::EntitySummary;
use crate::auth::Admin;
use crate::extract;
use crate::problem::Problem;
use crate::state::App;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct RecallRequest {
    text: String,
    user_id: Option<String>,
    persona_id: Option<String>,
    now: Option<Timestamp>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct RecallResponse {
    candidates: Vec<Candidate>,
    /// Significant memories and dailies of other instances that are about the text, the most relevant first.
    documents: Vec<RelatedMemory>,
    entities: Vec<EntitySummary>,
    /// Match of the best memory, from 0 to 1.
    support: f64,
    /// True if no memory is about the text.
    nothing_found: bool,
    corrected: Corrections,
    elapsed_ms: RecallTimings,
}

/// Values that are no longer current. Each candidate that states one has `no_longer_current`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Corrections {
    /// Former values that the text asks about, the earliest first.
    former: Vec<FormerValue>,
    /// Values that were left out or marked, with the places.
    held_back: Vec<OmittedValue>,
    /// Corrections in the latest messages, which are not memories yet: what they deny may be outdated.
    fresh: Vec<FreshCorrection>,
}

impl From<OutdatedValues> for Corrections {
    fn from(corrected: OutdatedValues) -> Self {
        let former = corrected.former.iter().map(FormerValue::from).collect();
        Self { former, held_back: corrected.held_back, fresh: corrected.fresh }
    }
}

pub(crate) async fn recall(
    State(app): State<App>,
    Admin(principal): Admin,
    extract::Json(question): extract::Json<RecallRequest>,
) -> Result<Json<RecallResponse>, Problem> {
    if capture::check(&question.text).is_err() {
        return Err(Problem::unprocessable("text: must not be empty or longer than a message"));
    }
    let scope = app.scope(&principal, question.persona_id, question.user_id).await?;
    let remembered = app.runtime().recall().recall_for_text(scope, question.text, question.now).await?;
    let (recalled, documents) = (remembered.recalled, remembered.documents.related);
    let entities = recalled.entities.into_iter().map(EntitySummary::from).collect();
    Ok(Json(RecallResponse {
        candidates: recalled.candidates,
        entities,
        support: recalled.support,
        nothing_found: recalled.nothing_found && documents.is_empty(),
        documents,
        corrected: recalled.corrected.into(),
        elapsed_ms: recalled.elapsed,
    }))
}
