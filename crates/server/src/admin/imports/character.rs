//! A character in the files of an upload: a draft, and saving it as a persona.

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

/// Handler of `GET /api/admin/imports/{id}/character`. It writes nothing.
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
    /// Default: the configured persona.
    persona_id: Option<String>,
    /// Default: the owner (`self`).
    user_id: Option<String>,
    /// The new display name of the persona.
    display_name: Option<String>,
    /// Text of the block; without it the block does not change.
    persona_block: Option<String>,
    user_block: Option<String>,
    style_block: Option<String>,
    /// True to replace blocks that have another text.
    #[serde(default)]
    replace: bool,
    /// True to create the user if it does not exist.
    #[serde(default = "on_by_default")]
    create_user: bool,
    /// Number of the greeting, from 1, to save as the persona's message.
    greeting: Option<usize>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct CharacterSaved {
    ok: bool,
    /// Documents with texts that did not fit into a block.
    documents: Vec<String>,
    /// Number of lorebook entries that became documents of the persona.
    lore_entries: u64,
    /// True if the character's picture became the persona's avatar.
    has_avatar: bool,
    /// Id of the greeting as the persona's message.
    greeting_id: Option<MessageId>,
}

/// Handler of `POST /api/admin/imports/{id}/character`: saves the given blocks, the texts that did not fit into them,
/// lorebooks, the picture and the selected greeting. Deletes the upload. 409 if a block has another text, unless
/// `replace` is set.
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
            let detail = "this persona already has texts: replace them, or choose another persona; nothing \
                was saved";
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
