//! Finds rows that contain words of a query, however old they are.
//!
//! For a rare word all rows are fetched. For a common one only rows that a rare word leads to as well, rows with
//! another common word too, and some from every part of the past: all other rows contain one common word and nothing
//! else, which is the lowest possible score. New rows are not preferred.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap, HashSet};

use futures_util::try_join;

use super::words::{
    IndexedText, PART_CREDIT, WeighedTerms, WordStatistics, matched_share, occurrence_credit,
};
use crate::ports::{Corpus, Phrase, PhraseHits, RowSelection, Store, StoreError};
use crate::scope::Scope;
use crate::text::QueryTerm;

/// Maximum phrases to look up for one query; further ones are ignored. Each has a bit of a number.
const PHRASES_MAX: usize = 96;
/// The bit of a phrase that was not looked up, which any row may contain.
const UNSEARCHED_PHRASE_BIT: u128 = 1 << 127;
/// Newest rows to fetch for each phrase, by number only; all rows of a rarer phrase.
const ROWS_PER_PHRASE: u32 = 500;
/// Rows for each phrase if many texts are searched at once and only the nearest rows are wanted. The nearest text
/// shares rare words, all of whose rows are fetched anyway.
const ROWS_PER_PHRASE_OF_MANY: u32 = 100;
/// Maximum rows of the rarer phrases that are fetched completely, for all phrases together. The time of a search
/// grows with them.
const WHOLE_ROWS_MAX: u32 = 12_000;
/// Maximum rows, for all phrases together, up to which the store may return all rows of each phrase.
const WHOLE_ROWS_AT_ONCE: usize = 36_000;
/// Maximum common phrases to search among the rows of the rarer ones, those with the most information. Each is a
/// query, and further ones are in nearly every row.
const COMMON_PHRASES_MAX: usize = 16;
/// Maximum common phrases to search in pairs, and alone. Four make six pairs, each of them a query for every part of
/// the past.
const PAIRED_PHRASES_MAX: usize = 4;
/// Parts of the past, each of which contributes rows of a pair or of a common phrase. Otherwise only the newest rows
/// would be found for a common word.
const PARTS_OF_PAST: i64 = 8;
/// Maximum rows of a pair, or of a common phrase, from each part of the past.
const ROWS_PER_PART: u32 = 100;

/// Rows that contain words of the query.
#[derive(Clone, Debug, Default)]
pub(super) struct WordHits {
    pub(super) statistics: WordStatistics,
    /// Numbers of the rows that match the most information, best first; equal ones evenly from all parts of the past.
    pub(super) seqs: Vec<i64>,
    listed: ListedRows,
    /// For each term, the bits of its phrase and of its parts, and its information.
    worth: Vec<(u128, u128, f64)>,
}

/// Rows found by the index, by phrase.
#[derive(Clone, Debug, Default)]
struct ListedRows {
    /// The bit of each phrase that was looked up.
    bits: HashMap<Phrase, u128>,
    /// Every found row, by number, with the bits of its phrases.
    rows: Vec<(i64, u128)>,
    /// Phrases all of whose rows were found.
    whole: u128,
    /// Common phrases that were searched in every row of the complete ones.
    settled: u128,
    /// For each common phrase, the oldest row up to which all newer ones were found, with the phrase's bit.
    cut: Vec<(i64, u128)>,
}

impl ListedRows {
    fn new(phrases: &[Phrase], hits: &[&PhraseHits]) -> Self {
        let mut listed = Self { bits: phrase_bits(phrases), ..Self::default() };
        let mut named: Vec<(i64, u128)> = Vec::with_capacity(hits.iter().map(|hits| hits.seqs.len()).sum());
        for (place, hits) in hits.iter().enumerate() {
            named.extend(hits.seqs.iter().map(|&seq| (seq, phrase_bit(place))));
            if has_all_rows(hits) {
                listed.whole |= phrase_bit(place);
            } else {
                listed.cut.push((hits.seqs.last().copied().unwrap_or(i64::MAX), phrase_bit(place)));
            }
        }
        listed.add(named);
        listed
    }

    fn add(&mut self, named: impl IntoIterator<Item = (i64, u128)>) {
        self.rows.extend(named);
        self.rows.sort_unstable();
        self.rows.dedup_by(|next, row| {
            let same = next.0 == row.0;
            row.1 |= if same { next.1 } else { 0 };
            same
        });
    }

    /// Bits of the phrases that a row may contain, according to the index answers so far.
    fn possible_phrases(&self, seq: i64) -> u128 {
        let named = self.rows.binary_search_by_key(&seq, |row| row.0).map_or(0, |place| self.rows[place].1);
        let known = if named & self.whole == 0 { 0 } else { self.settled };
        let cut = self.cut.iter().filter(|(oldest, bit)| seq < *oldest && bit & known == 0);
        cut.fold(named, |bits, (_, bit)| bits | bit)
    }
}

fn phrase_bit(place: usize) -> u128 {
    1 << place
}

fn phrase_bits(phrases: &[Phrase]) -> HashMap<Phrase, u128> {
    phrases.iter().cloned().enumerate().map(|(place, phrase)| (phrase, phrase_bit(place))).collect()
}

fn has_all_rows(hits: &PhraseHits) -> bool {
    hits.document_frequency <= hits.seqs.len() as u64
}

/// Bounds of the rows' scores from the index alone, before their texts are read.
pub(super) struct WordBound<'a> {
    listed: &'a ListedRows,
    sentences: Vec<Vec<BoundTerm<'a>>>,
}

/// A content term with the bits of its phrases.
struct BoundTerm<'a> {
    term: &'a QueryTerm,
    whole: u128,
    parts: u128,
    information: f64,
}

impl WordHits {
    /// The rows within this range of numbers that match the most information, best first.
    pub(super) fn best_rows_between(&self, first: i64, last: i64, wanted: usize) -> Vec<i64> {
        let from = self.listed.rows.partition_point(|(seq, _)| *seq < first);
        let until = self.listed.rows.partition_point(|(seq, _)| *seq <= last);
        let rows = self.listed.rows.get(from..until).unwrap_or_default();
        let mut ranked: Vec<(f64, i64)> =
            rows.iter().map(|&(seq, bits)| (self.information_of_bits(bits), seq)).collect();
        best_of_all_times(&mut ranked, wanted);
        ranked.into_iter().map(|(_, seq)| seq).collect()
    }

    /// Upper bound of the share of the query that a row contains, from the index answers so far.
    pub(super) fn share_bound(&self, seq: i64) -> f64 {
        let asked: f64 = self.worth.iter().map(|(_, _, worth)| worth).sum();
        let named = self.listed.rows.binary_search_by_key(&seq, |row| row.0);
        let held = named.map_or(0.0, |place| self.information_of_bits(self.listed.rows[place].1));
        if asked > 0.0 { held / asked } else { 0.0 }
    }

    fn information_of_bits(&self, bits: u128) -> f64 {
        let of_term = |&(whole, parts, worth): &(u128, u128, f64)| match (bits & whole, bits & parts) {
            (0, 0) => 0.0,
            (0, _) => PART_CREDIT * worth,
            _ => worth,
        };
        self.worth.iter().map(of_term).sum()
    }

    /// Upper bound of the relevance for the best of these sentences.
    pub(super) fn relevance_bound_of_best<'a>(&'a self, sentences: &[WeighedTerms<'a>]) -> WordBound<'a> {
        let bit = |phrase: &Phrase| self.listed.bits.get(phrase).copied().unwrap_or(UNSEARCHED_PHRASE_BIT);
        let of_term = |&(term, information): &(&'a QueryTerm, f64)| BoundTerm {
            term,
            whole: bit(&term.phrase),
            parts: term.parts.iter().map(bit).fold(0, |bits, bit| bits | bit),
            information,
        };
        let sentences = sentences.iter().map(|sentence| sentence.0.iter().map(of_term).collect()).collect();
        WordBound { listed: &self.listed, sentences }
    }
}

impl WordBound<'_> {
    /// Upper bound of W of this row, computed without its text.
    pub(super) fn relevance_bound(&self, seq: i64) -> f64 {
        self.best_sentence(seq, |term, possible| {
            if term.whole & possible != 0 {
                1.0
            } else if term.parts & possible != 0 {
                PART_CREDIT
            } else {
                0.0
            }
        })
    }

    /// W of this row. Its text, as index terms, is only searched for the phrases found by the index.
    pub(super) fn relevance(&self, seq: i64, terms: &str) -> f64 {
        let text = OnceCell::new();
        self.best_sentence(seq, |term, possible| match (term.whole | term.parts) & possible {
            0 => 0.0,
            _ => occurrence_credit(text.get_or_init(|| IndexedText::new(terms)).occurrences(term.term)),
        })
    }

    /// The highest bound among the sentences. Each term counts by its information, if the row may contain its
    /// phrases.
    fn best_sentence(&self, seq: i64, credit: impl Fn(&BoundTerm<'_>, u128) -> f64) -> f64 {
        let possible = self.listed.possible_phrases(seq) | UNSEARCHED_PHRASE_BIT;
        let of_sentence = |terms: &Vec<BoundTerm<'_>>| {
            matched_share(terms.iter().map(|term| (term.information, credit(term, possible))))
        };
        self.sentences.iter().map(of_sentence).fold(0.0, f64::max)
    }
}

/// Looks up the phrases of the weighted terms and ranks the rows by the information that they match, at most
/// `wanted`. The terms come most important first; those beyond [`PHRASES_MAX`] are not looked up.
pub(super) async fn find_words<'a>(
    store: &dyn Store,
    scope: &Scope,
    corpus: Corpus,
    terms: impl Iterator<Item = (&'a QueryTerm, f64)> + Send,
    wanted: usize,
) -> Result<WordHits, StoreError> {
    let terms: Vec<(&QueryTerm, f64)> = terms.collect();
    let phrases = distinct_phrases(terms.iter().map(|(term, _)| *term));
    // Without a ranking only the frequencies are needed.
    let all_up_to = if wanted > 0 { rows_per_phrase(phrases.len()) } else { 0 };
    let (documents, hits) = look_up(store, scope, corpus, &phrases, (ROWS_PER_PHRASE, all_up_to)).await?;
    let hits: Vec<&PhraseHits> = hits.iter().collect();
    let statistics = count_statistics(&phrases, &hits, documents);
    let mut listed = ListedRows::new(&phrases, &hits);
    if wanted > 0 {
        complete(store, scope, corpus, &phrases, &hits, &mut listed).await?;
    }
    Ok(rank_rows(&terms, statistics, listed, wanted))
}

/// [`find_words`] for each of these lists of terms with equal weights; shared phrases are looked up once. For a
/// common word only the newest rows are considered.
pub(super) async fn find_words_of_each<'a, T>(
    store: &dyn Store,
    scope: &Scope,
    corpus: Corpus,
    texts: impl Iterator<Item = T> + Send,
    wanted: usize,
) -> Result<Vec<WordHits>, StoreError>
where
    T: Iterator<Item = &'a QueryTerm>,
{
    let texts: Vec<Vec<&QueryTerm>> = texts.map(Iterator::collect).collect();
    let of_each: Vec<Vec<Phrase>> =
        texts.iter().map(|terms| distinct_phrases(terms.iter().copied())).collect();
    let distinct: BTreeSet<&Phrase> = of_each.iter().flatten().collect();
    let distinct: Vec<Phrase> = distinct.into_iter().cloned().collect();
    let (documents, hits) = look_up(store, scope, corpus, &distinct, (ROWS_PER_PHRASE_OF_MANY, 0)).await?;
    let hits: HashMap<&Phrase, &PhraseHits> = distinct.iter().zip(&hits).collect();
    let of_text = |(phrases, terms): (&Vec<Phrase>, &Vec<&QueryTerm>)| {
        let hits: Vec<&PhraseHits> = phrases.iter().filter_map(|phrase| hits.get(phrase).copied()).collect();
        let terms: Vec<(&QueryTerm, f64)> = terms.iter().map(|term| (*term, 1.0)).collect();
        rank_rows(
            &terms,
            count_statistics(phrases, &hits, documents),
            ListedRows::new(phrases, &hits),
            wanted,
        )
    };
    Ok(of_each.iter().zip(&texts).map(of_text).collect())
}

/// Number of live rows, and the rows with each phrase. Many phrases are looked up in two halves at the same time.
async fn look_up(
    store: &dyn Store,
    scope: &Scope,
    corpus: Corpus,
    phrases: &[Phrase],
    (newest, all_up_to): (u32, u32),
) -> Result<(u64, Vec<PhraseHits>), StoreError> {
    if phrases.is_empty() {
        return Ok((0, Vec::new()));
    }
    let (first, second) = phrases.split_at(phrases.len().min(PHRASES_MAX / 4).max(phrases.len() / 2));
    let look_up = |phrases| store.phrase_rows(scope, corpus, phrases, newest, all_up_to);
    if second.is_empty() {
        let (size, hits) = look_up(first).await?;
        return Ok((size.documents, hits));
    }
    let ((size, mut hits), (_, others)) = try_join!(look_up(first), look_up(second))?;
    hits.extend(others);
    Ok((size.documents, hits))
}

/// Maximum rows of one of these phrases up to which all are fetched at once.
fn rows_per_phrase(phrases: usize) -> u32 {
    let of_one = u32::try_from(WHOLE_ROWS_AT_ONCE / phrases.max(1)).unwrap_or(u32::MAX);
    of_one.clamp(ROWS_PER_PHRASE, WHOLE_ROWS_MAX)
}

fn count_statistics(phrases: &[Phrase], hits: &[&PhraseHits], documents: u64) -> WordStatistics {
    let of_each = hits.iter().map(|hits| hits.document_frequency);
    WordStatistics { documents, frequencies: phrases.iter().cloned().zip(of_each).collect() }
}

/// Phrases that still have to be looked up, and the rows found so far.
#[derive(Default)]
struct PhraseSelections {
    wanted: Vec<RowSelection>,
    bits: Vec<u128>,
}

impl PhraseSelections {
    fn push(&mut self, bits: u128, selection: RowSelection) {
        self.wanted.push(selection);
        self.bits.push(bits);
    }

    /// Adds selections of rows with all of these phrases, from all parts of the past.
    fn push_parts(&mut self, bits: u128, all_of: &[Vec<Phrase>], newest: i64) {
        let length = newest / PARTS_OF_PAST + 1;
        for part in 0..PARTS_OF_PAST {
            let span = Some((part * length + 1, (part + 1) * length));
            self.push(bits, RowSelection { all_of: all_of.to_vec(), span, limit: ROWS_PER_PART });
        }
    }
}

/// Fetches rows that are not among the newest of their phrases: all rows of the rarer phrases, and those of the
/// common ones that can rank high.
async fn complete(
    store: &dyn Store,
    scope: &Scope,
    corpus: Corpus,
    phrases: &[Phrase],
    hits: &[&PhraseHits],
    listed: &mut ListedRows,
) -> Result<(), StoreError> {
    let mut cut: Vec<usize> = (0..phrases.len()).filter(|&place| !has_all_rows(hits[place])).collect();
    let Some(newest) = cut.iter().filter_map(|&place| hits[place].seqs.first().copied()).max() else {
        return Ok(());
    };
    cut.sort_by_key(|&place| hits[place].document_frequency);
    let mut selections = PhraseSelections::default();
    let mut room = u64::from(WHOLE_ROWS_MAX);
    let (mut rarer, mut common) = (0, Vec::new());
    for place in cut {
        let rows = hits[place].document_frequency;
        if common.is_empty() && rows <= room {
            room -= rows;
            rarer |= phrase_bit(place);
            let all_of = vec![vec![phrases[place].clone()]];
            selections.push(phrase_bit(place), RowSelection { all_of, span: None, limit: u32::MAX });
        } else {
            common.push(place);
        }
    }
    listed.whole |= rarer;
    let whole: Vec<Phrase> = (0..phrases.len())
        .filter(|&place| listed.whole & phrase_bit(place) != 0)
        .map(|place| phrases[place].clone())
        .collect();
    let mut settled = 0;
    for &place in common.iter().take(COMMON_PHRASES_MAX).filter(|_| !whole.is_empty()) {
        settled |= phrase_bit(place);
        let all_of = vec![vec![phrases[place].clone()], whole.clone()];
        selections.push(phrase_bit(place), RowSelection { all_of, span: None, limit: u32::MAX });
    }
    let paired = &common[..common.len().min(PAIRED_PHRASES_MAX)];
    for (at, &first) in paired.iter().enumerate() {
        selections.push_parts(phrase_bit(first), &[vec![phrases[first].clone()]], newest);
        for &second in &paired[at + 1..] {
            let both = [vec![phrases[first].clone()], vec![phrases[second].clone()]];
            selections.push_parts(phrase_bit(first) | phrase_bit(second), &both, newest);
        }
    }
    let rows = rows_holding(store, scope, corpus, &selections.wanted).await?;
    let named = rows.into_iter().zip(selections.bits);
    listed.add(named.flat_map(|(seqs, bits)| seqs.into_iter().map(move |seq| (seq, bits))));
    listed.settled = settled;
    listed.cut.retain(|(_, bit)| bit & rarer == 0);
    Ok(())
}

/// Reads many selections in two halves at the same time.
async fn rows_holding(
    store: &dyn Store,
    scope: &Scope,
    corpus: Corpus,
    wanted: &[RowSelection],
) -> Result<Vec<Vec<i64>>, StoreError> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    // The first selections return most rows, so they are distributed in turn.
    let every_second = |from: usize| wanted.iter().skip(from).step_by(2).cloned().collect::<Vec<_>>();
    let (even, odd) = (every_second(0), every_second(1));
    let (even, odd) =
        try_join!(store.rows_holding(scope, corpus, &even), store.rows_holding(scope, corpus, &odd))?;
    let (mut even, mut odd) = (even.into_iter(), odd.into_iter());
    Ok((0..wanted.len()).filter_map(|place| if place % 2 == 0 { even.next() } else { odd.next() }).collect())
}

/// Ranks the rows by the information of the terms that they contain; a part of a word counts half.
fn rank_rows(
    terms: &[(&QueryTerm, f64)],
    statistics: WordStatistics,
    listed: ListedRows,
    wanted: usize,
) -> WordHits {
    let bit = |phrase: &Phrase| listed.bits.get(phrase).copied().unwrap_or(0);
    let of_term = |&(term, weight): &(&QueryTerm, f64)| {
        let parts = term.parts.iter().map(bit).fold(0, |bits, bit| bits | bit);
        (bit(&term.phrase), parts, weight * statistics.phrase_information(&term.phrase))
    };
    let worth = terms.iter().filter(|(term, _)| statistics.is_counted(term)).map(of_term).collect();
    let mut hits = WordHits { statistics, seqs: Vec::new(), listed, worth };
    hits.seqs = hits.best_rows_between(i64::MIN, i64::MAX, wanted);
    hits
}

/// Keeps the best rows, in order. Of equal ones at the end, some are kept from all parts of the past, evenly.
fn best_of_all_times(ranked: &mut Vec<(f64, i64)>, wanted: usize) {
    ranked.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
    if ranked.len() <= wanted {
        return;
    }
    let Some(&(least, _)) = wanted.checked_sub(1).and_then(|last| ranked.get(last)) else {
        ranked.clear();
        return;
    };
    let from = ranked.partition_point(|(worth, _)| *worth > least);
    let until = ranked.partition_point(|(worth, _)| *worth >= least);
    let (room, equal) = (wanted - from, until - from);
    for place in 0..room {
        ranked[from + place] = ranked[from + place * equal / room];
    }
    ranked.truncate(wanted);
}

/// The terms' distinct phrases, in order.
fn distinct_phrases<'a>(terms: impl Iterator<Item = &'a QueryTerm>) -> Vec<Phrase> {
    let mut known = HashSet::new();
    let phrases = terms.flat_map(|term| std::iter::once(&term.phrase).chain(&term.parts));
    phrases.filter(|phrase| known.insert(*phrase)).take(PHRASES_MAX).cloned().collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::{index_terms, query_terms};

    #[test]
    fn equals_are_taken_from_all_of_the_past() {
        let mut ranked: Vec<(f64, i64)> =
            (1..=100).map(|seq| (if seq == 7 { 2.0 } else { 1.0 }, seq)).collect();
        best_of_all_times(&mut ranked, 4);
        assert_eq!(ranked, [(2.0, 7), (1.0, 100), (1.0, 67), (1.0, 34)]);
        best_of_all_times(&mut ranked, 9);
        assert_eq!(ranked.len(), 4);
        best_of_all_times(&mut ranked, 0);
        assert!(ranked.is_empty());
    }

    proptest! {
        #[test]
        fn reading_only_for_what_the_index_named_changes_nothing(
            texts in prop::collection::vec("[a-c]{1,2}( [a-c]{1,2}){0,6}", 1..8),
            query in "[a-c]{1,2}( [a-c]{1,2}){0,4}",
            kept in 1usize..8,
        ) {
            let terms = query_terms(&query);
            let asked = distinct_phrases(terms.iter());
            let numbered = || texts.iter().map(|text| index_terms(text)).zip(1i64..);
            let hits: Vec<PhraseHits> = asked
                .iter()
                .map(|phrase| {
                    let holds = |text: &String| IndexedText::new(text).count(phrase) > 0;
                    let seqs: Vec<i64> = numbered().filter(|(text, _)| holds(text)).map(|(_, seq)| seq).collect();
                    let newest = seqs.iter().rev().take(kept).copied().collect();
                    PhraseHits { document_frequency: seqs.len() as u64, seqs: newest }
                })
                .collect();
            let frequencies = asked.iter().cloned().zip(hits.iter().map(|hits| hits.document_frequency)).collect();
            let statistics = WordStatistics { documents: texts.len() as u64, frequencies };
            let listed = ListedRows::new(&asked, &Vec::from_iter(&hits));
            let words = WordHits { statistics, seqs: Vec::new(), listed, worth: Vec::new() };
            let sentences = [words.statistics.weigh_terms(&terms)];
            let bound = words.relevance_bound_of_best(&sentences);
            for (text, seq) in numbered() {
                let whole = sentences[0].relevance(&IndexedText::new(&text));
                prop_assert_eq!(bound.relevance(seq, &text), whole);
                prop_assert!(whole <= bound.relevance_bound(seq));
            }
        }
    }
}
