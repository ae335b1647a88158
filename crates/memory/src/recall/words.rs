//! Relevance by words: which share of the query's information a text holds.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap, HashSet};

use futures_util::try_join;

use crate::ports::{Corpus, Phrase, PhraseHits, Store, StoreError};
use crate::scope::Scope;
use crate::text::QueryTerm;

/// Flat prior of the document frequency: as if this many more texts without the phrase were known, so that in a memory
/// of ten sentences one more or less does not turn a word's worth over.
const PRIOR_DOCUMENTS: f64 = 50.0;
/// What one occurrence is worth of what endless repetition would be.
const SINGLE_OCCURRENCE: f64 = 0.9;
/// What a part of a long word is worth where the whole is missing.
const PART_CREDIT: f64 = 0.5;
/// Bends the share of matched information so that one of three equally informative words just clears the floor of 0.4
/// ((0.9/3)^0.75 = 0.405) and all of them, said once, are worth 0.92.
const SHARE_EXPONENT: f64 = 0.75;
/// Terms up to which a text is read through for each phrase.
const READ_THROUGH_MAX: usize = 48;
/// Phrases that are looked up for one query; a longer query is cut. Each has a bit of a number.
const PHRASES_MAX: usize = 96;
/// The bit of a phrase that was not looked up, which every row may hold.
const NOT_LOOKED_UP: u128 = 1 << 127;
/// Newest rows that are fetched per phrase, by number only.
const ROWS_PER_PHRASE: u32 = 500;
/// The same where many texts are looked for at once, and only what is nearest is wanted.
const ROWS_PER_PHRASE_OF_MANY: u32 = 100;

/// What the word index says about a query.
#[derive(Clone, Debug, Default)]
pub struct WordStatistics {
    /// Live rows of the scope.
    pub documents: u64,
    /// Rows that hold each phrase.
    pub frequencies: HashMap<Phrase, u64>,
}

impl WordStatistics {
    /// Information of a phrase: `ln(1 + (N + 50) / (df + 1))`.
    pub fn information(&self, phrase: &Phrase) -> f64 {
        let frequency = self.frequency(phrase) as f64;
        (1.0 + (self.documents as f64 + PRIOR_DOCUMENTS) / (frequency + 1.0)).ln()
    }

    fn frequency(&self, phrase: &Phrase) -> u64 {
        self.frequencies.get(phrase).copied().unwrap_or(0)
    }

    /// Whether a term counts: a guessed name does only where something holds it.
    pub fn counts(&self, term: &QueryTerm) -> bool {
        !term.guess || self.frequency(&term.phrase) > 0
    }

    /// W, 0 to 1: `(Σ information·credit / Σ information)^0.75` over the content terms, where a term's credit is
    /// `1 − 0.1/occurrences`, half of that where only a part of a long word is found, else 0. Grows with every match,
    /// saturates with repetition; 0 without content terms.
    pub fn relevance(&self, terms: &[QueryTerm], text: &IndexedText<'_>) -> f64 {
        self.weigh(terms).relevance(text)
    }

    /// The terms that count, with what each is worth: for comparing many texts.
    pub(super) fn weigh<'a>(&self, terms: &'a [QueryTerm]) -> WeighedTerms<'a> {
        let counting = terms.iter().filter(|term| self.counts(term));
        WeighedTerms(counting.map(|term| (term, self.information(&term.phrase))).collect())
    }
}

/// Content terms of a sentence with their information.
#[derive(Clone, Debug)]
pub(super) struct WeighedTerms<'a>(Vec<(&'a QueryTerm, f64)>);

impl WeighedTerms<'_> {
    /// W of a text; see [`WordStatistics::relevance`].
    pub(super) fn relevance(&self, text: &IndexedText<'_>) -> f64 {
        share(self.0.iter().map(|(term, information)| (*information, credit(text.occurrences(term)))))
    }
}

/// The share of what was asked that was matched, bent; of each term its information and its credit.
fn share(terms: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (mut matched, mut asked) = (0.0, 0.0);
    for (information, credit) in terms {
        asked += information;
        matched += information * credit;
    }
    if asked > 0.0 && matched > 0.0 { (matched / asked).powf(SHARE_EXPONENT) } else { 0.0 }
}

fn credit(found: Occurrences) -> f64 {
    let saturated = |count: usize| 1.0 - (1.0 - SINGLE_OCCURRENCE) / count as f64;
    match found {
        Occurrences::Whole(count) => saturated(count),
        Occurrences::Part(count) => PART_CREDIT * saturated(count),
        Occurrences::None => 0.0,
    }
}

/// How often a term is in a text. Counts are at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occurrences {
    /// The whole word.
    Whole(usize),
    /// Only a part of a long word.
    Part(usize),
    /// Nothing of it.
    None,
}

/// The index terms of a text, taken apart.
#[derive(Clone, Debug)]
pub struct IndexedText<'a> {
    terms: Vec<&'a str>,
    /// Places of the terms in their alphabetical order; empty for a short text, which is faster read through.
    order: Vec<usize>,
}

impl<'a> IndexedText<'a> {
    /// Takes apart what [`crate::text::index_terms`] gave.
    pub fn new(terms: &'a str) -> Self {
        let terms: Vec<&str> = terms.split(' ').filter(|term| !term.is_empty()).collect();
        let mut order = Vec::new();
        if terms.len() > READ_THROUGH_MAX {
            order.extend(0..terms.len());
            order.sort_unstable_by_key(|&place| terms[place]);
        }
        Self { terms, order }
    }

    /// Number of terms.
    pub fn len(&self) -> usize {
        self.terms.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Whether two texts have the same terms, whatever their order and number.
    pub fn same_terms(&self, other: &Self) -> bool {
        let distinct = |text: &Self| text.terms.iter().copied().collect::<BTreeSet<&str>>();
        distinct(self) == distinct(other)
    }

    /// How often a term is in the text.
    pub fn occurrences(&self, term: &QueryTerm) -> Occurrences {
        match self.count(&term.phrase) {
            0 => match term.parts.iter().map(|part| self.count(part)).max() {
                Some(count) if count > 0 => Occurrences::Part(count),
                _ => Occurrences::None,
            },
            count => Occurrences::Whole(count),
        }
    }

    fn count(&self, phrase: &Phrase) -> usize {
        let Some((first, rest)) = phrase.0.split_first() else { return 0 };
        let followed = |place: usize| {
            self.terms.get(place + 1..=place + rest.len()).is_some_and(|terms| terms.iter().eq(rest))
        };
        if self.order.is_empty() {
            let places = self.terms.iter().enumerate().filter(|(_, term)| *term == first);
            return places.filter(|(place, _)| followed(*place)).count();
        }
        let from = self.order.partition_point(|&place| self.terms[place] < first.as_str());
        let places = self.order[from..].iter().take_while(|&&place| self.terms[place] == first.as_str());
        places.filter(|&&place| followed(place)).count()
    }
}

/// Rows that hold words of the query.
#[derive(Clone, Debug, Default)]
pub(super) struct WordHits {
    pub(super) statistics: WordStatistics,
    /// Numbers of the rows that match the most information, best first, ties by the greater number.
    pub(super) seqs: Vec<i64>,
    listed: Listed,
}

/// Which rows the index has named for which phrase.
#[derive(Clone, Debug, Default)]
struct Listed {
    /// The bit of each phrase that was looked up.
    bits: HashMap<Phrase, u128>,
    /// Every row that was named, with the bits of its phrases, by number.
    rows: Vec<(i64, u128)>,
    /// Where only the newest rows were named: the oldest of them, with the phrase's bit.
    cut: Vec<(i64, u128)>,
}

impl Listed {
    fn new(phrases: &[Phrase], hits: &[&PhraseHits]) -> Self {
        let bit = |place: usize| 1u128 << place;
        let mut named: Vec<(i64, u128)> = Vec::with_capacity(hits.iter().map(|hits| hits.seqs.len()).sum());
        let mut cut = Vec::new();
        for (place, hits) in hits.iter().enumerate() {
            named.extend(hits.seqs.iter().map(|&seq| (seq, bit(place))));
            if hits.document_frequency > hits.seqs.len() as u64 {
                cut.push((hits.seqs.last().copied().unwrap_or(i64::MAX), bit(place)));
            }
        }
        named.sort_unstable();
        named.dedup_by(|next, row| {
            let same = next.0 == row.0;
            row.1 |= if same { next.1 } else { 0 };
            same
        });
        let bits = phrases.iter().cloned().enumerate().map(|(place, phrase)| (phrase, bit(place))).collect();
        Self { bits, rows: named, cut }
    }

    /// Bits of the phrases that a row may hold, for all that is known.
    fn possible(&self, seq: i64) -> u128 {
        let named = self.rows.binary_search_by_key(&seq, |row| row.0).map_or(0, |place| self.rows[place].1);
        self.cut.iter().filter(|(oldest, _)| seq < *oldest).fold(named, |bits, (_, bit)| bits | bit)
    }
}

/// What the index says of the rows' words before their texts are read.
pub(super) struct WordBound<'a> {
    listed: &'a Listed,
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
    /// A bound for the best of these sentences.
    pub(super) fn bound<'a>(&'a self, sentences: &[WeighedTerms<'a>]) -> WordBound<'a> {
        let bit = |phrase: &Phrase| self.listed.bits.get(phrase).copied().unwrap_or(NOT_LOOKED_UP);
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
    /// The most that W of this row can be, told without its text.
    pub(super) fn at_most(&self, seq: i64) -> f64 {
        self.best(seq, |term, possible| {
            if term.whole & possible != 0 {
                1.0
            } else if term.parts & possible != 0 {
                PART_CREDIT
            } else {
                0.0
            }
        })
    }

    /// W of this row: its text, as index terms, is read only for the phrases that the index named it for.
    pub(super) fn relevance(&self, seq: i64, terms: &str) -> f64 {
        let text = OnceCell::new();
        self.best(seq, |term, possible| match (term.whole | term.parts) & possible {
            0 => 0.0,
            _ => credit(text.get_or_init(|| IndexedText::new(terms)).occurrences(term.term)),
        })
    }

    /// The best sentence, each term being credited by what it is and which phrases the row may hold.
    fn best(&self, seq: i64, credit: impl Fn(&BoundTerm<'_>, u128) -> f64) -> f64 {
        let possible = self.listed.possible(seq) | NOT_LOOKED_UP;
        let of_sentence = |terms: &Vec<BoundTerm<'_>>| {
            share(terms.iter().map(|term| (term.information, credit(term, possible))))
        };
        self.sentences.iter().map(of_sentence).fold(0.0, f64::max)
    }
}

/// Looks up the phrases of the terms and ranks the rows by the information they match, at most `wanted`. The terms come
/// most important first: what is beyond [`PHRASES_MAX`] is not looked up.
pub(super) async fn find_words(
    store: &dyn Store,
    scope: &Scope,
    corpus: Corpus,
    terms: impl Iterator<Item = &QueryTerm> + Send,
    wanted: usize,
) -> Result<WordHits, StoreError> {
    let phrases = phrases(terms);
    let (documents, hits) = look_up(store, scope, corpus, &phrases, ROWS_PER_PHRASE).await?;
    Ok(ranked(&phrases, &Vec::from_iter(&hits), documents, wanted))
}

/// [`find_words`] for each of these lists of terms; what several of them hold is looked up once.
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
    let texts: Vec<Vec<Phrase>> = texts.map(phrases).collect();
    let distinct: BTreeSet<&Phrase> = texts.iter().flatten().collect();
    let distinct: Vec<Phrase> = distinct.into_iter().cloned().collect();
    let (documents, hits) = look_up(store, scope, corpus, &distinct, ROWS_PER_PHRASE_OF_MANY).await?;
    let hits: HashMap<&Phrase, &PhraseHits> = distinct.iter().zip(&hits).collect();
    let of_text = |phrases: &Vec<Phrase>| {
        let hits: Vec<&PhraseHits> = phrases.iter().filter_map(|phrase| hits.get(phrase).copied()).collect();
        ranked(phrases, &hits, documents, wanted)
    };
    Ok(texts.iter().map(of_text).collect())
}

/// How many live rows there are, and where each of the phrases stands. Many are looked up in two halves, side by side.
async fn look_up(
    store: &dyn Store,
    scope: &Scope,
    corpus: Corpus,
    phrases: &[Phrase],
    rows: u32,
) -> Result<(u64, Vec<PhraseHits>), StoreError> {
    if phrases.is_empty() {
        return Ok((0, Vec::new()));
    }
    let (first, second) = phrases.split_at(phrases.len().min(PHRASES_MAX / 4).max(phrases.len() / 2));
    let look_up = |phrases| store.phrase_hits(scope, corpus, phrases, rows);
    if second.is_empty() {
        let (size, hits) = look_up(first).await?;
        return Ok((size.documents, hits));
    }
    let ((size, mut hits), (_, others)) = try_join!(look_up(first), look_up(second))?;
    hits.extend(others);
    Ok((size.documents, hits))
}

/// Ranks the rows in which the phrases stand.
fn ranked(phrases: &[Phrase], hits: &[&PhraseHits], documents: u64, wanted: usize) -> WordHits {
    let of_each = hits.iter().map(|hits| hits.document_frequency);
    let frequencies = phrases.iter().cloned().zip(of_each).collect::<HashMap<_, _>>();
    let statistics = WordStatistics { documents, frequencies };
    let worth: Vec<f64> = phrases.iter().map(|phrase| statistics.information(phrase)).collect();
    let listed = Listed::new(phrases, hits);
    let information = |mut bits: u128| {
        let mut sum = 0.0;
        while bits != 0 {
            sum += worth[bits.trailing_zeros() as usize];
            bits &= bits - 1;
        }
        sum
    };
    let mut ranked: Vec<(f64, i64)> =
        listed.rows.iter().map(|&(seq, bits)| (information(bits), seq)).collect();
    let best_first = |a: &(f64, i64), b: &(f64, i64)| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1));
    if ranked.len() > wanted && wanted > 0 {
        ranked.select_nth_unstable_by(wanted - 1, best_first);
    }
    ranked.truncate(wanted);
    ranked.sort_unstable_by(best_first);
    WordHits { statistics, seqs: ranked.into_iter().map(|(_, seq)| seq).collect(), listed }
}

/// The terms' distinct phrases, in order.
fn phrases<'a>(terms: impl Iterator<Item = &'a QueryTerm>) -> Vec<Phrase> {
    let mut known = HashSet::new();
    let phrases = terms.flat_map(|term| std::iter::once(&term.phrase).chain(&term.parts));
    phrases.filter(|phrase| known.insert(*phrase)).take(PHRASES_MAX).cloned().collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::{index_terms, query_terms};

    fn statistics(documents: u64, frequencies: &[(&str, u64)]) -> WordStatistics {
        let phrase = |text: &str| Phrase(index_terms(text).split(' ').map(str::to_owned).collect());
        let frequencies = frequencies.iter().map(|&(text, frequency)| (phrase(text), frequency)).collect();
        WordStatistics { documents, frequencies }
    }

    fn relevance(statistics: &WordStatistics, query: &str, text: &str) -> f64 {
        statistics.relevance(&query_terms(query), &IndexedText::new(&index_terms(text)))
    }

    #[test]
    fn the_cat_is_found_by_its_character() {
        let statistics = statistics(11, &[("猫", 1)]);
        let found = relevance(&statistics, "你还记得我的猫吗", "用户养了一只白猫,叫小黑");
        assert!((found - 0.9f64.powf(0.75)).abs() < 1e-9, "{found}");
    }

    #[test]
    fn function_words_alone_are_worth_nothing() {
        let statistics = statistics(11, &[]);
        assert_eq!(relevance(&statistics, "你还记得我的猫吗", "你还记得我的生日吗"), 0.0);
        assert_eq!(relevance(&statistics, "do you remember my cat", "do you remember my birthday"), 0.0);
        assert_eq!(relevance(&statistics, "嗯", "嗯"), 0.0);
    }

    #[test]
    fn one_of_three_equal_words_just_clears_the_floor() {
        let statistics = statistics(100, &[]);
        let found = relevance(&statistics, "cat garden violin", "the cat sleeps");
        assert!((found - 0.3f64.powf(0.75)).abs() < 1e-9, "{found}");
        assert!(found > 0.4);
        assert!(relevance(&statistics, "cat garden violin train", "the cat sleeps") < 0.4);
    }

    #[test]
    fn rare_words_weigh_more() {
        let statistics = statistics(1_000, &[("cat", 1), ("home", 400)]);
        assert!(relevance(&statistics, "cat home", "a cat") > relevance(&statistics, "cat home", "a home"));
    }

    #[test]
    fn a_part_of_a_long_word_is_worth_half() {
        let statistics = statistics(100, &[]);
        let whole = relevance(&statistics, "巧克力", "她送了巧克力");
        let part = relevance(&statistics, "巧克力", "克力架饼干");
        assert!((whole - 0.9f64.powf(0.75)).abs() < 1e-9);
        assert!((part - 0.45f64.powf(0.75)).abs() < 1e-9);
    }

    #[test]
    fn a_guessed_name_counts_only_where_it_is_known() {
        let held = statistics(100, &[("李雷", 1), ("李", 1), ("雷", 2)]);
        let unknown = statistics(100, &[("雷", 1)]);
        assert!(relevance(&held, "李雷", "李雷来了") > 0.9);
        assert!(relevance(&held, "李雷", "打雷下雨") < relevance(&unknown, "李雷", "打雷下雨"));
    }

    proptest! {
        #[test]
        fn more_matches_never_count_less(words in prop::collection::vec("[a-e]{3}", 1..6), cut in 0usize..6) {
            let statistics = statistics(20, &[("aaa", 3), ("bbb", 9)]);
            let query = words.join(" ");
            let part = words[..cut.min(words.len())].join(" ");
            let less = relevance(&statistics, &query, &part);
            let more = relevance(&statistics, &query, &query);
            prop_assert!(less <= more && (0.9..=1.0).contains(&more), "{less} {more}");
            let twice = relevance(&statistics, &query, &format!("{query} {query}"));
            prop_assert!(twice >= more, "{twice} {more}");
        }

        #[test]
        fn reading_only_for_what_the_index_named_changes_nothing(
            texts in prop::collection::vec("[a-c]{1,2}( [a-c]{1,2}){0,6}", 1..8),
            query in "[a-c]{1,2}( [a-c]{1,2}){0,4}",
            kept in 1usize..8,
        ) {
            let terms = query_terms(&query);
            let asked = phrases(terms.iter());
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
            let words = WordHits { statistics, seqs: Vec::new(), listed: Listed::new(&asked, &Vec::from_iter(&hits)) };
            let sentences = [words.statistics.weigh(&terms)];
            let bound = words.bound(&sentences);
            for (text, seq) in numbered() {
                let whole = sentences[0].relevance(&IndexedText::new(&text));
                prop_assert_eq!(bound.relevance(seq, &text), whole);
                prop_assert!(whole <= bound.at_most(seq));
            }
        }
    }
}
