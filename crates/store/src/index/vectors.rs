//! Vectors of messages and nodes, as little-endian f32 bytes.

use std::collections::HashMap;

use memory::ports::{Corpus, Embedding, StoredVector};
use parking_lot::RwLock;

use crate::engine::sql::{Connection, OptionalExtension, Result, Row, params};

/// The two tables of a corpus.
pub(crate) struct CorpusTables {
    pub(crate) rows: &'static str,
    pub(crate) vectors: &'static str,
}

pub(crate) fn tables(corpus: Corpus) -> CorpusTables {
    match corpus {
        Corpus::Messages => CorpusTables { rows: "recall_messages", vectors: "message_vectors" },
        Corpus::Nodes => CorpusTables { rows: "concept_nodes", vectors: "node_vectors" },
    }
}

/// Numbers of models that were looked up. They never change: a model is never removed.
#[derive(Default)]
pub(crate) struct ModelNumbers(RwLock<HashMap<String, i64>>);

impl ModelNumbers {
    /// Like [`model`], with a cache. `connection` must only see committed rows.
    pub(crate) fn number(&self, connection: &Connection, fingerprint: &str) -> Result<Option<i64>> {
        let known = self.0.read().get(fingerprint).copied();
        if known.is_some() {
            return Ok(known);
        }
        let number = model(connection, fingerprint)?;
        if let Some(number) = number {
            let mut numbers = self.0.write();
            numbers.insert(fingerprint.to_owned(), number);
        }
        Ok(number)
    }
}

/// The model's number; `None` if no vector of it was ever stored.
pub(crate) fn model(connection: &Connection, fingerprint: &str) -> Result<Option<i64>> {
    connection
        .prepare_cached("SELECT number FROM embedding_models WHERE fingerprint = ?1")?
        .query_row([fingerprint], |row| row.get(0))
        .optional()
}

/// Models of rows without a vector of this one: all other models, and none.
pub(crate) fn other_models(connection: &Connection, fingerprint: &str) -> Result<Vec<Option<i64>>> {
    connection
        .prepare_cached("SELECT NULL UNION ALL SELECT number FROM embedding_models WHERE fingerprint <> ?1")?
        .query_map([fingerprint], |row| row.get(0))?
        .collect()
}

pub(crate) fn model_or_new(connection: &Connection, fingerprint: &str) -> Result<i64> {
    if let Some(number) = model(connection, fingerprint)? {
        return Ok(number);
    }
    connection
        .prepare_cached("INSERT INTO embedding_models (fingerprint) VALUES (?1) RETURNING number")?
        .query_row([fingerprint], |row| row.get(0))
}

/// Writes the vector of a live row with a new revision, replacing one of the same model.
pub(crate) fn write_vector(
    connection: &Connection,
    corpus: Corpus,
    seq: i64,
    model: i64,
    embedding: &Embedding,
) -> Result<()> {
    let CorpusTables { rows, vectors } = tables(corpus);
    let update = format!("UPDATE {rows} SET embedding_model = ?2 WHERE seq = ?1 AND deleted_at IS NULL");
    if connection.prepare_cached(&update)?.execute(params![seq, model])? == 0 {
        return Ok(());
    }
    let delete = format!("DELETE FROM {vectors} WHERE seq = ?1 AND embedding_model = ?2");
    connection.prepare_cached(&delete)?.execute(params![seq, model])?;
    let insert = format!(
        "INSERT INTO {vectors} (seq, scope, embedding_model, readability, vector)
         SELECT seq, scope, ?2, ?3, ?4 FROM {rows} WHERE seq = ?1"
    );
    let bytes = to_bytes(&embedding.vector);
    connection.prepare_cached(&insert)?.execute(params![seq, model, embedding.readability, bytes])?;
    Ok(())
}

/// Deletes the vector of a row; if the row is live, it waits for another one.
pub(crate) fn remove(connection: &Connection, corpus: Corpus, seq: i64) -> Result<()> {
    let CorpusTables { rows, vectors } = tables(corpus);
    connection.prepare_cached(&format!("DELETE FROM {vectors} WHERE seq = ?1"))?.execute([seq])?;
    let update = format!("UPDATE {rows} SET embedding_model = NULL WHERE seq = ?1");
    connection.prepare_cached(&update)?.execute([seq])?;
    Ok(())
}

/// Vectors of live rows with a revision above `after`, in its order.
pub(crate) fn vectors_after(
    connection: &Connection,
    corpus: Corpus,
    scope: i64,
    model: i64,
    after: i64,
    limit: u32,
) -> Result<Vec<StoredVector>> {
    let CorpusTables { rows, vectors } = tables(corpus);
    let select = format!(
        "SELECT v.seq, v.revision, v.readability, v.vector
         FROM {vectors} v CROSS JOIN {rows} r ON r.seq = v.seq
         WHERE v.scope = ?1 AND v.embedding_model = ?2 AND v.revision > ?3 AND r.deleted_at IS NULL
         ORDER BY v.revision LIMIT ?4"
    );
    connection.prepare_cached(&select)?.query_map(params![scope, model, after, limit], read_vector)?.collect()
}

/// The highest revision; 0 without a vector.
pub(crate) fn last_revision(connection: &Connection, corpus: Corpus, scope: i64, model: i64) -> Result<i64> {
    let select = format!(
        "SELECT coalesce(max(revision), 0) FROM {} WHERE scope = ?1 AND embedding_model = ?2",
        tables(corpus).vectors
    );
    connection.prepare_cached(&select)?.query_row(params![scope, model], |row| row.get(0))
}

/// Vectors of live rows, the newest rows first.
pub(crate) fn newest_vectors(
    connection: &Connection,
    corpus: Corpus,
    scope: i64,
    model: i64,
    before: Option<i64>,
    limit: u32,
) -> Result<Vec<StoredVector>> {
    let CorpusTables { rows, vectors } = tables(corpus);
    let select = format!(
        "SELECT v.seq, v.revision, v.readability, v.vector
         FROM {rows} r CROSS JOIN {vectors} v ON v.seq = r.seq
         WHERE r.scope = ?1 AND r.seq < ?3 AND r.deleted_at IS NULL AND v.embedding_model = ?2
         ORDER BY r.seq DESC LIMIT ?4"
    );
    let before = before.unwrap_or(i64::MAX);
    connection
        .prepare_cached(&select)?
        .query_map(params![scope, model, before, limit], read_vector)?
        .collect()
}

/// Vectors of this model of those rows that are live.
pub(crate) fn vectors_by_number(
    connection: &Connection,
    corpus: Corpus,
    scope: i64,
    model: i64,
    seqs: &[i64],
) -> Result<Vec<StoredVector>> {
    let CorpusTables { rows, vectors } = tables(corpus);
    let select = format!(
        "SELECT v.seq, v.revision, v.readability, v.vector
         FROM json_each(?1) j CROSS JOIN {vectors} v ON v.seq = j.value CROSS JOIN {rows} r ON r.seq = v.seq
         WHERE v.scope = ?2 AND v.embedding_model = ?3 AND r.deleted_at IS NULL"
    );
    let seqs = crate::rows::to_json(&seqs)?;
    connection.prepare_cached(&select)?.query_map(params![seqs, scope, model], read_vector)?.collect()
}

/// Numbers of live rows without a vector of this model, newest first, including those with vectors of other models.
pub(crate) fn rows_without_vector(
    connection: &Connection,
    corpus: Corpus,
    fingerprint: &str,
    limit: u32,
) -> Result<Vec<i64>> {
    let rows = tables(corpus).rows;
    let others = other_models(connection, fingerprint)?;
    let select = format!(
        "SELECT seq FROM {rows} WHERE embedding_model IS ?1 AND deleted_at IS NULL ORDER BY seq DESC LIMIT ?2"
    );
    let mut statement = connection.prepare_cached(&select)?;
    let mut seqs: Vec<i64> = Vec::new();
    for model in others {
        for seq in statement.query_map(params![model, limit], |row| row.get(0))? {
            seqs.push(seq?);
        }
    }
    seqs.sort_unstable_by_key(|seq| std::cmp::Reverse(*seq));
    seqs.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    Ok(seqs)
}

fn read_vector(row: &Row<'_>) -> Result<StoredVector> {
    Ok(StoredVector {
        seq: row.get(0)?,
        revision: row.get(1)?,
        readability: row.get(2)?,
        vector: from_bytes(row.get_ref(3)?.as_blob()?),
    })
}

pub(crate) fn to_bytes(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|component| component.to_le_bytes()).collect()
}

pub(crate) fn from_bytes(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|chunk| f32::from_le_bytes([chunk[0], chunk[1], chunk[2], chunk[3]])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_round_trips_as_bytes() {
        let vector = vec![0.0, -1.5, f32::MIN_POSITIVE, 0.1];
        assert_eq!(from_bytes(&to_bytes(&vector)), vector);
        assert_eq!(to_bytes(&[1.0]), [0, 0, 128, 63]);
    }
}
