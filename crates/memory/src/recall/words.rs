//! Relevance by words: the share of the query's information that a text contains.

use std::collections::{BTreeSet, HashMap};

use crate::ports::Phrase;
use crate::text::QueryTerm;

/// Prior of the document frequency: this many additional texts without the phrase are assumed, so that in a memory of
/// ten sentences one more or less does not change a word's information much.
const PRIOR_DOCUMENTS: f64 = 50.0;
/// Credit of a single occurrence, relative to any number of repetitions. A memory is a sentence, in which repetition
/// means little.
const SINGLE_OCCURRENCE: f64 = 0.9;
/// Credit of a part of a long word if the whole word is missing. It is the same for messages.
pub(super) const PART_CREDIT: f64 = 0.5;
/// Exponent of the share of matched information: one of three equally informative words just reaches the minimum of
/// 0.4 ((0.9/3)^0.75 = 0.405), and all of them, each once, give 0.92.
const SHARE_EXPONENT: f64 = 0.75;
/// Maximum terms of a text that is scanned for each phrase. For more, building an index of the terms is faster.
const READ_THROUGH_MAX: usize = 48;

/// Frequencies of a query's terms, from the word index.
#[derive(Clone, Debug, Default)]
pub struct WordStatistics {
    /// Number of live rows in the scope.
    pub documents: u64,
    /// Number of rows that contain each phrase.
    pub frequencies: HashMap<Phrase, u64>,
}

impl WordStatistics {
    /// Information of a phrase: `ln(1 + (N + 50) / (df + 1))`.
    pub fn phrase_information(&self, phrase: &Phrase) -> f64 {
        let frequency = self.frequency(phrase) as f64;
        (1.0 + (self.documents as f64 + PRIOR_DOCUMENTS) / (frequency + 1.0)).ln()
    }

    fn frequency(&self, phrase: &Phrase) -> u64 {
        self.frequencies.get(phrase).copied().unwrap_or(0)
    }

    /// True if a term counts: a guessed name counts only if a row contains it.
    pub fn is_counted(&self, term: &QueryTerm) -> bool {
        !term.guess || self.frequency(&term.phrase) > 0
    }

    /// W, 0 to 1: `(Σ information·credit / Σ information)^0.75` over the content terms, where a term's credit is `1 −
    /// 0.1/occurrences`, half of that if only a part of a long word is found, else 0. It grows with every match and
    /// saturates with repetition; 0 without content terms.
    pub fn relevance(&self, terms: &[QueryTerm], text: &IndexedText<'_>) -> f64 {
        self.weigh_terms(terms).relevance(text)
    }

    /// The terms that count, with their information, for comparing many texts.
    pub(super) fn weigh_terms<'a>(&self, terms: &'a [QueryTerm]) -> WeighedTerms<'a> {
        let counting = terms.iter().filter(|term| self.is_counted(term));
        WeighedTerms(counting.map(|term| (term, self.phrase_information(&term.phrase))).collect())
    }
}

/// Content terms of a sentence with their information.
#[derive(Clone, Debug)]
pub(super) struct WeighedTerms<'a>(pub(super) Vec<(&'a QueryTerm, f64)>);

impl WeighedTerms<'_> {
    /// The word score W of a text; see [`WordStatistics::relevance`].
    pub(super) fn relevance(&self, text: &IndexedText<'_>) -> f64 {
        matched_share(
            self.0
                .iter()
                .map(|(term, information)| (*information, occurrence_credit(text.occurrences(term)))),
        )
    }

    /// The phrases of the terms, each once.
    pub(super) fn phrases(&self) -> Vec<Phrase> {
        let all = self.0.iter().flat_map(|(term, _)| std::iter::once(&term.phrase).chain(&term.parts));
        all.collect::<BTreeSet<&Phrase>>().into_iter().cloned().collect()
    }

    /// Prepares the computation of W from counts of these phrases rather than from a text.
    pub(super) fn relevance_from_counts(&self, phrases: &[Phrase]) -> CountedTerms {
        let place = |phrase: &Phrase| phrases.iter().position(|one| one == phrase);
        let of_term = |(term, information): &(&QueryTerm, f64)| CountedTerm {
            whole: place(&term.phrase),
            parts: term.parts.iter().filter_map(place).collect(),
            information: *information,
        };
        CountedTerms(self.0.iter().map(of_term).collect())
    }
}

/// The content terms of a query with the number of rows that contain them.
pub(super) struct CountedTerms(Vec<CountedTerm>);

/// Indexes of a term's phrases among the counts, and its information.
struct CountedTerm {
    whole: Option<usize>,
    parts: Vec<usize>,
    information: f64,
}

impl CountedTerms {
    /// W of a text with these counts of the phrases.
    pub(super) fn relevance(&self, counts: &[usize]) -> f64 {
        let count = |place: &usize| counts.get(*place).copied().unwrap_or_default();
        let of_term = |term: &CountedTerm| {
            let whole = term.whole.as_ref().map_or(0, count);
            (
                term.information,
                occurrence_credit(Occurrences::from_counts(whole, term.parts.iter().map(count))),
            )
        };
        matched_share(self.0.iter().map(of_term))
    }
}

/// Share of the question that a row matches, from 0 to 1: matched information divided by all information, to the
/// power of [`SHARE_EXPONENT`]. Each term has its information and its credit.
pub(super) fn matched_share(terms: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (mut matched, mut asked) = (0.0, 0.0);
    for (information, credit) in terms {
        asked += information;
        matched += information * credit;
    }
    if asked > 0.0 && matched > 0.0 { (matched / asked).powf(SHARE_EXPONENT) } else { 0.0 }
}

pub(super) fn occurrence_credit(found: Occurrences) -> f64 {
    let saturated = |count: usize| 1.0 - (1.0 - SINGLE_OCCURRENCE) / count as f64;
    match found {
        Occurrences::Whole(count) => saturated(count),
        Occurrences::Part(count) => PART_CREDIT * saturated(count),
        Occurrences::None => 0.0,
    }
}

/// Occurrences of a term in a text: at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occurrences {
    Whole(usize),
    /// The term occurs only as a part of a long word.
    Part(usize),
    None,
}

impl Occurrences {
    fn from_counts(whole: usize, parts: impl Iterator<Item = usize>) -> Self {
        match whole {
            0 => match parts.max() {
                Some(count) if count > 0 => Self::Part(count),
                _ => Self::None,
            },
            count => Self::Whole(count),
        }
    }
}

/// The index terms of a text, split.
#[derive(Clone, Debug)]
pub struct IndexedText<'a> {
    terms: Vec<&'a str>,
    /// Indexes of the terms in alphabetical order; empty for a short text, which is scanned faster.
    order: Vec<usize>,
}

impl<'a> IndexedText<'a> {
    /// Splits the result of [`crate::text::index_terms`].
    pub fn new(terms: &'a str) -> Self {
        let terms: Vec<&str> = terms.split(' ').filter(|term| !term.is_empty()).collect();
        let mut order = Vec::new();
        if terms.len() > READ_THROUGH_MAX {
            order.extend(0..terms.len());
            order.sort_unstable_by_key(|&place| terms[place]);
        }
        Self { terms, order }
    }

    pub fn len(&self) -> usize {
        self.terms.len()
    }

    /// True if the text has no terms.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// True if two texts have the same terms, ignoring order and number.
    pub fn has_same_terms(&self, other: &Self) -> bool {
        let distinct = |text: &Self| text.terms.iter().copied().collect::<BTreeSet<&str>>();
        distinct(self) == distinct(other)
    }

    pub fn occurrences(&self, term: &QueryTerm) -> Occurrences {
        Occurrences::from_counts(self.count(&term.phrase), term.parts.iter().map(|part| self.count(part)))
    }

    pub(super) fn count(&self, phrase: &Phrase) -> usize {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ports::PhraseCounter;
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
        fn phrases_are_counted_in_the_text_as_in_its_parts(
            text in "[ab猫]{1,2}( [ab猫]{1,2}){0,9}",
            phrase in "[ab猫]{1,2}( [ab猫]{1,2}){0,2}",
        ) {
            let phrase = Phrase(phrase.split(' ').map(str::to_owned).collect());
            prop_assert_eq!(PhraseCounter::new(&phrase).count(&text), IndexedText::new(&text).count(&phrase));
        }

        #[test]
        fn relevance_by_counts_is_that_of_the_text(text in "[a-c猫]{1,3}( [a-c猫]{1,3}){0,6}", query in "[a-c猫]{1,3}( [a-c猫]{1,3}){0,4}") {
            let (statistics, terms) = (statistics(20, &[("a", 3), ("b", 9)]), query_terms(&query));
            let (weighed, indexed) = (statistics.weigh_terms(&terms), index_terms(&text));
            let phrases = weighed.phrases();
            let counts: Vec<usize> = phrases.iter().map(|phrase| PhraseCounter::new(phrase).count(&indexed)).collect();
            prop_assert_eq!(weighed.relevance_from_counts(&phrases).relevance(&counts), weighed.relevance(&IndexedText::new(&indexed)));
        }

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
    }
}
