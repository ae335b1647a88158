//! Documents that imports wrote.

use memory::identifiers::ImportId;
use memory::ports::ImportedDocument;

use crate::engine::sql::{Connection, OptionalExtension, Result, params};
use crate::rows;

/// Records documents that a run will write; returns existing ones from earlier runs, with their names.
pub(super) fn begin(
    connection: &Connection,
    id: ImportId,
    documents: &[ImportedDocument],
) -> Result<Vec<ImportedDocument>> {
    // A run that died between its note and the document has written nothing, and an erased document no longer exists.
    // Two documents of one run may have the same id: the second would get a name that is not recorded.
    let mut known = connection.prepare_cached(
        "SELECT d.name FROM import_documents d JOIN import_runs r ON r.number = d.run JOIN scopes s ON s.number = r.scope
         WHERE d.digest = ?2 AND r.scope = (SELECT scope FROM import_runs WHERE id = ?1)
             AND (r.id = ?1 AND d.name <> ?3
                 OR r.id <> ?1 AND EXISTS (SELECT 1 FROM hub_documents h
                     WHERE h.persona_id = s.persona_id AND h.user_id = s.user_id
                         AND h.kind || '/' || h.stem || '.md' = d.name))",
    )?;
    let mut note = connection.prepare_cached(
        "INSERT INTO import_documents (run, digest, name) SELECT number, ?2, ?3 FROM import_runs WHERE id = ?1
         ON CONFLICT DO NOTHING",
    )?;
    let mut earlier = Vec::new();
    for document in documents {
        let key = params![id.0.into_bytes(), document.digest, document.name];
        match known.query_row(key, |row| row.get(0)).optional()? {
            Some(name) => earlier.push(ImportedDocument { digest: document.digest, name }),
            None => _ = note.execute(params![id.0.into_bytes(), document.digest, document.name])?,
        }
    }
    Ok(earlier)
}

/// Names of the documents that a run wrote.
pub(super) fn document_names(connection: &Connection, run: ImportId) -> Result<Vec<String>> {
    let names = "SELECT d.name FROM import_runs r JOIN import_documents d ON d.run = r.number
         WHERE r.id = ?1 ORDER BY d.name";
    rows::column(connection, names, run.0.into_bytes())
}
