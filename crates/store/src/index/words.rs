//! The word index: one full-text table for each corpus. Every term has the id of its scope as a prefix (`17xcat`), so
//! the list of rows of a term belongs to one scope: frequencies and hits need no filter, and words of others affect
//! neither. The memory does the ranking.

mod frequencies;

use std::cmp::Reverse;

use memory::ports::{Corpus, CorpusSize, Phrase, PhraseHits, RowSelection};

use crate::engine::sql::{Connection, Result, Row, params};
use crate::scopes;

pub(crate) use frequencies::{Frequencies, FrequencyReader};

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

/// Maximum rows to return for each phrase.
#[derive(Clone, Copy)]
pub(crate) struct RowsOfPhrase {
    /// Maximum number of the newest rows.
    pub(crate) newest: u32,
    /// Number up to which all rows of a phrase are returned, if the engine finds them in one query.
    pub(crate) all_up_to: u32,
}

/// Looks up the rows of each phrase, and counts them up to [`PhraseHits::FREQUENCY_MAX`]. Also returns the size of
/// the scope.
pub(crate) fn look_up(
    connection: &Connection,
    corpus: Corpus,
    scope: i64,
    phrases: &[Phrase],
    rows: RowsOfPhrase,
    counting: &FrequencyReader,
) -> Result<(CorpusSize, Vec<PhraseHits>)> {
    let queries: Vec<Option<String>> =
        phrases.iter().map(|phrase| query(connection, scope, phrase)).collect();
    let asked = queries.iter().flatten().map(String::as_str);
    let (size, found) = rows_matching_each(connection, corpus, scope, asked, rows)?;
    let size = size.map_or_else(|| scopes::size(connection, scope, corpus), Ok)?;
    let mut found = found.into_iter();
    let mut hits: Vec<PhraseHits> = Vec::with_capacity(phrases.len());
    // Queries whose rows have to be counted, with their positions.
    let mut uncounted = Vec::new();
    for (place, query) in queries.iter().enumerate() {
        let (Some(query), rows) = (query, if query.is_some() { found.next() } else { None }) else {
            hits.push(no_hits());
            continue;
        };
        let FoundRows { seqs, all } = rows.unwrap_or_default();
        let counted = all.or_else(|| counting.updated_count(corpus, query, &seqs));
        if counted.is_none() {
            uncounted.push((place, query));
        }
        let document_frequency = counted.unwrap_or_default().min(PhraseHits::FREQUENCY_MAX);
        hits.push(PhraseHits { document_frequency, seqs });
    }
    if uncounted.is_empty() {
        return Ok((size, hits));
    }
    // Counting inside the database is cheaper than fetching each row.
    let all = match corpus {
        Corpus::Messages => {
            "SELECT count(*) FROM (SELECT 1 FROM message_words WHERE message_words MATCH ?1 LIMIT ?2) AS hits"
        }
        Corpus::Nodes => {
            "SELECT count(*) FROM (SELECT 1 FROM node_words WHERE node_words MATCH ?1 LIMIT ?2) AS hits"
        }
    };
    let asked = uncounted.iter().map(|(_, query)| (query.as_str(), PhraseHits::FREQUENCY_MAX));
    let counted = connection.query_each(all, asked, |row| row.get::<u64>(0))?;
    for ((place, query), counted) in uncounted.into_iter().zip(counted.into_iter().flatten()) {
        if let Some(&newest) = hits[place].seqs.first() {
            counting.insert_count(corpus, query, newest, counted);
        }
        hits[place].document_frequency = counted.min(PhraseHits::FREQUENCY_MAX);
    }
    Ok((size, hits))
}

/// The result for a phrase without rows.
pub(crate) fn no_hits() -> PhraseHits {
    PhraseHits { document_frequency: 0, seqs: Vec::new() }
}

/// Removes a row's terms, which must be those that were inserted. The index overwrites what it removes.
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

/// The newest rows with the phrase.
pub(crate) fn newest_rows(
    connection: &Connection,
    corpus: Corpus,
    scope: i64,
    phrase: &Phrase,
    limit: u32,
) -> Result<Vec<i64>> {
    let query = query(connection, scope, phrase);
    let asked = query.iter().map(|query| (query.as_str(), limit));
    Ok(newest_rows_matching_each(connection, corpus, asked)?.pop().unwrap_or_default())
}

/// The newest rows with the phrase, whose last term may be the prefix of a longer one.
pub(crate) fn rows_beginning(
    connection: &Connection,
    corpus: Corpus,
    scope: i64,
    phrase: &Phrase,
    limit: u32,
) -> Result<Vec<i64>> {
    let query = prefix_query(connection, scope, phrase, true);
    let asked = query.iter().map(|query| (query.as_str(), limit));
    Ok(newest_rows_matching_each(connection, corpus, asked)?.pop().unwrap_or_default())
}

/// Rows of a phrase, the newest first.
#[derive(Default)]
struct FoundRows {
    seqs: Vec<i64>,
    /// Number of all rows of the phrase, if known.
    all: Option<u64>,
}

/// The rows that match each query, and the size of the scope if a query returned it.
fn rows_matching_each<'a>(
    connection: &Connection,
    corpus: Corpus,
    scope: i64,
    queries: impl Iterator<Item = &'a str>,
    rows: RowsOfPhrase,
) -> Result<(Option<CorpusSize>, Vec<FoundRows>)> {
    let number = |seqs: &Vec<i64>| u64::try_from(seqs.len()).unwrap_or(u64::MAX);
    let newest = rows.newest as usize;
    let Some(statements) = connection.word_dialect().newest_or_all.filter(|_| rows.all_up_to > 0) else {
        let found = newest_rows_matching_each(connection, corpus, queries.map(|query| (query, rows.newest)))?;
        // Fewer rows than requested are all of them.
        let counted = |seqs: Vec<i64>| FoundRows { all: (seqs.len() < newest).then(|| number(&seqs)), seqs };
        return Ok((None, found.into_iter().map(counted).collect()));
    };
    let asked = queries.map(|query| (query, rows.newest, rows.all_up_to, scope));
    let mut size = None;
    let found = connection.query_each(for_corpus(corpus, statements), asked, |row| {
        let documents = row.get::<Option<u64>>(if corpus == Corpus::Messages { 2 } else { 3 })?;
        size = documents.map(|documents| CorpusSize { documents });
        Ok((unpack_numbers(row)?, row.get::<bool>(1)?))
    })?;
    let counted = |(mut seqs, is_all): (Vec<i64>, bool)| {
        let all = is_all.then(|| number(&seqs));
        // A word that became rare is in far more rows than the newest ones suggest.
        if seqs.len() > 2 * rows.all_up_to as usize {
            seqs.truncate(newest);
        }
        FoundRows { seqs, all }
    };
    Ok((size, found.into_iter().flatten().map(counted).collect()))
}

/// The newest rows that match each query, up to a maximum.
fn newest_rows_matching_each<'a>(
    connection: &Connection,
    corpus: Corpus,
    queries: impl Iterator<Item = (&'a str, u32)>,
) -> Result<Vec<Vec<i64>>> {
    let statement = for_corpus(corpus, connection.word_dialect().newest);
    connection.query_each(statement, queries, |row| row.get(0))
}

fn for_corpus(corpus: Corpus, [of_messages, of_nodes]: [&'static str; 2]) -> &'static str {
    match corpus {
        Corpus::Messages => of_messages,
        Corpus::Nodes => of_nodes,
    }
}

/// Unpacks numbers of 8 bytes each; returns them in descending order.
fn unpack_numbers(row: &Row<'_>) -> Result<Vec<i64>> {
    let (numbers, _) = row.get_ref(0)?.as_blob()?.as_chunks();
    let mut numbers: Vec<i64> = numbers.iter().copied().map(i64::from_be_bytes).collect();
    numbers.sort_unstable_by_key(|number| Reverse(*number));
    Ok(numbers)
}

/// The rows of each selection, newest first.
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
    let queries: Vec<Option<String>> =
        wanted.iter().map(|wanted| selection_query(connection, scope, wanted)).collect();
    let packed = connection.word_dialect().all.map(|statements| for_corpus(corpus, statements));
    let (mut all, mut everywhere, mut spans) = (Vec::new(), Vec::new(), Vec::new());
    for (place, (wanted, query)) in wanted.iter().zip(&queries).enumerate() {
        let Some(query) = query.as_deref() else { continue };
        match wanted.span {
            None if wanted.limit == u32::MAX && packed.is_some() => all.push((place, query)),
            None => everywhere.push((place, (query, wanted.limit))),
            Some((first, last)) => spans.push((place, (query, first, last, wanted.limit))),
        }
    }
    let newest = newest_rows_matching_each(connection, corpus, everywhere.iter().map(|(_, asked)| *asked))?;
    let of_spans = spans.iter().map(|(_, asked)| *asked);
    let of_spans = connection.query_each(in_span, of_spans, |row| row.get(0))?;
    if let Some(packed) = packed {
        let rows = connection.query_each(packed, all.iter().map(|(_, query)| [*query]), unpack_numbers)?;
        for ((place, _), rows) in all.iter().zip(rows) {
            found[*place] = rows.concat();
        }
    }
    let places = everywhere.iter().map(|(place, _)| place).chain(spans.iter().map(|(place, _)| place));
    for (place, rows) in places.zip(newest.into_iter().chain(of_spans)) {
        found[*place] = rows;
    }
    Ok(found)
}

/// The query of a selection; `None` if it is empty.
fn selection_query(connection: &Connection, scope: i64, wanted: &RowSelection) -> Option<String> {
    let group = |phrases: &Vec<Phrase>| {
        let phrases: Vec<String> =
            phrases.iter().filter_map(|phrase| query(connection, scope, phrase)).collect();
        (!phrases.is_empty()).then(|| format!("({})", phrases.join(connection.word_dialect().or)))
    };
    let groups: Option<Vec<String>> = wanted.all_of.iter().map(group).collect();
    groups.filter(|groups| !groups.is_empty()).map(|groups| groups.join(connection.word_dialect().and))
}

/// Converts a phrase to the query language of the full-text index: a quoted string, inner quotes doubled.
pub(crate) fn query(connection: &Connection, scope: i64, phrase: &Phrase) -> Option<String> {
    prefix_query(connection, scope, phrase, false)
}

/// Like [`query`], for a phrase whose last term may be the prefix of a longer one.
pub(crate) fn prefix_query(
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

/// Terms without the prefix of their scope.
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
            query(&crate::engine::plans::empty_database(), 3, &phrase(&["a\"b", "OR"])),
            Some("\"3xa\"\"b 3xOR\"".to_owned())
        );
        assert_eq!(query(&crate::engine::plans::empty_database(), 3, &phrase(&[])), None);
        assert_eq!(query(&crate::engine::plans::empty_database(), 3, &phrase(&[" "])), None);
    }
}
