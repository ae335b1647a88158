//! Words: one full-text table for each corpus. Every term carries the number of its scope in front (`17xcat`), so the
//! list of rows under a term belongs to one scope: frequencies and hits need no filter, and other people's words
//! change neither. Ranking is the memory's affair.

use memory::ports::{Corpus, Phrase, PhraseHits};
use rusqlite::{Connection, Result, params};

/// Adds a row's terms.
pub(super) fn insert(
    connection: &Connection,
    corpus: Corpus,
    seq: i64,
    scope: i64,
    terms: &str,
) -> Result<()> {
    let statement = match corpus {
        Corpus::Messages => "INSERT INTO message_words (rowid, terms) VALUES (?1, ?2)",
        Corpus::Nodes => "INSERT INTO node_words (rowid, terms) VALUES (?1, ?2)",
    };
    connection.prepare_cached(statement)?.execute(params![seq, with_scope(scope, terms)])?;
    Ok(())
}

/// Takes a row's terms out; they must be those that were put in. The index overwrites what it removes.
pub(super) fn remove(
    connection: &Connection,
    corpus: Corpus,
    seq: i64,
    scope: i64,
    terms: &str,
) -> Result<()> {
    let statement = match corpus {
        Corpus::Messages => {
            "INSERT INTO message_words (message_words, rowid, terms) VALUES ('delete', ?1, ?2)"
        }
        Corpus::Nodes => "INSERT INTO node_words (node_words, rowid, terms) VALUES ('delete', ?1, ?2)",
    };
    connection.prepare_cached(statement)?.execute(params![seq, with_scope(scope, terms)])?;
    Ok(())
}

/// Where the phrase stands: counts up to [`PhraseHits::FREQUENCY_MAX`] and keeps the newest `limit`.
pub(super) fn phrase_hits(
    connection: &Connection,
    corpus: Corpus,
    scope: i64,
    phrase: &Phrase,
    limit: u32,
) -> Result<PhraseHits> {
    let statement = match corpus {
        Corpus::Messages => {
            "SELECT rowid FROM message_words WHERE message_words MATCH ?1 ORDER BY rowid DESC LIMIT ?2"
        }
        Corpus::Nodes => {
            "SELECT rowid FROM node_words WHERE node_words MATCH ?1 ORDER BY rowid DESC LIMIT ?2"
        }
    };
    let mut hits = PhraseHits { document_frequency: 0, seqs: Vec::new() };
    let Some(query) = query(scope, phrase) else { return Ok(hits) };
    let mut statement = connection.prepare_cached(statement)?;
    let mut rows = statement.query(params![query, PhraseHits::FREQUENCY_MAX])?;
    while let Some(row) = rows.next()? {
        if hits.document_frequency < u64::from(limit) {
            hits.seqs.push(row.get(0)?);
        }
        hits.document_frequency += 1;
    }
    Ok(hits)
}

/// The phrase in the query language of the full-text index: a quoted string, inner quotes doubled.
fn query(scope: i64, phrase: &Phrase) -> Option<String> {
    let terms = with_scope(scope, &phrase.0.join(" "));
    (!terms.is_empty()).then(|| format!("\"{}\"", terms.replace('"', "\"\"")))
}

fn with_scope(scope: i64, terms: &str) -> String {
    let prefix = format!("{scope}x");
    let mut marked = String::with_capacity(terms.len() * 2);
    for term in terms.split_whitespace() {
        if !marked.is_empty() {
            marked.push(' ');
        }
        marked.push_str(&prefix);
        marked.push_str(term);
    }
    marked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_term_carries_its_scope() {
        assert_eq!(with_scope(17, "小 黑 cat"), "17x小 17x黑 17xcat");
        assert_eq!(with_scope(17, ""), "");
    }

    #[test]
    fn a_phrase_is_quoted_whatever_it_holds() {
        let phrase = |terms: &[&str]| Phrase(terms.iter().map(|term| (*term).to_owned()).collect());
        assert_eq!(query(3, &phrase(&["a\"b", "OR"])), Some("\"3xa\"\"b 3xOR\"".to_owned()));
        assert_eq!(query(3, &phrase(&[])), None);
        assert_eq!(query(3, &phrase(&[" "])), None);
    }
}
