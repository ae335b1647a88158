//! The persona's way of speaking: a core block with a route of its own.

use axum::Json;
use axum::extract::State;
use memory::core_blocks::{CoreBlockLabel, check_length};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::Admin;
use crate::extract::{self, ScopeParam, run_detached};
use crate::problem::Problem;
use crate::state::App;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct StyleEdit {
    action: StyleAction,
    #[serde(default)]
    text: String,
}

#[derive(Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum StyleAction {
    Set,
    Append,
    Clear,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct StyleResponse {
    ok: bool,
    action: StyleAction,
}

/// Handler of `POST /api/admin/persona/style`: sets the block, adds a line, or clears it.
pub(crate) async fn edit(
    State(app): State<App>,
    Admin(editor): Admin,
    ScopeParam(scope): ScopeParam,
    extract::Json(edit): extract::Json<StyleEdit>,
) -> Result<Json<StyleResponse>, Problem> {
    let action = edit.action;
    if !matches!(action, StyleAction::Clear) && edit.text.trim().is_empty() {
        return Err(Problem::bad_request(
            "text: must not be empty; to clear the style, use the action `clear`",
        ));
    }
    run_detached(async move {
        let edits = app.runtime().personas().lock_edits().await;
        let stored = app.runtime().store().core_blocks(&scope).await?;
        let text = match action {
            StyleAction::Clear => String::new(),
            StyleAction::Append if !stored.style.is_empty() => format!("{}\n{}", stored.style, edit.text),
            StyleAction::Set | StyleAction::Append => edit.text,
        };
        check_length(CoreBlockLabel::Style, &text)?;
        Ok(edits.write(&scope, None, vec![(CoreBlockLabel::Style, text)], &editor.name).await?)
    })
    .await?;
    Ok(Json(StyleResponse { ok: true, action }))
}
