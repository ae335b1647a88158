//! Words: one full-text table for each corpus. Every term carries the number of its scope in front (`17xcat`), so the
//! list of rows under a term belongs to one scope: frequencies and hits need no filter, and other people's words
//! change neither. Ranking is the memory's affair.

mod frequencies;

use memory::ports::{Corpus, Phrase, PhraseHits, RowSelection};

use crate::engine::sql::{Connection, Result, params};

pub(crate) use frequencies::{Counting, Frequencies};

/// Adds a row's terms.
pub(crate) fn insert(
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
    connection.prepare_cached(statement)?.send(params![seq, with_scope(scope, terms)])
}

/// Looks up the rows of each phrase.
pub(crate) fn look_up(
    connection: &Connection,
    corpus: Corpus,
    scope: i64,
    phrases: &[Phrase],
    limit: u32,
    counting: &Counting<'_>,
) -> Result<Vec<PhraseHits>> {
    phrases
        .iter()
        .map(|phrase| phrase_hits(connection, corpus, scope, phrase, limit, Some(counting)))
        .collect()
}

/// The result for a phrase without rows.
pub(crate) fn nowhere() -> PhraseHits {
    PhraseHits { document_frequency: 0, seqs: Vec::new() }
}

/// Takes a row's terms out; they must be those that were put in. The index overwrites what it removes.
pub(crate) fn remove(
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
    connection.prepare_cached(statement)?.send(params![seq, with_scope(scope, terms)])
}

/// Looks up the rows of a phrase: counts up to [`PhraseHits::FREQUENCY_MAX`] if asked, and returns the newest `limit`.
pub(crate) fn phrase_hits(
    connection: &Connection,
    corpus: Corpus,
    scope: i64,
    phrase: &Phrase,
    limit: u32,
    counting: Option<&Counting<'_>>,
) -> Result<PhraseHits> {
    let all = match corpus {
        Corpus::Messages => {
            "SELECT count(*) FROM (SELECT 1 FROM message_words WHERE message_words MATCH ?1 LIMIT ?2) AS hits"
        }
        Corpus::Nodes => {
            "SELECT count(*) FROM (SELECT 1 FROM node_words WHERE node_words MATCH ?1 LIMIT ?2) AS hits"
        }
    };
    let Some(query) = query(connection, scope, phrase) else { return Ok(nowhere()) };
    let seqs = newest_matching(connection, corpus, &query, limit)?;
    let named = u64::try_from(seqs.len()).unwrap_or(u64::MAX);
    // Fewer than were asked for are all.
    if named < u64::from(limit) {
        return Ok(PhraseHits { document_frequency: named, seqs });
    }
    // Counting inside the database is cheaper than taking each row.
    let count = || -> Result<u64> {
        let counted = connection
            .prepare_cached(all)?
            .query_row(params![query, PhraseHits::FREQUENCY_MAX], |row| row.get::<u64>(0))?;
        if let (Some(counting), Some(&newest)) = (counting, seqs.first()) {
            counting.insert_count(corpus, &query, newest, counted);
        }
        Ok(counted)
    };
    let known = counting.and_then(|counting| counting.updated_count(corpus, &query, &seqs));
    let document_frequency = known.map_or_else(count, Ok)?.min(PhraseHits::FREQUENCY_MAX);
    Ok(PhraseHits { document_frequency, seqs })
}

/// The newest rows that hold the phrase, whose last term may be the beginning of a longer one.
pub(crate) fn rows_beginning(
    connection: &Connection,
    corpus: Corpus,
    scope: i64,
    phrase: &Phrase,
    limit: u32,
) -> Result<Vec<i64>> {
    match query_of(connection, scope, phrase, true) {
        Some(query) => newest_matching(connection, corpus, &query, limit),
        None => Ok(Vec::new()),
    }
}

fn newest_matching(connection: &Connection, corpus: Corpus, query: &str, limit: u32) -> Result<Vec<i64>> {
    let [of_messages, of_nodes] = connection.word_dialect().newest;
    let statement = match corpus {
        Corpus::Messages => of_messages,
        Corpus::Nodes => of_nodes,
    };
    connection.prepare_cached(statement)?.query_map(params![query, limit], |row| row.get(0))?.collect()
}

/// The rows that each selection names, newest first.
pub(crate) fn rows_holding(
    connection: &Connection,
    corpus: Corpus,
    scope: i64,
    wanted: &[RowSelection],
) -> Result<Vec<Vec<i64>>> {
    let in_span = match corpus {
        Corpus::Messages => {
            "SELECT rowid FROM message_words WHERE message_words MATCH ?1 AND rowid BETWEEN ?2 AND ?3
             ORDER BY rowid DESC LIMIT ?4"
        }
        Corpus::Nodes => {
            "SELECT rowid FROM node_words WHERE node_words MATCH ?1 AND rowid BETWEEN ?2 AND ?3
             ORDER BY rowid DESC LIMIT ?4"
        }
    };
    let mut found = vec![Vec::new(); wanted.len()];
    let (mut spans, mut places) = (Vec::new(), Vec::new());
    for (place, wanted) in wanted.iter().enumerate() {
        let Some(query) = query_of_selection(connection, scope, wanted) else { continue };
        match wanted.span {
            None => found[place] = newest_matching(connection, corpus, &query, wanted.limit)?,
            Some((first, last)) => {
                spans.push((query, first, last, wanted.limit));
                places.push(place);
            }
        }
    }
    if !spans.is_empty() {
        let rows = connection.prepare_cached(in_span)?.query_each(spans, |row| row.get(0))?;
        for (place, rows) in places.into_iter().zip(rows) {
            found[place] = rows;
        }
    }
    Ok(found)
}

/// The query of a selection; `None` if it names nothing.
fn query_of_selection(connection: &Connection, scope: i64, wanted: &RowSelection) -> Option<String> {
    let group = |phrases: &Vec<Phrase>| {
        let phrases: Vec<String> =
            phrases.iter().filter_map(|phrase| query(connection, scope, phrase)).collect();
        (!phrases.is_empty()).then(|| format!("({})", phrases.join(connection.word_dialect().or)))
    };
    let groups: Option<Vec<String>> = wanted.all_of.iter().map(group).collect();
    groups.filter(|groups| !groups.is_empty()).map(|groups| groups.join(connection.word_dialect().and))
}

/// The phrase in the query language of the full-text index: a quoted string, inner quotes doubled.
pub(crate) fn query(connection: &Connection, scope: i64, phrase: &Phrase) -> Option<String> {
    query_of(connection, scope, phrase, false)
}

/// As [`query`]; the last term of a prefix may be the beginning of a longer one.
pub(crate) fn query_of(
    connection: &Connection,
    scope: i64,
    phrase: &Phrase,
    is_prefix: bool,
) -> Option<String> {
    let terms = with_scope(scope, &phrase.0.join(" "));
    (!terms.is_empty()).then(|| (connection.word_dialect().phrase)(&terms, is_prefix))
}

pub(crate) fn with_scope(scope: i64, terms: &str) -> String {
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

/// Terms as they were before their scope was put in front.
pub(crate) fn without_scope(terms: &str) -> String {
    let own = |term: &str| term.split_once('x').map_or(0, |(scope, _)| scope.len() + 1);
    let mut plain = String::with_capacity(terms.len());
    for term in terms.split(' ') {
        if !plain.is_empty() {
            plain.push(' ');
        }
        plain.push_str(&term[own(term)..]);
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_term_carries_its_scope() {
        assert_eq!(with_scope(17, "小 黑 cat"), "17x小 17x黑 17xcat");
        assert_eq!(with_scope(17, ""), "");
        assert_eq!(without_scope("17x小 17xxylophone"), "小 xylophone");
        assert_eq!(without_scope(""), "");
    }

    #[test]
    fn a_phrase_is_quoted_whatever_it_holds() {
        let phrase = |terms: &[&str]| Phrase(terms.iter().map(|term| (*term).to_owned()).collect());
        assert_eq!(
            query(&crate::engine::plans::empty(), 3, &phrase(&["a\"b", "OR"])),
            Some("\"3xa\"\"b 3xOR\"".to_owned())
        );
        assert_eq!(query(&crate::engine::plans::empty(), 3, &phrase(&[])), None);
        assert_eq!(query(&crate::engine::plans::empty(), 3, &phrase(&[" "])), None);
    }
}
