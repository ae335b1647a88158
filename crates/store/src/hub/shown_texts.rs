//! What a prompt takes from documents: read by name, so that it costs the same after a week and after ten years.

use hub::names::{DiaryName, DocumentName};
use hub::ports::ShownText;
use memory::Scope;

use crate::engine::sql::{Connection, OptionalExtension, Result, Row, params};
use crate::rows;

/// The persona's own documents, then those of the user: each half walks one index.
const IDENTITY: &str = "
    SELECT d.kind, d.stem, l.label, substr(v.content, 1, ?3)
    FROM hub_documents d
    JOIN hub_versions v ON v.document = d.number AND v.state = 'shown' AND v.content IS NOT NULL
    LEFT JOIN hub_labels l ON l.persona_id = d.persona_id AND l.user_id = '' AND l.kind = d.kind AND l.stem = d.stem
    WHERE d.persona_id = ?1 AND d.user_id IS NULL AND d.kind IN ('self', 'custom')
    UNION ALL
    SELECT d.kind, d.stem, l.label, substr(v.content, 1, ?3)
    FROM hub_documents d
    JOIN hub_versions v ON v.document = d.number AND v.state = 'shown' AND v.content IS NOT NULL
    LEFT JOIN hub_labels l ON l.persona_id = d.persona_id AND l.user_id = ?2 AND l.kind = d.kind AND l.stem = d.stem
    WHERE d.persona_id = ?1 AND d.user_id = ?2 AND d.kind IN ('user', 'relationship')";

/// A memory is always of a user, so the index of users' documents answers.
const MEMORY: &str = "
    SELECT d.kind, d.stem, NULL, substr(v.content, 1, ?3)
    FROM hub_documents d
    JOIN hub_versions v ON v.document = d.number AND v.state = 'shown' AND v.content IS NOT NULL
    WHERE d.persona_id = ?1 AND d.user_id = ?2 AND d.kind = ?4 AND d.stem = ?5";

pub(super) fn read(
    connection: &Connection,
    scope: &Scope,
    memories: &[DiaryName],
    length_max: u32,
) -> Result<Vec<ShownText>> {
    let (persona, user) = (scope.persona.as_str(), scope.user.as_str());
    let mut texts = connection
        .prepare_cached(IDENTITY)?
        .query_map(params![persona, user, length_max], shown)?
        .collect::<Result<Vec<_>>>()?;
    texts.sort_by(|one, other| one.name.cmp(&other.name));
    let mut statement = connection.prepare_cached(MEMORY)?;
    for name in memories {
        let kind = name.granularity().as_str();
        let found =
            statement.query_row(params![persona, user, length_max, kind, name.stem()], shown).optional()?;
        texts.extend(found);
    }
    Ok(texts)
}

fn shown(row: &Row<'_>) -> Result<ShownText> {
    let name = DocumentName::parse(row.get_ref(0)?.as_str()?, row.get_ref(1)?.as_str()?)
        .map_err(|error| rows::unreadable(1, error))?;
    Ok(ShownText { name, prompt_label: row.get(2)?, text: row.get(3)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::plans::empty;
    use crate::engine::plans::plan;

    #[test]
    fn no_statement_walks_over_the_past() {
        let connection = empty();
        let identity = plan(&connection, IDENTITY);
        assert!(identity.contains("hub_documents_of_persona (persona_id=? AND kind=?)"), "{identity}");
        assert!(
            identity.contains("hub_documents_of_user (persona_id=? AND user_id=? AND kind=?)"),
            "{identity}"
        );
        let memory = plan(&connection, MEMORY);
        assert!(
            memory.contains("hub_documents_of_user (persona_id=? AND user_id=? AND kind=? AND stem=?)"),
            "{memory}"
        );
        assert!(!format!("{identity} {memory}").contains("SCAN"), "{identity}; {memory}");
    }
}
