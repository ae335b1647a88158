//! Chunks of memories: split when a document is written, found by their words, read with their vectors.

use std::collections::BTreeSet;
use std::ops::Range;

use hub::documents::IMPORT_EDITOR;
use hub::names::{DiaryName, DocumentName};
use hub::ports::{ChunkCoverage, ChunkHits, ChunkVector, DiaryChunk, DiaryCoverage, UnembeddedChunk};
use hub::split_into_chunks;
use memory::Scope;
use memory::ports::{Embedding, Phrase, PhraseHits};
use memory::text::{QueryGram, index_grams, index_terms};
use memory::vector_index::READABILITY_MIN;

use super::state::instance_id;
use crate::engine::sql::{Connection, OptionalExtension, Result, Row, params};
use crate::graph;
use crate::index::vectors::{from_bytes, model, model_or_new, to_bytes};
use crate::index::words;
use crate::rows::{self, to_json};
use crate::scopes;

/// Factor of the day in a chunk's number: the counter below it keeps the order of days.
const DAY_WEIGHT: i64 = 1 << 40;
/// Characters after a chunk whose grams belong to it too, so that a word or name across the boundary of two chunks is
/// found.
const GRAM_OVERLAP: usize = 64;
/// Chunks per batch of missing grams. The writer computes them, and turns can write between two batches.
const UNFILLED_AT_ONCE: u32 = 500;

/// Replaces the chunks of a document by those of its shown text.
pub(super) fn replace_chunks(
    connection: &Connection,
    scope: &Scope,
    name: &DocumentName,
    document: i64,
) -> Result<()> {
    let DocumentName::Diary(name) = name else { return Ok(()) };
    connection.prepare_cached("DELETE FROM hub_chunks WHERE document = ?1")?.execute([document])?;
    let shown: Option<(Option<String>, String)> = connection
        .prepare_cached(
            "SELECT content, edited_by FROM hub_versions WHERE document = ?1 AND state = 'shown'",
        )?
        .query_row([document], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let (content, edited_by) = shown.unwrap_or_default();
    if edited_by != IMPORT_EDITOR {
        graph::mark_unread(connection, document, name)?;
    }
    let Some(content) = content else { return Ok(()) };
    let scope = scopes::number_or_new(connection, scope)?;
    let day = i64::from((name.date().last_day() - jiff::civil::date(1, 1, 1)).get_days()).max(0);
    let mut count =
        connection.prepare_cached("UPDATE hub_chunk_numbers SET last = last + 1 RETURNING last")?;
    let mut insert = connection.prepare_cached(
        "INSERT INTO hub_chunks (number, document, scope, piece, starts_at, ends_at, terms, grams)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?;
    for (place, piece) in split_into_chunks(&content).into_iter().enumerate() {
        let terms = words::with_scope(scope, &index_terms(&content[piece.clone()]));
        let number = day * DAY_WEIGHT + count.query_row([], |row| row.get::<i64>(0))? % DAY_WEIGHT;
        let grams = grams_of(scope, &content, &piece);
        insert.execute(params![number, document, scope, place, piece.start, piece.end, terms, grams])?;
    }
    Ok(())
}

/// Grams of a chunk and of the text after it up to the next space, because a word may continue in the next chunk.
fn grams_of(scope: i64, content: &str, piece: &Range<usize>) -> String {
    let after = content[piece.end..].chars().take(GRAM_OVERLAP);
    let beyond: usize = after.take_while(|character| !character.is_whitespace()).map(char::len_utf8).sum();
    words::with_scope(scope, &index_grams(&content[piece.start..piece.end + beyond]))
}

/// Splits memories that were written before chunks existed. Reads the texts only of those without chunks.
pub(super) fn cut_unindexed(connection: &Connection) -> Result<()> {
    let uncut: Vec<(Scope, DocumentName, i64)> = connection
        .prepare_cached(
            "SELECT d.persona_id, d.user_id, d.kind, d.stem, d.number
             FROM hub_documents d JOIN hub_versions v ON v.document = d.number AND v.state = 'shown'
             WHERE d.user_id IS NOT NULL AND d.kind IN ('daily', 'weekly', 'monthly', 'yearly', 'significant')
                 AND CASE WHEN EXISTS (SELECT 1 FROM hub_chunks c WHERE c.document = d.number) THEN 0
                          ELSE trim(v.content, char(9, 10, 13, 32)) <> '' END",
        )?
        .query_map([], |row| Ok((rows::scope(row, 0)?, read_name(row, 2)?, row.get(4)?)))?
        .collect::<Result<_>>()?;
    uncut
        .iter()
        .try_for_each(|(scope, name, document)| replace_chunks(connection, scope, name, *document))?;
    fill_grams(connection)
}

/// Computes the grams of chunks that were written before grams existed.
fn fill_grams(connection: &Connection) -> Result<()> {
    let mut read = connection.prepare_cached(
        "SELECT c.number, c.scope, c.starts_at, c.ends_at, v.content
         FROM hub_chunks c JOIN hub_versions v ON v.document = c.document AND v.state = 'shown'
         WHERE c.number > ?1 AND c.grams = '' AND v.content IS NOT NULL ORDER BY c.number LIMIT ?2",
    )?;
    let mut write = connection.prepare_cached("UPDATE hub_chunks SET grams = ?2 WHERE number = ?1")?;
    let mut after = i64::MIN;
    loop {
        let filled: Vec<(i64, String)> = read
            .query_map(params![after, UNFILLED_AT_ONCE], |row| {
                let range: Range<usize> = row.get(2)?..row.get(3)?;
                let content = row.get_ref(4)?.as_str()?;
                let is_whole = content.get(range.clone()).is_some();
                let grams = if is_whole { grams_of(row.get(1)?, content, &range) } else { String::new() };
                Ok((row.get(0)?, grams))
            })?
            .collect::<Result<_>>()?;
        let Some((last, _)) = filled.last() else { return Ok(()) };
        after = *last;
        for (number, grams) in &filled {
            write.execute(params![number, grams])?;
        }
    }
}

fn read_name(row: &Row<'_>, from: usize) -> Result<DocumentName> {
    DocumentName::parse(row.get_ref(from)?.as_str()?, row.get_ref(from + 1)?.as_str()?)
        .map_err(|error| rows::unreadable_column(from + 1, error))
}

fn memory_name(row: &Row<'_>, from: usize) -> Result<DiaryName> {
    match read_name(row, from)? {
        DocumentName::Diary(name) => Ok(name),
        DocumentName::Identity(..) => {
            let reason = hub::names::InvalidName("an identity document is no memory".to_owned());
            Err(rows::unreadable_column(from, reason))
        }
    }
}

pub(super) fn look_up(
    connection: &Connection,
    scope: i64,
    phrases: &[Phrase],
    limit: u32,
) -> Result<ChunkHits> {
    let pieces = connection
        .prepare_cached("SELECT pieces FROM hub_chunk_counts WHERE scope = ?1")?
        .query_row([scope], |row| row.get(0))
        .optional()?
        .unwrap_or(0);
    let hits = phrases.iter().map(|phrase| phrase_hits(connection, scope, phrase, limit));
    Ok(ChunkHits { pieces, hits: hits.collect::<Result<_>>()? })
}

fn phrase_hits(connection: &Connection, scope: i64, phrase: &Phrase, limit: u32) -> Result<PhraseHits> {
    let Some(query) = words::query(connection, scope, phrase) else { return Ok(words::no_hits()) };
    let newest = "SELECT rowid FROM hub_words WHERE hub_words MATCH ?1 ORDER BY rowid DESC LIMIT ?2";
    let seqs: Vec<i64> = connection
        .prepare_cached(newest)?
        .query_map(params![query, limit], |row| row.get(0))?
        .collect::<Result<_>>()?;
    let all = "SELECT count(*) FROM (SELECT 1 FROM hub_words WHERE hub_words MATCH ?1 LIMIT ?2) AS hits";
    let document_frequency = match seqs.len() < limit as usize {
        true => seqs.len() as u64,
        false => connection
            .prepare_cached(all)?
            .query_row(params![query, PhraseHits::FREQUENCY_MAX], |row| row.get(0))?,
    };
    Ok(PhraseHits { document_frequency, seqs })
}

pub(super) fn chunks_by_number(
    connection: &Connection,
    scope: i64,
    fingerprint: &str,
    numbers: &[i64],
) -> Result<Vec<DiaryChunk>> {
    let model = model(connection, fingerprint)?.unwrap_or(0);
    connection
        .prepare_cached(
            "SELECT c.number, d.kind, d.stem, v.author, c.piece, c.terms, x.readability, x.vector
             FROM json_each(?1) j CROSS JOIN hub_chunks c ON c.number = j.value
                 CROSS JOIN hub_documents d ON d.number = c.document
                 CROSS JOIN hub_versions v ON v.document = d.number AND v.state = 'shown'
                 LEFT JOIN hub_vectors x ON x.chunk = c.number AND x.embedding_model = ?3
             WHERE c.scope = ?2",
        )?
        .query_map(params![to_json(&numbers)?, scope, model], |row| {
            let vector: Option<Vec<u8>> = row.get(7)?;
            let readability: Option<f32> = row.get(6)?;
            let embedding = vector
                .zip(readability)
                .map(|(bytes, readability)| Embedding { vector: from_bytes(&bytes), readability });
            Ok(DiaryChunk {
                number: row.get(0)?,
                name: memory_name(row, 1)?,
                author: instance_id(row, 3)?,
                place: row.get(4)?,
                terms: words::without_scope(row.get_ref(5)?.as_str()?),
                embedding,
            })
        })?
        .collect()
}

pub(super) fn vectors(
    connection: &Connection,
    scope: i64,
    fingerprint: &str,
    after: i64,
    limit: u32,
) -> Result<Vec<ChunkVector>> {
    let Some(model) = model(connection, fingerprint)? else { return Ok(Vec::new()) };
    connection
        .prepare_cached(
            "SELECT number, chunk, vector FROM hub_vectors
             WHERE scope = ?1 AND embedding_model = ?2 AND number > ?3 AND readability >= ?4
             ORDER BY number LIMIT ?5",
        )?
        .query_map(params![scope, model, after, READABILITY_MIN, limit], |row| {
            let vector = from_bytes(row.get_ref(2)?.as_blob()?);
            Ok(ChunkVector { stored: row.get(0)?, piece: row.get(1)?, vector })
        })?
        .collect()
}

pub(super) fn chunks_without_vector(
    connection: &Connection,
    scope: &Scope,
    fingerprint: &str,
    after: i64,
    limit: u32,
) -> Result<Vec<UnembeddedChunk>> {
    let model = model(connection, fingerprint)?.unwrap_or(0);
    let key = params![scope.persona.as_str(), scope.user.as_str(), after, model, limit];
    // Without the texts: the rows are sorted, and each would carry the whole document.
    let places: Vec<(i64, DiaryName, i64, Range<usize>)> = connection
        .prepare_cached(
            "SELECT c.number, d.kind, d.stem, d.number, c.starts_at, c.ends_at
             FROM hub_documents d JOIN hub_chunks c ON c.document = d.number
             WHERE d.persona_id = ?1 AND d.user_id = ?2 AND d.revision > ?3
                 AND NOT EXISTS (SELECT 1 FROM hub_vectors x WHERE x.chunk = c.number AND x.embedding_model = ?4)
             ORDER BY c.number DESC LIMIT ?5",
        )?
        .query_map(key, |row| Ok((row.get(0)?, memory_name(row, 1)?, row.get(3)?, row.get(4)?..row.get(5)?)))?
        .collect::<Result<_>>()?;
    let mut read = connection
        .prepare_cached("SELECT content FROM hub_versions WHERE document = ?1 AND state = 'shown'")?;
    let mut chunks = Vec::with_capacity(places.len());
    // Chunks of one document are consecutive, so one text is held at a time.
    let mut current: Option<(i64, Option<String>)> = None;
    for (number, name, document, range) in places {
        if current.as_ref().is_none_or(|(known, _)| *known != document) {
            let content: Option<Option<String>> = read.query_row([document], |row| row.get(0)).optional()?;
            current = Some((document, content.flatten()));
        }
        let content = current.as_ref().and_then(|(_, content)| content.as_deref());
        if let Some(text) = content.and_then(|content| content.get(range)) {
            chunks.push(UnembeddedChunk { number, name, text: text.to_owned() });
        }
    }
    Ok(chunks)
}

/// Counts the chunks of all scopes, and those with a vector of this model.
pub(super) fn count_coverage(connection: &Connection, fingerprint: &str) -> Result<ChunkCoverage> {
    let model = model(connection, fingerprint)?.unwrap_or(0);
    connection
        .prepare_cached(
            "SELECT (SELECT coalesce(sum(pieces), 0) FROM hub_chunk_counts),
                 (SELECT count(*) FROM hub_vectors WHERE embedding_model = ?1)",
        )?
        .query_row([model], |row| Ok(ChunkCoverage { chunks: row.get(0)?, with_vector: row.get(1)? }))
}

pub(super) fn put_vectors(
    connection: &Connection,
    fingerprint: &str,
    vectors: &[(i64, Embedding)],
) -> Result<()> {
    let model = model_or_new(connection, fingerprint)?;
    let mut delete = connection.prepare_cached("DELETE FROM hub_vectors WHERE chunk = ?1")?;
    let mut insert = connection.prepare_cached(
        "INSERT INTO hub_vectors (chunk, scope, embedding_model, readability, vector)
         SELECT number, scope, ?2, ?3, ?4 FROM hub_chunks WHERE number = ?1",
    )?;
    for (piece, embedding) in vectors {
        delete.execute([piece])?;
        insert.execute(params![piece, model, embedding.readability, to_bytes(&embedding.vector)])?;
    }
    Ok(())
}

pub(super) fn embedded_chunks(
    connection: &Connection,
    scope: &Scope,
    fingerprint: &str,
) -> Result<DiaryCoverage> {
    let model = model(connection, fingerprint)?.unwrap_or(0);
    connection
        .prepare_cached(
            "SELECT count(*), coalesce(sum(NOT EXISTS (
                 SELECT 1 FROM hub_chunks c LEFT JOIN hub_vectors x ON x.chunk = c.number AND x.embedding_model = ?3
                 WHERE c.document = d.number AND x.chunk IS NULL)), 0)
             FROM hub_documents d JOIN hub_versions v ON v.document = d.number AND v.state = 'shown'
             WHERE d.persona_id = ?1 AND d.user_id = ?2 AND v.content IS NOT NULL
                 AND d.kind IN ('daily', 'weekly', 'monthly', 'yearly', 'significant')",
        )?
        .query_row(params![scope.persona.as_str(), scope.user.as_str(), model], |row| {
            Ok(DiaryCoverage { memories: row.get(0)?, embedded: row.get(1)? })
        })
}

/// Deletes vectors; returns the number of their memories.
pub(super) fn delete_vectors(connection: &Connection, scope: &Scope) -> Result<u64> {
    let Some(scope) = scopes::number(connection, scope)? else { return Ok(0) };
    let purged = connection
        .prepare_cached(
            "SELECT count(DISTINCT c.document) FROM hub_vectors x JOIN hub_chunks c ON c.number = x.chunk
             WHERE x.scope = ?1",
        )?
        .query_row([scope], |row| row.get(0))?;
    connection.prepare_cached("DELETE FROM hub_vectors WHERE scope = ?1")?.execute([scope])?;
    Ok(purged)
}

/// Query for the names of existing memories.
const MEMORY_NAMES: &str = "
    SELECT d.kind, d.stem FROM hub_documents d CROSS JOIN hub_versions v
    WHERE d.persona_id = ?1 AND d.user_id = ?2 AND d.kind IN ('daily', 'weekly', 'monthly', 'yearly', 'significant')
        AND v.document = d.number AND v.state = 'shown' AND v.content IS NOT NULL";

pub(super) fn diary_names(connection: &Connection, scope: &Scope) -> Result<Vec<DiaryName>> {
    connection
        .prepare_cached(MEMORY_NAMES)?
        .query_map([scope.persona.as_str(), scope.user.as_str()], |row| memory_name(row, 0))?
        .collect()
}

/// Query for memories whose chunks contain the grams of a word, among the newest such chunks.
const NAMES_WITH_GRAMS: &str = "
    SELECT DISTINCT d.kind, d.stem
    FROM (SELECT rowid AS number FROM hub_gram_words WHERE hub_gram_words MATCH ?1 ORDER BY rowid DESC LIMIT ?2) hit
    CROSS JOIN hub_chunks c ON c.number = hit.number CROSS JOIN hub_documents d ON d.number = c.document";

pub(super) fn with_grams(
    connection: &Connection,
    scope: i64,
    grams: &BTreeSet<QueryGram>,
    limit: u32,
) -> Result<Vec<DiaryName>> {
    let query = |gram: &QueryGram| {
        words::prefix_query(connection, scope, &Phrase(vec![gram.text.clone()]), gram.is_prefix)
    };
    let query: Vec<String> = grams.iter().filter_map(query).collect();
    if query.is_empty() {
        return Ok(Vec::new());
    }
    connection
        .prepare_cached(NAMES_WITH_GRAMS)?
        .query_map(params![query.join(connection.word_dialect().and), limit], |row| memory_name(row, 0))?
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::plans::empty_database;
    use crate::engine::plans::explain_plan;

    #[test]
    fn names_are_read_along_their_index() {
        let plan = explain_plan(&empty_database(), MEMORY_NAMES);
        assert!(plan.contains("hub_documents_of_user (persona_id=? AND user_id=? AND kind=?)"), "{plan}");
        assert!(plan.contains("hub_versions_shown (document=?)") && !plan.contains("SCAN"), "{plan}");
    }
}
