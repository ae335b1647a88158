//! Drafts a persona from a text. Nothing is stored: onboarding does that.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use memory::Scope;
use memory::core_blocks::CoreBlocks;
use memory::facts::Facts;
use memory::nodes::{Node, NodeKind, RelationalTag, Subject};
use memory::ports::MindError;
use memory::recall::outdated_nodes;
use runtime::{PersonaDraft, PersonaDraftInput, PipelineStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::admin::persona::import_end::await_end;
use crate::auth::Admin;
use crate::extract::{self, ScopeParam};
use crate::problem::Problem;
use crate::state::App;

/// Maximum length of a text for a draft, in characters. It is what a model with a context of 32,000 tokens can read
/// of English.
const TEXT_LENGTH_MAX: usize = 100_000;
const ID_LENGTH_MAX: usize = 64;
const LOCALE_LENGTH_MAX: usize = 16;
const NAME_LENGTH_MAX: usize = 256;
/// Maximum events, and maximum thoughts, for a draft.
const MEMORIES_MAX: u32 = 20;
/// Maximum events of an import for a draft.
const IMPORTED_EVENTS_MAX: u32 = 100;
const IMPORTED_THOUGHTS_MAX: u32 = 30;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct ExtractRequest {
    input_type: InputType,
    /// For `blank_write`: a description of the persona and of the user, in the user's own words.
    user_input: Option<String>,
    existing_blocks: Option<BTreeMap<String, String>>,
    locale: Option<String>,
    persona_display_name: Option<String>,
    upload_id: Option<String>,
    pipeline_id: Option<String>,
}

#[derive(Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum InputType {
    BlankWrite,
    ImportUpload,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ExtractResponse {
    input_type: InputType,
    core_blocks: Blocks,
    facts: Facts,
    /// A share between 0 and 1.
    facts_confidence: f64,
    events: Vec<ExtractedEvent>,
    thoughts: Vec<String>,
    /// The status of the import; `null` without one.
    pipeline_status: Option<PipelineStatus>,
    /// Notes about parts of the model's answer, or of a long text, that were left out.
    notes: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct Blocks {
    persona_block: String,
    user_block: String,
    style_block: String,
}

impl Blocks {
    fn from_draft(draft: &mut PersonaDraft) -> Self {
        Self {
            persona_block: std::mem::take(&mut draft.persona_block),
            user_block: std::mem::take(&mut draft.user_block),
            style_block: std::mem::take(&mut draft.style_block),
        }
    }
}

#[derive(Serialize, JsonSchema)]
struct ExtractedEvent {
    description: String,
    emotional_impact: i8,
    relational_tags: Vec<RelationalTag>,
}

impl From<Node> for ExtractedEvent {
    fn from(node: Node) -> Self {
        let Node { description, emotional_impact, relational_tags, .. } = node;
        Self { description, emotional_impact, relational_tags }
    }
}

/// Handler of `POST /api/admin/persona/extract-from-input`: drafts blocks and facts for a person to check. 409 once a
/// persona is written.
pub(crate) async fn extract(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    extract::Json(asked): extract::Json<ExtractRequest>,
) -> Result<Json<ExtractResponse>, Problem> {
    check_length("user_input", asked.user_input.as_ref(), 0, TEXT_LENGTH_MAX)?;
    check_length("locale", asked.locale.as_ref(), 0, LOCALE_LENGTH_MAX)?;
    check_length("persona_display_name", asked.persona_display_name.as_ref(), 0, NAME_LENGTH_MAX)?;
    check_length("upload_id", asked.upload_id.as_ref(), 1, ID_LENGTH_MAX)?;
    check_length("pipeline_id", asked.pipeline_id.as_ref(), 1, ID_LENGTH_MAX)?;
    refuse_written_blocks(&app, &scope).await?;
    let mut material = DraftMaterial::default();
    if matches!(asked.input_type, InputType::ImportUpload) {
        let (upload_id, pipeline_id) = (asked.upload_id.as_deref(), asked.pipeline_id.as_deref());
        material = DraftMaterial::from_import(&app, &scope, upload_id, pipeline_id).await?;
    }
    let text = asked.user_input.unwrap_or_default();
    if text.trim().is_empty() && material.is_empty() {
        return Err(Problem::bad_request("user_input: must not be empty"));
    }
    let mut blocks = asked.existing_blocks.unwrap_or_default();
    let mut block = |name: &str| {
        let long_name = format!("{name}_block");
        blocks.remove(&long_name).or_else(|| blocks.remove(name)).unwrap_or_default()
    };
    let existing = CoreBlocks { persona: block("persona"), user: block("user"), style: String::new() };
    let (persona_name, locale) = (asked.persona_display_name, asked.locale);
    let (events, thoughts) = material.prompt_texts();
    let mut draft =
        draft_from(&app, PersonaDraftInput { persona_name, locale, text, existing, events, thoughts })
            .await?;
    Ok(Json(ExtractResponse {
        input_type: asked.input_type,
        core_blocks: Blocks::from_draft(&mut draft),
        facts: draft.facts,
        facts_confidence: draft.facts_confidence,
        thoughts: material.prompt_texts().1,
        events: material.events.into_iter().map(ExtractedEvent::from).collect(),
        pipeline_status: material.status,
        notes: draft.notes,
    }))
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct BootstrapRequest {
    upload_id: Option<String>,
    pipeline_id: Option<String>,
    /// The material as text.
    text: Option<String>,
    persona_display_name: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct BootstrapResponse {
    suggested_blocks: Blocks,
    /// Number of the user's events that were used for the draft, besides the text.
    source_event_count: usize,
    /// Number of thoughts about the user that were used for the draft.
    source_thought_count: usize,
    /// Either `success` or `partial_success`.
    pipeline_status: PipelineStatus,
}

/// Handler of `POST /api/admin/persona/bootstrap-from-material`: drafts from `text` at once, from an import when it
/// has ended.
pub(crate) async fn bootstrap(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    extract::Json(material): extract::Json<BootstrapRequest>,
) -> Result<Json<BootstrapResponse>, Problem> {
    check_length("upload_id", material.upload_id.as_ref(), 1, ID_LENGTH_MAX)?;
    check_length("pipeline_id", material.pipeline_id.as_ref(), 1, ID_LENGTH_MAX)?;
    check_length("text", material.text.as_ref(), 0, TEXT_LENGTH_MAX)?;
    check_length("persona_display_name", material.persona_display_name.as_ref(), 0, NAME_LENGTH_MAX)?;
    let text = material.text.unwrap_or_default();
    let has_import = material.upload_id.is_some() || material.pipeline_id.is_some();
    if text.trim().is_empty() && !has_import {
        return Err(Problem::bad_request("upload_id, pipeline_id, text: send one of them"));
    }
    refuse_written_blocks(&app, &scope).await?;
    let persona_name = material.persona_display_name;
    let known = if has_import {
        let (upload_id, pipeline_id) = (material.upload_id.as_deref(), material.pipeline_id.as_deref());
        DraftMaterial::from_import(&app, &scope, upload_id, pipeline_id).await?
    } else {
        DraftMaterial::from_memory(&app, &scope).await?
    };
    let (events, thoughts) = known.prompt_texts();
    let (source_event_count, source_thought_count) = (events.len(), thoughts.len());
    let input = PersonaDraftInput { persona_name, text, events, thoughts, ..PersonaDraftInput::default() };
    let mut draft = draft_from(&app, input).await?;
    let whole = if draft.notes.is_empty() { PipelineStatus::Success } else { PipelineStatus::PartialSuccess };
    Ok(Json(BootstrapResponse {
        suggested_blocks: Blocks::from_draft(&mut draft),
        source_event_count,
        source_thought_count,
        pipeline_status: known.status.unwrap_or(whole),
    }))
}

/// Memories for a draft, newest first.
#[derive(Default)]
struct DraftMaterial {
    events: Vec<Node>,
    thoughts: Vec<Node>,
    /// The status of their import.
    status: Option<PipelineStatus>,
}

impl DraftMaterial {
    /// Memories of an import. Waits for its end.
    async fn from_import(
        app: &App,
        scope: &Scope,
        upload_id: Option<&str>,
        pipeline_id: Option<&str>,
    ) -> Result<Self, Problem> {
        let (id, status) = await_end(app, scope, upload_id, pipeline_id).await?;
        let runtime = app.runtime();
        let events = runtime.imports().imported_nodes(id, &[NodeKind::Event], IMPORTED_EVENTS_MAX).await?;
        let thoughts =
            runtime.imports().imported_nodes(id, &[NodeKind::Thought], IMPORTED_THOUGHTS_MAX).await?;
        let found = Self { events, thoughts, status: Some(status) }.without_former(app, scope).await?;
        if found.is_empty() {
            let detail = "no memories were found in it; write or paste a text instead. The import is kept";
            return Err(Problem::bad_request(detail));
        }
        Ok(found)
    }

    /// Memories of the user so far.
    async fn from_memory(app: &App, scope: &Scope) -> Result<Self, Problem> {
        let store = app.runtime().store();
        let mut events = store.nodes_before(scope, &[NodeKind::Event], None, MEMORIES_MAX).await?;
        let mut thoughts = store.nodes_before(scope, &[NodeKind::Thought], None, MEMORIES_MAX).await?;
        for nodes in [&mut events, &mut thoughts] {
            nodes.retain(|node| node.subject != Subject::Persona);
        }
        Self { events, thoughts, status: None }.without_former(app, scope).await
    }

    /// Removes memories that a newer one replaced, that repeat such a memory, or that were derived from one.
    async fn without_former(mut self, app: &App, scope: &Scope) -> Result<Self, Problem> {
        for nodes in [&mut self.events, &mut self.thoughts] {
            let outdated = outdated_nodes(app.runtime().store(), scope, nodes).await?;
            nodes.retain(|node| node.superseded_by.is_none() && !outdated.contains(&node.id));
        }
        Ok(self)
    }

    fn is_empty(&self) -> bool {
        self.events.is_empty() && self.thoughts.is_empty()
    }

    fn prompt_texts(&self) -> (Vec<String>, Vec<String>) {
        let texts = |nodes: &[Node]| nodes.iter().map(|node| node.description.clone()).collect();
        (texts(&self.events), texts(&self.thoughts))
    }
}

async fn draft_from(app: &App, input: PersonaDraftInput) -> Result<PersonaDraft, Problem> {
    app.runtime().mind().draft_persona(&input).await.map_err(|error: MindError| {
        tracing::warn!("the persona could not be drafted: {}", error.log_description());
        Problem::new(StatusCode::BAD_GATEWAY, format!("{error}; nothing was written"))
            .with_code("model_failed")
    })
}

async fn refuse_written_blocks(app: &App, scope: &Scope) -> Result<(), Problem> {
    if app.runtime().store().core_blocks(scope).await? == CoreBlocks::default() {
        return Ok(());
    }
    let detail = "this persona already has texts; edit them instead";
    Err(Problem::conflict(detail).with_code("already_onboarded"))
}

fn check_length(name: &str, text: Option<&String>, least: usize, most: usize) -> Result<(), Problem> {
    let Some(length) = text.map(|text| text.chars().count()) else { return Ok(()) };
    if (least..=most).contains(&length) {
        return Ok(());
    }
    Err(Problem::unprocessable(format!("{name}: must have {least} to {most} characters")))
}
