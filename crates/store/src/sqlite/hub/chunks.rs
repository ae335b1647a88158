//! Pieces of memories, with their terms and vectors.

use hub::names::DocumentName;
use hub::port::{Chunk, ChunkedMemory};
use memory::Scope;
use memory::ports::Embedding;
use rusqlite::{Connection, Result, Row, params};

use super::super::rows;
use super::super::vectors::{from_bytes, model, model_or_new, to_bytes};
use super::documents;

pub(super) fn list(
    connection: &Connection,
    scope: &Scope,
    fingerprint: &str,
    after: i64,
) -> Result<Vec<ChunkedMemory>> {
    let model = model(connection, fingerprint)?.unwrap_or(0);
    let mut statement = connection.prepare_cached(
        "SELECT d.kind, d.stem, d.number, d.revision, c.piece, c.starts_at, c.ends_at, c.terms, c.readability,
                CASE c.embedding_model WHEN ?4 THEN c.vector END
         FROM hub_documents d JOIN hub_chunks c ON c.document = d.number AND c.revision = d.revision
         WHERE d.persona_id = ?1 AND d.user_id = ?2 AND d.revision > ?3
         ORDER BY d.number, c.piece",
    )?;
    let mut rows = statement.query(params![scope.persona.as_str(), scope.user.as_str(), after, model])?;
    let mut found: Vec<(i64, ChunkedMemory)> = Vec::new();
    while let Some(row) = rows.next()? {
        let number = row.get(2)?;
        let piece = chunk(row)?;
        if let Some((last, memory)) = found.last_mut()
            && *last == number
        {
            memory.chunks.push(piece);
            continue;
        }
        let name = DocumentName::parse(row.get_ref(0)?.as_str()?, row.get_ref(1)?.as_str()?)
            .map_err(|error| rows::unreadable(1, error))?;
        found.push((number, ChunkedMemory { name, revision: row.get(3)?, chunks: vec![piece] }));
    }
    Ok(found.into_iter().map(|(_, memory)| memory).collect())
}

fn chunk(row: &Row<'_>) -> Result<Chunk> {
    let vector: Option<Vec<u8>> = row.get(9)?;
    let readability: Option<f32> = row.get(8)?;
    let embedding =
        vector.map(|bytes| Embedding { vector: from_bytes(&bytes), readability: readability.unwrap_or(0.0) });
    Ok(Chunk { index: row.get(4)?, start: row.get(5)?, end: row.get(6)?, terms: row.get(7)?, embedding })
}

pub(super) fn put(
    connection: &Connection,
    scope: &Scope,
    fingerprint: &str,
    memories: &[ChunkedMemory],
) -> Result<()> {
    let model = if fingerprint.is_empty() { None } else { Some(model_or_new(connection, fingerprint)?) };
    for memory in memories {
        let Some(document) = documents::number(connection, scope, &memory.name)? else { continue };
        let revision: i64 = connection
            .prepare_cached("SELECT revision FROM hub_documents WHERE number = ?1")?
            .query_row([document], |row| row.get(0))?;
        if revision != memory.revision {
            continue;
        }
        connection.prepare_cached("DELETE FROM hub_chunks WHERE document = ?1")?.execute([document])?;
        let mut insert = connection.prepare_cached(
            "INSERT INTO hub_chunks (document, piece, revision, starts_at, ends_at, terms, embedding_model,
                                     readability, vector)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?;
        for chunk in &memory.chunks {
            let embedding = chunk.embedding.as_ref();
            insert.execute(params![
                document,
                chunk.index,
                revision,
                chunk.start,
                chunk.end,
                chunk.terms,
                model.filter(|_| embedding.is_some()),
                embedding.map(|embedding| embedding.readability),
                embedding.map(|embedding| to_bytes(&embedding.vector)),
            ])?;
        }
    }
    Ok(())
}

pub(super) fn purge(connection: &Connection, scope: &Scope) -> Result<u64> {
    let statement = "SELECT count(DISTINCT c.document) FROM hub_chunks c
                     JOIN hub_documents d ON d.number = c.document
                     WHERE d.persona_id = ?1 AND d.user_id = ?2 AND c.vector IS NOT NULL";
    let key = [scope.persona.as_str(), scope.user.as_str()];
    let purged = connection.prepare_cached(statement)?.query_row(key, |row| row.get(0))?;
    connection
        .prepare_cached(
            "UPDATE hub_chunks SET embedding_model = NULL, readability = NULL, vector = NULL
             WHERE document IN (SELECT number FROM hub_documents WHERE persona_id = ?1 AND user_id = ?2)",
        )?
        .execute(key)?;
    Ok(purged)
}
