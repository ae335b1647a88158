//! Documents for prompts: read by name, so that the cost does not depend on the length of the past.

use hub::names::{DiaryName, DocumentName};
use hub::ports::{LoreDocument, LoreState, ShownText};
use memory::Scope;

use super::state::instance_id;
use crate::engine::sql::{Connection, OptionalExtension, Result, Row, params};
use crate::rows;

/// Query for the persona's own documents, then the user's: each half uses one index.
const IDENTITY_TEXTS: &str = "
    SELECT d.kind, d.stem, l.label, substr(v.content, 1, ?3)
    FROM hub_documents d
    JOIN hub_versions v ON v.document = d.number AND v.state = 'shown' AND v.content IS NOT NULL
    LEFT JOIN hub_labels l ON l.persona_id = d.persona_id AND l.user_id = '' AND l.kind = d.kind AND l.stem = d.stem
    WHERE d.persona_id = ?1 AND d.user_id IS NULL AND d.kind IN ('self', 'custom')
        AND substr(d.stem, 1, 5) <> 'lore/'
    UNION ALL
    SELECT d.kind, d.stem, l.label, substr(v.content, 1, ?3)
    FROM hub_documents d
    JOIN hub_versions v ON v.document = d.number AND v.state = 'shown' AND v.content IS NOT NULL
    LEFT JOIN hub_labels l ON l.persona_id = d.persona_id AND l.user_id = ?2 AND l.kind = d.kind AND l.stem = d.stem
    WHERE d.persona_id = ?1 AND d.user_id = ?2 AND d.kind IN ('user', 'relationship')";

/// Query for memories, which always belong to a user, so that the index of users' documents is used.
const MEMORY_TEXTS: &str = "
    SELECT d.kind, d.stem, NULL, substr(v.content, 1, ?3)
    FROM hub_documents d
    JOIN hub_versions v ON v.document = d.number AND v.state = 'shown' AND v.content IS NOT NULL
    WHERE d.persona_id = ?1 AND d.user_id = ?2 AND d.kind = ?4 AND d.stem = ?5";

const LORE_STATE: &str = "
    SELECT count(*), coalesce(max(d.revision), 0) FROM hub_documents d
    WHERE d.persona_id = ?1 AND d.user_id IS NULL AND d.kind = 'custom' AND substr(d.stem, 1, 5) = 'lore/'";

const LORE_TEXTS: &str = "
    SELECT d.kind, d.stem, v.author, v.content FROM hub_documents d
    JOIN hub_versions v ON v.document = d.number AND v.state = 'shown' AND v.content IS NOT NULL
    WHERE d.persona_id = ?1 AND d.user_id IS NULL AND d.kind = 'custom' AND substr(d.stem, 1, 5) = 'lore/'";

/// The entries of a persona's lorebooks; `None` if they are unchanged.
pub(super) fn lore(
    connection: &Connection,
    scope: &Scope,
    known: Option<LoreState>,
) -> Result<Option<(LoreState, Vec<LoreDocument>)>> {
    let persona = scope.persona.as_str();
    let state = connection
        .prepare_cached(LORE_STATE)?
        .query_row([persona], |row| Ok(LoreState { count: row.get(0)?, revision: row.get(1)? }))?;
    if known == Some(state) {
        return Ok(None);
    }
    let entry = |row: &Row<'_>| {
        Ok(LoreDocument { name: document_name(row)?, author: instance_id(row, 2)?, text: row.get(3)? })
    };
    let mut entries =
        connection.prepare_cached(LORE_TEXTS)?.query_map([persona], entry)?.collect::<Result<Vec<_>>>()?;
    entries.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(Some((state, entries)))
}

pub(super) fn read(
    connection: &Connection,
    scope: &Scope,
    memories: &[DiaryName],
    length_max: u32,
) -> Result<Vec<ShownText>> {
    let (persona, user) = (scope.persona.as_str(), scope.user.as_str());
    let mut texts = connection
        .prepare_cached(IDENTITY_TEXTS)?
        .query_map(params![persona, user, length_max], read_shown_text)?
        .collect::<Result<Vec<_>>>()?;
    texts.sort_by(|one, other| one.name.cmp(&other.name));
    let mut statement = connection.prepare_cached(MEMORY_TEXTS)?;
    for name in memories {
        let kind = name.granularity().as_str();
        let found = statement
            .query_row(params![persona, user, length_max, kind, name.stem()], read_shown_text)
            .optional()?;
        texts.extend(found);
    }
    Ok(texts)
}

fn read_shown_text(row: &Row<'_>) -> Result<ShownText> {
    Ok(ShownText { name: document_name(row)?, prompt_label: row.get(2)?, text: row.get(3)? })
}

fn document_name(row: &Row<'_>) -> Result<DocumentName> {
    let name = DocumentName::parse(row.get_ref(0)?.as_str()?, row.get_ref(1)?.as_str()?);
    name.map_err(|error| rows::unreadable_column(1, error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::plans::empty_database;
    use crate::engine::plans::explain_plan;

    #[test]
    fn no_statement_scans_the_past() {
        let connection = empty_database();
        let identity = explain_plan(&connection, IDENTITY_TEXTS);
        assert!(identity.contains("hub_documents_of_persona (persona_id=? AND kind=?)"), "{identity}");
        assert!(
            identity.contains("hub_documents_of_user (persona_id=? AND user_id=? AND kind=?)"),
            "{identity}"
        );
        let memory = explain_plan(&connection, MEMORY_TEXTS);
        assert!(
            memory.contains("hub_documents_of_user (persona_id=? AND user_id=? AND kind=? AND stem=?)"),
            "{memory}"
        );
        let lore =
            format!("{} {}", explain_plan(&connection, LORE_STATE), explain_plan(&connection, LORE_TEXTS));
        assert!(!format!("{identity} {memory} {lore}").contains("SCAN"), "{identity}; {memory}; {lore}");
    }
}
