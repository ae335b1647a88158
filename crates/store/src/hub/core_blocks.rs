//! Core blocks are also documents. However one is written, both rows change in one transaction.

use hub::documents::{Version, core_block_document};
use hub::ports::DocumentWrite;
use hub::versions::written_at;
use jiff::Timestamp;
use memory::core_blocks::CoreBlockLabel;
use memory::{PersonaId, Scope, UserId};

use super::{commit, documents, state};
use crate::engine::sql::{Connection, Result, Row, params};
use crate::rows;

/// Writes the document of a core block after the block itself was written.
pub(crate) fn follow_core_block(
    connection: &Connection,
    scope: &Scope,
    label: CoreBlockLabel,
    text: &str,
    edited_by: &str,
    at: Timestamp,
) -> Result<()> {
    let name = core_block_document(label, &scope.user);
    let document = documents::read_document(connection, scope, &name)?;
    if document.as_ref().is_some_and(|document| document.content() == Some(text)) {
        return Ok(());
    }
    let (own, counter) = state::next_own_change(connection, scope)?;
    let heads = document.map(|document| document.heads).unwrap_or_default();
    let mut vector = hub::VersionVector::default();
    for head in &heads {
        vector.join(&head.vector);
    }
    let version = Version {
        number: 0,
        content: Some(text.to_owned()),
        vector: vector.with_change(&own, counter),
        author: own,
        edited_by: edited_by.to_owned(),
        by_person: true,
        chat_ids: std::collections::BTreeSet::new(),
        participants: std::collections::BTreeSet::new(),
        written_at: written_at(at, &heads),
    };
    let revision = state::raise_revision(connection, scope)?;
    let write = DocumentWrite {
        name,
        prompt_label: None,
        heads: vec![version],
        merged_from: Vec::new(),
        stale: false,
        at,
    };
    commit::write_document(connection, scope, &write, revision)
}

/// Removes earlier versions with the text of a forgotten edit; the current one stays, as the block does.
pub(crate) fn forget_core_block_version(
    connection: &Connection,
    scope: &Scope,
    label: CoreBlockLabel,
    content: &str,
) -> Result<()> {
    let name = core_block_document(label, &scope.user);
    let Some(document) = documents::number(connection, scope, &name)? else { return Ok(()) };
    connection
        .prepare_cached("DELETE FROM hub_versions WHERE document = ?1 AND state = 'past' AND content = ?2")?
        .execute(params![document, content])?;
    Ok(())
}

/// Creates the documents of blocks that were written before such documents existed.
pub(super) fn create_block_documents(connection: &Connection) -> Result<()> {
    let mut statement = connection.prepare_cached(
        "SELECT persona_id, user_id, label, content, last_edited_by, updated_at FROM core_blocks",
    )?;
    let blocks: Vec<Block> = statement.query_map([], read_block)?.collect::<Result<_>>()?;
    for block in blocks {
        let name = core_block_document(block.label, &block.scope.user);
        if documents::number(connection, &block.scope, &name)?.is_none() {
            follow_core_block(
                connection,
                &block.scope,
                block.label,
                &block.content,
                &block.edited_by,
                block.at,
            )?;
        }
    }
    Ok(())
}

struct Block {
    scope: Scope,
    label: CoreBlockLabel,
    content: String,
    edited_by: String,
    at: Timestamp,
}

fn read_block(row: &Row<'_>) -> Result<Block> {
    let user: Option<String> = row.get(1)?;
    let persona = PersonaId::new(row.get::<String>(0)?).map_err(|error| rows::unreadable_column(0, error))?;
    // A shared block belongs to no user, so any user's scope can be used.
    let user = UserId::new(user.unwrap_or_else(|| "self".to_owned()));
    Ok(Block {
        scope: Scope::new(persona, user.map_err(|error| rows::unreadable_column(1, error))?),
        label: rows::read_enum(row, 2)?,
        content: row.get(3)?,
        edited_by: row.get(4)?,
        at: rows::time(row, 5)?,
    })
}
