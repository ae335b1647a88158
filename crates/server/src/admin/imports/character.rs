//! A character in the files of an upload: drafted, and saved as a persona.

use axum::Json;
use axum::extract::State;
use import::CharacterDraft;
use memory::core_blocks::{CoreBlockLabel, CoreBlocks};
use memory::identifiers::{ImportId, MessageId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::admin::imports::runs::on_by_default;
use crate::admin::persona::profile::{Blocks, checked_block, checked_name};
use crate::auth::Admin;
use crate::extract::{self, Id, ScopeParam, run_detached};
use crate::problem::Problem;
use crate::state::App;

/// `GET /api/admin/imports/{id}/character`: nothing is written.
pub(crate) async fn show(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    Id(id): Id<ImportId>,
) -> Result<Json<CharacterDraft>, Problem> {
    Ok(Json(app.runtime().imports().draft_character(id, &scope).await?))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CharacterRequest {
    /// The configured persona by default.
    persona_id: Option<String>,
    /// The owner (`self`) by default.
    user_id: Option<String>,
    /// The persona's name from now on.
    display_name: Option<String>,
    /// A block that is left out stays as it is.
    persona_block: Option<String>,
    user_block: Option<String>,
    style_block: Option<String>,
    /// True if blocks that hold another text are replaced.
    #[serde(default)]
    replace: bool,
    /// True if a user that is not there is made.
    #[serde(default = "on_by_default")]
    create_user: bool,
    /// Number of the greeting, from 1, that becomes the persona's message.
    greeting: Option<usize>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct CharacterSaved {
    ok: bool,
    /// Documents that hold what did not fit into a block.
    documents: Vec<String>,
    /// Number of lorebook entries that are documents of the persona now.
    lore_entries: u64,
    /// True if the character's picture is the persona's avatar now.
    has_avatar: bool,
    /// The greeting as the persona's message.
    greeting_id: Option<MessageId>,
}

/// `POST /api/admin/imports/{id}/character`: saves the blocks that are given, the texts that did not fit into them, lorebooks,
/// the picture and the chosen greeting. The upload is deleted. 409 if a block holds another text, unless `replace` says otherwise.
pub(crate) async fn save(
    State(app): State<App>,
    Admin(principal): Admin,
    Id(id): Id<ImportId>,
    extract::Json(asked): extract::Json<CharacterRequest>,
) -> Result<Json<CharacterSaved>, Problem> {
    let scope = app.scope(&principal, asked.persona_id, asked.user_id).await?;
    let name = asked.display_name.map(|name| checked_name(&name)).transpose()?;
    let given = [
        (CoreBlockLabel::Persona, asked.persona_block),
        (CoreBlockLabel::User, asked.user_block),
        (CoreBlockLabel::Style, asked.style_block),
    ];
    let given = given.into_iter().filter_map(|(label, text)| Some((label, text?)));
    let checked = given.map(|(label, text)| Ok((label, checked_block(label, text)?)));
    let blocks = checked.collect::<Result<Blocks, Problem>>()?;
    let saved = run_detached(async move {
        let edits = app.runtime().personas().lock_edits().await;
        if !asked.create_user {
            app.runtime().imports().check_is_known(&scope).await?;
        }
        let draft = app.runtime().imports().draft_character(id, &scope).await?;
        if let Some(number) = asked.greeting
            && !(1..=draft.greetings.len()).contains(&number)
        {
            return Err(runtime::ImportError::NoGreeting { number, count: draft.greetings.len() }.into());
        }
        let stored = app.runtime().store().core_blocks(&scope).await?;
        if !asked.replace && replaces_text(&stored, &blocks) {
            let detail = "this persona is already written: replace its texts, or choose another persona; nothing was saved";
            return Err(Problem::conflict(detail).with_code("already_onboarded"));
        }
        edits.write(&scope, name, blocks, &principal.name).await?;
        Ok(app.runtime().imports().save_character(id, &scope, asked.greeting).await?)
    })
    .await?;
    Ok(Json(CharacterSaved {
        ok: true,
        documents: saved.documents,
        lore_entries: saved.lore_entries,
        has_avatar: saved.has_picture,
        greeting_id: saved.greeting,
    }))
}

fn replaces_text(stored: &CoreBlocks, blocks: &Blocks) -> bool {
    blocks.iter().any(|(label, text)| {
        let before = stored.block(*label);
        !before.is_empty() && before != text
    })
}
