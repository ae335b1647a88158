//! Index terms of a text, content terms of a question.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use std::ops::Range;

use super::function_words::{is_function_compound, is_function_word};
use super::lexicon::names as lexicon;
use super::names::{NAME_WORDS_MAX, Names};
use super::segment::{Piece, dictionary_words, fold, is_han, is_hangul, split_letters, split_words};
use super::stem::Stems;
use super::variants::simplify;

/// Index terms that must be consecutive. A word is a phrase of one term, 小黑 of two.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Phrase(pub Vec<String>);

/// Maximum dictionary segments of one function word (怎么样 is two, 还记不记得 four).
const FUNCTION_SEGMENTS_MAX: usize = 4;
/// Particles attached to Korean words.
const KOREAN_PARTICLES: &str = "은는이가을를에의도와과로";
/// Minimum length of a Hangul word whose last syllable may be a particle: shorter ones (가을) are more often words.
const PARTICLE_WORD_LENGTH_MIN: usize = 3;

/// A part of a query: words that must be adjacent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryTerm {
    /// The whole word in the form of the index.
    pub phrase: Phrase,
    /// Parts of a long word or of a name, or other stems of a word whose language is uncertain. A row without the
    /// whole word gets partial credit for each of them.
    pub parts: Vec<Phrase>,
    /// The folded word, for people.
    pub surface: String,
    /// True for a guess (adjacent characters that may be a name), which counts only if a row contains it.
    pub guess: bool,
}

/// The index terms of a text, in text order, separated by single spaces. Terms have letters, digits and combining
/// marks only. Words are folded and stemmed in the language of the text; a word with inner dots or apostrophes
/// becomes its parts in order, a hyphenated one also the joined form; scripts without spaces become single letters,
/// with traditional Chinese ones simplified.
pub fn index_terms(text: &str) -> String {
    let folded = fold(text);
    let pieces = split_words(&folded);
    let stems = Stems::from_pieces(&pieces);
    let mut terms: Vec<String> = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Word(word) => {
                terms.extend(word_parts(word).iter().map(|part| stems.stem(part)));
                terms.extend(hyphenated_before(&pieces, at).map(|joined| stems.stem(&joined)));
            }
            Piece::Unspaced(run) => {
                terms.extend(split_letters(&simplify(run)).into_iter().map(str::to_owned))
            }
            Piece::Hyphen => {}
        }
    }
    terms.join(" ")
}

/// The content terms of a question, in text order, each once. Function words, particles, question words, greetings
/// and "remember" are left out, unless a capital shows that they are a name. A name of several words is one term.
pub fn query_terms(text: &str) -> Vec<QueryTerm> {
    let folded = fold(text);
    let pieces = split_words(&folded);
    let stems = Stems::from_pieces(&pieces);
    let names = names_in(text, stems);
    let mut terms = DistinctTerms::default();
    let mut at = 0;
    while at < pieces.len() {
        if let Some(length) = whole_name(&pieces[at..], &names) {
            terms.push(name_query(&pieces[at..at + length], stems));
            at += length;
            continue;
        }
        match pieces[at] {
            Piece::Word(word) => {
                word_query(word, stems, &names).into_iter().for_each(|term| terms.push(term))
            }
            Piece::Unspaced(run) => query_terms_of_run(run).into_iter().for_each(|term| terms.push(term)),
            Piece::Hyphen => {}
        }
        at += 1;
    }
    terms.in_order
}

fn names_in(text: &str, stems: Stems) -> Names {
    if stems.nouns_are_capitalised() { Names::default() } else { Names::from_text(text) }
}

/// Maximum terms that are scanned for repetitions; for more a set is faster, although it copies each phrase.
const SCANNED_TERMS_MAX: usize = 32;

/// Query terms in text order, each phrase once.
#[derive(Default)]
struct DistinctTerms {
    in_order: Vec<QueryTerm>,
    /// Used from [`SCANNED_TERMS_MAX`] terms on.
    phrases: HashSet<Phrase>,
}

impl DistinctTerms {
    fn push(&mut self, term: QueryTerm) {
        if self.in_order.len() == SCANNED_TERMS_MAX {
            self.phrases.extend(self.in_order.iter().map(|known| known.phrase.clone()));
        }
        let is_new = match self.in_order.len() < SCANNED_TERMS_MAX {
            true => self.in_order.iter().all(|known| known.phrase != term.phrase),
            false => self.phrases.insert(term.phrase.clone()),
        };
        if is_new {
            self.in_order.push(term);
        }
    }
}

/// Number of parts of the name of several words that begins here.
fn whole_name(pieces: &[Piece<'_>], names: &Names) -> Option<usize> {
    if !names.has_names_of_several_words() {
        return None;
    }
    let words = pieces.iter().take(NAME_WORDS_MAX).map_while(|piece| match piece {
        Piece::Word(word) => Some(strip_punctuation(word)),
        _ => None,
    });
    let words: Vec<&str> = words.collect();
    (2..=words.len()).rev().find(|&length| names.are_name(&words[..length]))
}

fn strip_punctuation(word: &str) -> &str {
    word.strip_suffix("'s").unwrap_or(word)
}

/// The query for a name of several words, which counts most where it occurs as a whole.
fn name_query(pieces: &[Piece<'_>], stems: Stems) -> QueryTerm {
    let words =
        pieces.iter().filter_map(|piece| if let Piece::Word(word) = piece { Some(*word) } else { None });
    let surface = words.clone().collect::<Vec<_>>().join(" ");
    let words: Vec<String> = words.flat_map(word_parts).collect();
    let telling = words.iter().filter(|word| !stems.is_function_word(word));
    let parts = telling.map(|word| Phrase(vec![stems.stem(word)])).collect();
    let phrase = Phrase(words.iter().map(|word| stems.stem(word)).collect());
    QueryTerm { phrase, parts, surface, guess: false }
}

/// The distinct content terms of a text. In scripts without spaces each character of a content word counts as one;
/// greetings and function words do not count.
pub fn content_terms(text: &str) -> BTreeSet<String> {
    query_terms(text).into_iter().flat_map(|term| term.phrase.0).collect()
}

/// The content words of a text, as byte ranges in text order. Consecutive letters of an unspaced script with
/// combining marks, which folding joins with their letters, are one range.
pub fn content_word_ranges(text: &str) -> Vec<Range<usize>> {
    let folded = fold(text);
    let stems = Stems::from_pieces(&split_words(&folded));
    let names = names_in(text, stems);
    let mut ranges = Vec::new();
    let mut end = 0;
    for piece in split_words(text) {
        let (Piece::Word(piece_text) | Piece::Unspaced(piece_text)) = piece else { continue };
        let Some(before) = text[end..].find(piece_text) else { continue };
        let start = end + before;
        end = start + piece_text.len();
        let read = fold(piece_text);
        if matches!(piece, Piece::Word(_)) {
            ranges.extend(word_query(&read, stems, &names).map(|_| start..end));
            continue;
        }
        let read = simplify_for_dictionary(&read);
        let words = content_words(&read);
        if words.is_empty() {
            continue;
        }
        if read.chars().count() != piece_text.chars().count() {
            ranges.push(start..end);
            continue;
        }
        let borders: Vec<usize> = piece_text.char_indices().map(|(at, _)| start + at).chain([end]).collect();
        let border = |at: usize| borders[read[..at].chars().count()];
        ranges.extend(words.iter().map(|word| border(word.start)..border(word.end)));
    }
    ranges
}

/// The joined form of two hyphenated words (e-mail, email), returned at the second one.
fn hyphenated_before(pieces: &[Piece<'_>], at: usize) -> Option<String> {
    let before = at.checked_sub(2)?;
    match pieces.get(before..=at)? {
        [Piece::Word(first), Piece::Hyphen, Piece::Word(second)] => {
            let alphabetic = |word: &str| word.chars().all(char::is_alphabetic);
            (alphabetic(first) && alphabetic(second)).then(|| format!("{first}{second}"))
        }
        _ => None,
    }
}

/// The parts of a Unicode word: split at dots and the like; a possessive or contracted ending is dropped, another
/// apostrophe removed (don't → dont, mom's → mom, o'brien → obrien).
fn word_parts(word: &str) -> Vec<String> {
    let kept = |part: &str| -> String { part.chars().filter(|&c| c != '\'').collect() };
    let parts = word.split(|c: char| c != '\'' && !is_term_character(c)).map(|part| {
        let ending = part
            .rfind('\'')
            .filter(|&at| at > 0 && matches!(&part[at..], "'s" | "'ll" | "'re" | "'ve" | "'d" | "'m"));
        kept(&part[..ending.unwrap_or(part.len())])
    });
    parts.filter(|part| part.chars().any(char::is_alphanumeric)).collect()
}

fn is_term_character(character: char) -> bool {
    character.is_alphanumeric() || unicode_normalization::char::is_combining_mark(character)
}

fn word_query(word: &str, stems: Stems, names: &Names) -> Option<QueryTerm> {
    // Most words of a question end here, before anything is allocated for them.
    if is_function_word(word) && !names.is_name(word) {
        return None;
    }
    let parts = word_parts(word);
    if parts.iter().all(|part| stems.is_function_word(part)) && !names.is_name(strip_punctuation(word)) {
        return None;
    }
    let others = match parts.as_slice() {
        [part] => stems.other_stems(part).into_iter().map(|stem| Phrase(vec![stem])).collect(),
        _ => Vec::new(),
    };
    let phrase = Phrase(parts.iter().map(|part| stems.stem(part)).collect());
    Some(QueryTerm { phrase, parts: others, surface: word.to_owned(), guess: false })
}

/// An unspaced part in the script that the dictionary has; Japanese has its own forms.
fn simplify_for_dictionary(run: &str) -> Cow<'_, str> {
    let is_japanese = run.chars().any(|letter| matches!(letter, '\u{3041}'..='\u{30ff}'));
    if is_japanese { Cow::Borrowed(run) } else { simplify(run) }
}

fn query_terms_of_run(run: &str) -> Vec<QueryTerm> {
    let run = simplify_for_dictionary(run);
    let run = run.as_ref();
    let words = content_words(run);
    let mut terms = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let word = &run[words[at].clone()];
        let next =
            words.get(at + 1).filter(|next| next.start == words[at].end && is_letter(&run[(*next).clone()]));
        match next {
            Some(next) if lexicon::NAME_PREFIXES.contains(word) => {
                terms.push(unspaced_term(&run[words[at].start..next.end], false));
                at += 1;
            }
            Some(next) if is_letter(word) => {
                terms.push(unspaced_term(word, false));
                terms.push(unspaced_term(&run[words[at].start..next.end], true));
            }
            _ => terms.push(unspaced_term(word, false)),
        }
        at += 1;
    }
    terms
}

/// Pairs of adjacent characters across the boundaries of a question's Chinese words, each once. The dictionary may
/// split a question in another way than a memory; a pair counts only if a row contains it.
pub fn border_terms(text: &str) -> Vec<QueryTerm> {
    let folded = fold(text);
    let mut terms = DistinctTerms::default();
    for piece in split_words(&folded) {
        let Piece::Unspaced(run) = piece else { continue };
        if !run.chars().all(is_han) {
            continue;
        }
        let run = simplify(run);
        for pair in content_words(&run).windows(2).filter(|pair| pair[0].end == pair[1].start) {
            let last = run[pair[0].clone()].char_indices().next_back().map_or(0, |(at, _)| at);
            let first = run[pair[1].clone()].chars().next().map_or(0, char::len_utf8);
            terms.push(unspaced_term(&run[pair[0].start + last..pair[1].start + first], true));
        }
    }
    terms.in_order
}

/// The dictionary words of an unspaced part without its function words, as byte ranges.
fn content_words(run: &str) -> Vec<Range<usize>> {
    let segments = dictionary_words(run);
    let mut words = Vec::new();
    let mut at = 0;
    while at < segments.len() {
        let longest = segments.len().min(at + FUNCTION_SEGMENTS_MAX);
        let function_end = (at + 1..=longest)
            .rev()
            .find(|&end| is_function_word(&run[segments[at].start..segments[end - 1].end]));
        match function_end {
            Some(end) => at = end,
            None => {
                let word = without_verb_to_call(run, without_aspect(run, segments[at].clone()));
                if !is_function_compound(&run[word.clone()]) {
                    words.push(word);
                }
                at += 1;
            }
        }
    }
    words
}

/// The segment without the 了 or 过 of a verb: the dictionary has 养了 as a word, but not 养着.
fn without_aspect(run: &str, segment: Range<usize>) -> Range<usize> {
    let word = &run[segment.clone()];
    let verb = word.strip_suffix('了').or_else(|| {
        word.strip_suffix('过')
            .filter(|verb| verb.chars().count() == 1 && !lexicon::NOT_BEFORE_PAST.contains(verb))
    });
    match verb {
        Some(verb) if !verb.is_empty() => segment.start..segment.start + verb.len(),
        _ => segment,
    }
}

/// The segment without 叫: the dictionary has 猫叫 of 我的猫叫什么 as a word, but the question is about the cat.
fn without_verb_to_call(run: &str, segment: Range<usize>) -> Range<usize> {
    match run[segment.clone()].strip_suffix('叫') {
        Some(called) if !called.is_empty() && !lexicon::CALLS.contains(called) => {
            segment.start..segment.start + called.len()
        }
        _ => segment,
    }
}

fn unspaced_term(word: &str, guess: bool) -> QueryTerm {
    let bare = simplify(without_particle(word));
    let letters = split_letters(&bare);
    let phrase = |letters: &[&str]| Phrase(letters.iter().map(|&letter| letter.to_owned()).collect());
    let parts = if letters.len() > 2 { letters.windows(2).map(phrase).collect() } else { Vec::new() };
    QueryTerm { phrase: phrase(&letters), parts, surface: word.to_owned(), guess }
}

fn without_particle(word: &str) -> &str {
    let long = word.chars().all(is_hangul) && word.chars().count() >= PARTICLE_WORD_LENGTH_MIN;
    let last = word.char_indices().next_back().filter(|&(_, last)| long && KOREAN_PARTICLES.contains(last));
    last.map_or(word, |(at, _)| &word[..at])
}

fn is_letter(word: &str) -> bool {
    split_letters(word).len() == 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn surfaces(text: &str) -> Vec<String> {
        query_terms(text).into_iter().map(|term| term.surface).collect()
    }

    #[test]
    fn repeated_terms_are_dropped_however_many_there_are() {
        for count in [1, SCANNED_TERMS_MAX - 1, SCANNED_TERMS_MAX, SCANNED_TERMS_MAX + 1, 200] {
            let words: Vec<String> = (0..count).map(|number| format!("zx{number}")).collect();
            let thrice = [&words[..], &words[..], &words[..]].concat().join(" ");
            assert_eq!(surfaces(&thrice), words, "{count}");
        }
    }

    #[test]
    fn english_words_are_folded_and_stemmed() {
        assert_eq!(index_terms("My CATS were running"), "my cat were run");
        assert_eq!(index_terms("mom's café, don't"), "mom café dont");
        assert_eq!(index_terms("O’Brien's node.js at 3.14"), "obrien node js at 3 14");
        assert_eq!(index_terms("an e-mail"), "an e mail email");
        assert_eq!(index_terms("\"quoted\" `x` #tag"), "quot x tag");
    }

    #[test]
    fn unspaced_scripts_are_single_letters() {
        assert_eq!(index_terms("我叫Ｌｉ,猫ﾈｺ"), "我 叫 li 猫 ネ コ");
        assert_eq!(index_terms("고양이"), "고 양 이");
    }

    #[test]
    fn function_words_are_no_content_terms() {
        assert_eq!(surfaces("你还记得我的猫吗"), ["猫"]);
        assert_eq!(surfaces("Do you remember my cat?"), ["cat"]);
        assert_eq!(surfaces("小黑怎么样"), ["小黑"]);
        assert_eq!(surfaces("我的猫叫什么名字？"), ["猫", "名字"]);
        assert_eq!(surfaces("谁在尖叫"), ["尖叫"]);
        assert_eq!(surfaces("猫の名前は何ですか"), ["猫", "名前"]);
        for nothing in
            ["嗯", "你好", "ok", "你还记得吗", "What did I tell you?", "还记不记得", "早上好", "🙂", ""]
        {
            assert!(surfaces(nothing).is_empty(), "{nothing}: {:?}", surfaces(nothing));
        }
    }

    #[test]
    fn chinese_words_are_phrases_of_characters() {
        let terms = query_terms("我妹妹在上海读大学");
        let phrases: Vec<String> = terms.iter().map(|term| term.phrase.0.join(" ")).collect();
        assert_eq!(phrases, ["妹 妹", "上 海", "读", "大 学"]);
    }

    #[test]
    fn the_past_of_a_verb_hides_nothing() {
        let surfaces: Vec<String> =
            query_terms("你拉过小提琴吗").into_iter().map(|term| term.surface).collect();
        assert!(surfaces.contains(&"小提琴".to_owned()), "{surfaces:?}");
        let indexed = format!(" {} ", index_terms("我会拉小提琴"));
        for term in query_terms("拉过小提琴").iter().filter(|term| !term.guess) {
            assert!(indexed.contains(&format!(" {} ", term.phrase.0.join(" "))), "{term:?}");
        }
        assert_eq!(surfaces_of("他难过吗"), ["难过"]);
    }

    fn surfaces_of(text: &str) -> Vec<String> {
        query_terms(text).into_iter().map(|term| term.surface).collect()
    }

    #[test]
    fn pairs_across_the_borders_of_words_are_guesses() {
        let terms = border_terms("妹妹大学");
        let shown: Vec<(&str, bool)> = terms.iter().map(|term| (term.surface.as_str(), term.guess)).collect();
        assert_eq!(shown, [("妹大", true)]);
        assert!(border_terms("my cat 写真の").is_empty());
        assert!(border_terms("妹妹的大学").is_empty(), "a particle stands between");
    }

    #[test]
    fn neighbouring_characters_may_be_a_name() {
        let terms = query_terms("我叫李雷");
        let shown: Vec<(&str, bool)> = terms.iter().map(|term| (term.surface.as_str(), term.guess)).collect();
        assert_eq!(shown, [("李", false), ("李雷", true), ("雷", false)]);
    }

    #[test]
    fn long_words_give_parts() {
        let terms = query_terms("巧克力");
        assert_eq!(terms[0].phrase.0.concat(), "巧克力");
        let parts: Vec<String> = terms[0].parts.iter().map(|part| part.0.concat()).collect();
        assert_eq!(parts, ["巧克", "克力"]);
    }

    #[test]
    fn content_terms_count_characters() {
        assert_eq!(content_terms("我养了一只猫,叫小黑").len(), 4);
        assert_eq!(content_terms("Hello! I have a cat, a black cat").len(), 2);
        assert!(content_terms("你好,谢谢").is_empty());
    }

    #[test]
    fn content_words_are_found_where_they_stand() {
        let words = |text: &'static str| -> Vec<&str> {
            content_word_ranges(text).into_iter().map(|range| &text[range]).collect()
        };
        assert_eq!(words("我養了一只貓,叫小黑。"), ["養", "貓", "小", "黑"]);
        assert_eq!(words("Hello! I have a CAT, Dr. O’Brien"), ["CAT", "Dr", "O’Brien"]);
        assert_eq!(words("ネズミの名前"), ["ネズミ", "名前"]);
        assert_eq!(words("ネス\u{3099}ミの名前"), ["ネス\u{3099}ミの名前"]);
        assert_eq!(words("你好,谢谢 the ok"), [""; 0]);
    }

    proptest! {
        #[test]
        fn a_text_has_content_words_if_it_has_content_terms(text in "[a-zA-Z猫养了什么小黑大学妹上海の고양이 ,.'’-]{0,40}") {
            prop_assert_eq!(content_word_ranges(&text).is_empty(), content_terms(&text).is_empty(), "{}", text);
        }

        #[test]
        fn terms_are_clean_and_folding_changes_nothing(text in "\\PC{0,60}") {
            let terms = index_terms(&text);
            prop_assert!(terms.is_empty() || terms.split(' ').all(|term| !term.is_empty()));
            prop_assert!(terms.chars().all(|c| c == ' ' || is_term_character(c)));
            prop_assert_eq!(index_terms(&fold(&text)), terms);
        }

        #[test]
        fn every_query_term_is_indexed(text in "[a-zA-Z猫养小黑大学妹上海の고양이 ,.'’-]{0,40}") {
            let indexed = format!(" {} ", index_terms(&text));
            for term in query_terms(&text) {
                let phrase = format!(" {} ", term.phrase.0.join(" "));
                prop_assert!(indexed.contains(&phrase), "{phrase} in {indexed}");
            }
        }

        #[test]
        fn any_text_is_accepted(text in any::<String>()) {
            let _ = (index_terms(&text), query_terms(&text), content_terms(&text), content_word_ranges(&text));
        }
    }
}
