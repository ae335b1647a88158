//! Core blocks (L1) and their audit rows.

use jiff::Timestamp;
use memory::Scope;
use memory::core_blocks::{CoreBlockLabel, CoreBlocks};
use memory::forget::CoreBlockAppend;

use crate::engine::sql::{Connection, OptionalExtension, Result, Row, params};
use crate::rows::{self, microseconds};

/// The three blocks as the scope reads them.
pub(crate) fn read(connection: &Connection, scope: &Scope) -> Result<CoreBlocks> {
    let mut statement = connection.prepare_cached(
        "SELECT label, content FROM core_blocks WHERE persona_id = ?1 AND user_id IS NULL
         UNION ALL
         SELECT label, content FROM core_blocks WHERE persona_id = ?1 AND user_id = ?2",
    )?;
    let mut rows = statement.query([scope.persona.as_str(), scope.user.as_str()])?;
    let mut blocks = CoreBlocks::default();
    while let Some(row) = &rows.next()? {
        let block = match rows::read_enum(row, 0)? {
            CoreBlockLabel::Persona => &mut blocks.persona,
            CoreBlockLabel::User => &mut blocks.user,
            CoreBlockLabel::Style => &mut blocks.style,
        };
        *block = row.get(1)?;
    }
    Ok(blocks)
}

/// Writes a block for the hub, whose document it is, if its text differs.
pub(crate) fn write_block(
    connection: &Connection,
    scope: &Scope,
    label: CoreBlockLabel,
    text: &str,
    edited_by: &str,
    at: Timestamp,
) -> Result<()> {
    let blocks = read(connection, scope)?;
    if blocks.block(label) == text {
        return Ok(());
    }
    let (text, edited_by) = (text.to_owned(), edited_by.to_owned());
    write(connection, &Edit { scope: scope.clone(), label, text, edited_by, at })
}

/// A new text of a block, with its author and time.
pub(super) struct Edit {
    pub(super) scope: Scope,
    pub(super) label: CoreBlockLabel,
    pub(super) text: String,
    pub(super) edited_by: String,
    pub(super) at: Timestamp,
}

pub(super) fn write(connection: &Connection, edit: &Edit) -> Result<()> {
    let persona = edit.scope.persona.as_str();
    let user = owner_of(&edit.scope, edit.label);
    let (label, at) = (edit.label.as_str(), microseconds(edit.at));
    let version: Option<i64> = connection
        .prepare_cached(
            "UPDATE core_blocks SET content = ?4, version = version + 1, last_edited_by = ?5, updated_at = ?6
             WHERE persona_id = ?1 AND user_id IS ?2 AND label = ?3 RETURNING version",
        )?
        .query_row(params![persona, user, label, edit.text, edit.edited_by, at], |row| row.get(0))
        .optional()?;
    if version.is_none() {
        connection
            .prepare_cached(
                "INSERT INTO core_blocks (persona_id, user_id, label, content, version, last_edited_by, updated_at)
                 VALUES (?1, ?2, ?3, ?4, 1, ?5, ?6)",
            )?
            .execute(params![persona, user, label, edit.text, edit.edited_by, at])?;
    }
    connection
        .prepare_cached(
            "INSERT INTO core_block_appends (persona_id, user_id, label, content, version, edited_by, created_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![persona, user, label, edit.text, version.unwrap_or(1), edit.edited_by, at])?;
    Ok(())
}

/// Audit rows of a block, newest first.
pub(crate) fn list_block_edits(
    connection: &Connection,
    scope: &Scope,
    label: CoreBlockLabel,
    before: Option<i64>,
    limit: u32,
) -> Result<Vec<CoreBlockAppend>> {
    let append = |row: &Row<'_>| {
        Ok(CoreBlockAppend {
            id: row.get(0)?,
            label,
            content: row.get(1)?,
            version: row.get(2)?,
            edited_by: row.get(3)?,
            created_at: rows::time(row, 4)?,
        })
    };
    connection
        .prepare_cached(
            "SELECT number, content, version, edited_by, created_at FROM core_block_appends
             WHERE persona_id = ?1 AND user_id IS ?2 AND label = ?3 AND number < ?4 ORDER BY number DESC LIMIT ?5",
        )?
        .query_map(
            params![
                scope.persona.as_str(),
                owner_of(scope, label),
                label.as_str(),
                before.unwrap_or(i64::MAX),
                limit
            ],
            append,
        )?
        .collect()
}

/// Deletes an audit row; true if it existed.
pub(crate) fn forget_append(
    connection: &Connection,
    scope: &Scope,
    label: CoreBlockLabel,
    number: i64,
) -> Result<bool> {
    let gone: Option<String> = connection
        .prepare_cached(
            "DELETE FROM core_block_appends WHERE number = ?1 AND persona_id = ?2 AND user_id IS ?3 AND label = ?4
             RETURNING content",
        )?
        .query_row(
            params![number, scope.persona.as_str(), owner_of(scope, label), label.as_str()],
            |row| row.get(0),
        )
        .optional()?;
    if let Some(content) = &gone {
        crate::hub::forget_core_block_version(connection, scope, label, content)?;
        if label != CoreBlockLabel::User {
            // The card from which the block was drafted may contain its text.
            forget_card(connection, scope)?;
        }
    }
    Ok(gone.is_some())
}

pub(crate) fn forget_card(connection: &Connection, scope: &Scope) -> Result<()> {
    connection
        .prepare_cached("UPDATE personas SET character_card = NULL WHERE id = ?1")?
        .execute([scope.persona.as_str()])?;
    Ok(())
}

/// The user of a block; `None` for the shared ones.
fn owner_of(scope: &Scope, label: CoreBlockLabel) -> Option<&str> {
    (label == CoreBlockLabel::User).then_some(scope.user.as_str())
}
