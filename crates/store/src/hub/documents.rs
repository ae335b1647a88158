//! Documents and their versions.

use std::collections::HashMap;

use hub::documents::{Document, Version};
use hub::names::DocumentName;
use hub::ports::{DocumentFilter, DocumentOutline};
use hub::version_vector::VersionVector;
use hub::versions::vector_of_shown;
use memory::Scope;

use super::erased_names;
use super::state::{instance_id, owner};
use crate::engine::sql::{Connection, OptionalExtension, Result, Row, params};
use crate::rows;

/// Columns of a version: `v` is its table.
macro_rules! version_columns {
    () => {
        "v.number, v.content, v.vector, v.author, v.edited_by, v.by_person, v.chat_ids, v.participants, v.written_at"
    };
}
pub(super) use version_columns;

pub(super) fn read_version(row: &Row<'_>, from: usize) -> Result<Version> {
    Ok(Version {
        number: row.get(from)?,
        content: row.get(from + 1)?,
        vector: rows::read_json(row, from + 2)?,
        author: instance_id(row, from + 3)?,
        edited_by: row.get(from + 4)?,
        by_person: row.get(from + 5)?,
        chat_ids: rows::read_json(row, from + 6)?,
        participants: rows::read_json(row, from + 7)?,
        written_at: rows::time(row, from + 8)?,
    })
}

/// The number of a document; `None` if it was never written.
pub(super) fn number(connection: &Connection, scope: &Scope, name: &DocumentName) -> Result<Option<i64>> {
    let (persona, kind, stem) = (scope.persona.as_str(), name.kind(), name.stem());
    // A comparison that covers both NULL and text would use neither partial index, and read all documents of the
    // persona.
    let found = if name.is_of_user() {
        connection
            .prepare_cached(
                "SELECT number FROM hub_documents
                 WHERE persona_id = ?1 AND user_id = ?2 AND kind = ?3 AND stem = ?4",
            )?
            .query_row(params![persona, scope.user.as_str(), kind, stem], |row| row.get(0))
    } else {
        connection
            .prepare_cached(
                "SELECT number FROM hub_documents
                 WHERE persona_id = ?1 AND user_id IS NULL AND kind = ?2 AND stem = ?3",
            )?
            .query_row(params![persona, kind, stem], |row| row.get(0))
    };
    found.optional()
}

pub(super) fn read_document(
    connection: &Connection,
    scope: &Scope,
    name: &DocumentName,
) -> Result<Option<Document>> {
    let Some(number) = number(connection, scope, name)? else {
        return erased_names::document(connection, scope, name);
    };
    let heads = connection
        .prepare_cached(concat!(
            "SELECT ",
            version_columns!(),
            " FROM hub_versions v WHERE v.document = ?1 AND v.state <> 'past' ORDER BY v.state DESC, v.number"
        ))?
        .query_map([number], |row| read_version(row, 0))?
        .collect::<Result<Vec<_>>>()?;
    let (stale, revision, created_at) = connection
        .prepare_cached("SELECT stale, revision, created_at FROM hub_documents WHERE number = ?1")?
        .query_row([number], |row| Ok((row.get(0)?, row.get(1)?, rows::time(row, 2)?)))?;
    let prompt_label = prompt_label(connection, scope, name)?;
    let document = Document { name: name.clone(), prompt_label, heads, stale, created_at, revision };
    Ok((!document.heads.is_empty()).then_some(document))
}

pub(super) fn list(connection: &Connection, scope: &Scope, filter: &DocumentFilter) -> Result<Vec<Document>> {
    let labels: HashMap<DocumentName, String> = labels(connection, scope)?.into_iter().collect();
    let mut statement = connection.prepare_cached(concat!(
        "SELECT d.kind, d.stem, d.stale, d.revision, d.created_at, d.number, ",
        version_columns!(),
        " FROM hub_documents d JOIN hub_versions v ON v.document = d.number AND v.state <> 'past'
          WHERE d.persona_id = ?1 AND (d.user_id IS NULL OR d.user_id = ?2) AND d.revision > ?3
          ORDER BY d.kind, d.stem, d.number, v.state DESC, v.number"
    ))?;
    let mut rows = statement.query(params![scope.persona.as_str(), scope.user.as_str(), filter.after])?;
    let wanted = |kind: &str| {
        filter.categories.iter().any(|category| category.as_str() == kind)
            || filter.granularities.iter().any(|granularity| granularity.as_str() == kind)
    };
    let mut found: Vec<(i64, Document)> = Vec::new();
    while let Some(row) = &rows.next()? {
        let kind = row.get_ref(0)?.as_str()?;
        if !wanted(kind) {
            continue;
        }
        let number = row.get(5)?;
        let head = read_version(row, 6)?;
        if let Some((last, document)) = found.last_mut()
            && *last == number
        {
            document.heads.push(head);
            continue;
        }
        let name = DocumentName::parse(kind, row.get_ref(1)?.as_str()?)
            .map_err(|error| rows::unreadable_column(1, error))?;
        let document = Document {
            prompt_label: labels.get(&name).cloned(),
            name,
            heads: vec![head],
            stale: row.get(2)?,
            revision: row.get(3)?,
            created_at: rows::time(row, 4)?,
        };
        found.push((number, document));
    }
    let there = |document: &Document| filter.deleted || document.content().is_some();
    Ok(found.into_iter().map(|(_, document)| document).filter(there).collect())
}

/// Live versions of documents that changed at this revision or later, without their texts, each document's shown
/// version first.
const OUTLINES: &str = "
    SELECT d.number, d.kind, d.stem, d.revision, v.vector, octet_length(v.content)
    FROM hub_documents d CROSS JOIN hub_versions v ON v.document = d.number AND v.state <> 'past'
    WHERE d.persona_id = ?1 AND (d.user_id IS NULL OR d.user_id = ?2) AND d.revision >= ?3
    ORDER BY d.revision, d.number, v.state DESC, v.number";

/// Fields of documents for synchronisation, in no order.
pub(super) fn outlines(connection: &Connection, scope: &Scope, from: i64) -> Result<Vec<DocumentOutline>> {
    let mut statement = connection.prepare_cached(OUTLINES)?;
    let mut rows = statement.query(params![scope.persona.as_str(), scope.user.as_str(), from])?;
    let mut found: Vec<(i64, DocumentOutline)> = Vec::new();
    while let Some(row) = rows.next()? {
        let number = row.get(0)?;
        let (vector, bytes): (VersionVector, Option<usize>) = (rows::read_json(&row, 4)?, row.get(5)?);
        if let Some((last, outline)) = found.last_mut()
            && *last == number
        {
            outline.seen.join(&vector);
            outline.bytes += bytes.unwrap_or(0);
            outline.heads += 1;
            continue;
        }
        let name = DocumentName::parse(row.get_ref(1)?.as_str()?, row.get_ref(2)?.as_str()?)
            .map_err(|error| rows::unreadable_column(2, error))?;
        let outline = DocumentOutline {
            name,
            revision: row.get(3)?,
            seen: vector.clone(),
            as_shown: vector,
            bytes: bytes.unwrap_or(0),
            heads: 1,
            is_deleted: bytes.is_none(),
        };
        found.push((number, outline));
    }
    // Only the texts show which of several versions are equal.
    for (_, outline) in found.iter_mut().filter(|(_, outline)| outline.heads > 1) {
        if let Some(document) = read_document(connection, scope, &outline.name)? {
            outline.as_shown = vector_of_shown(&document.heads);
        }
    }
    Ok(found.into_iter().map(|(_, outline)| outline).collect())
}

pub(super) fn versions(
    connection: &Connection,
    scope: &Scope,
    name: &DocumentName,
    limit: u32,
) -> Result<Vec<Version>> {
    let Some(number) = number(connection, scope, name)? else { return Ok(Vec::new()) };
    connection
        .prepare_cached(concat!(
            "SELECT ",
            version_columns!(),
            " FROM hub_versions v WHERE v.document = ?1 ORDER BY v.number DESC LIMIT ?2"
        ))?
        .query_map(params![number, limit], |row| read_version(row, 0))?
        .collect()
}

fn prompt_label(connection: &Connection, scope: &Scope, name: &DocumentName) -> Result<Option<String>> {
    connection
        .prepare_cached(
            "SELECT label FROM hub_labels WHERE persona_id = ?1 AND user_id = ?2 AND kind = ?3 AND stem = ?4",
        )?
        .query_row(params![scope.persona.as_str(), owner(scope, name), name.kind(), name.stem()], |row| {
            row.get(0)
        })
        .optional()
}

pub(super) fn set_label(
    connection: &Connection,
    scope: &Scope,
    name: &DocumentName,
    label: &str,
) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO hub_labels (persona_id, user_id, kind, stem, label) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (persona_id, user_id, kind, stem) DO UPDATE SET label = excluded.label",
        )?
        .execute(params![scope.persona.as_str(), owner(scope, name), name.kind(), name.stem(), label])?;
    Ok(())
}

pub(super) fn labels(connection: &Connection, scope: &Scope) -> Result<Vec<(DocumentName, String)>> {
    connection
        .prepare_cached(
            "SELECT kind, stem, label FROM hub_labels WHERE persona_id = ?1 AND user_id IN ('', ?2)
             ORDER BY kind, stem",
        )?
        .query_map([scope.persona.as_str(), scope.user.as_str()], |row| {
            let name = DocumentName::parse(row.get_ref(0)?.as_str()?, row.get_ref(1)?.as_str()?)
                .map_err(|error| rows::unreadable_column(1, error))?;
            Ok((name, row.get(2)?))
        })?
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::plans::{empty_database, explain_plan};

    #[test]
    fn outlines_are_read_from_indexes_without_texts() {
        let plan = explain_plan(&empty_database(), OUTLINES);
        assert!(plan.contains("hub_documents_by_revision (persona_id=? AND revision>?)"), "{plan}");
        assert!(plan.contains("COVERING INDEX hub_versions_outlines (document=?)"), "{plan}");
    }
}
