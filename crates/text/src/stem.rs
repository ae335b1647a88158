//! Word stems in every language that has a stemmer.
//!
//! The script decides if it can: Cyrillic is stemmed as Russian, and Greek, Arabic and Tamil each as themselves. For
//! Latin script the text's function words decide: the language of most of them, English if it has as many, the first
//! of the list below on a tie between others. A text without function words (a name, one word) is undecided: it is
//! indexed as English, and a question of it also searches for the other languages' stems.

use std::collections::HashMap;
use std::sync::LazyLock;

use rust_stemmers::{Algorithm, Stemmer};

use super::function_words::FUNCTION_WORDS;
use super::lexicon::{Words, function_words as lexicon};
use super::segment::Piece;

/// Other languages with Latin letters, with their function words.
const LATIN_LANGUAGES: [(Algorithm, Words); 13] = [
    (Algorithm::Spanish, lexicon::ES),
    (Algorithm::French, lexicon::FR),
    (Algorithm::German, lexicon::DE),
    (Algorithm::Portuguese, lexicon::PT),
    (Algorithm::Italian, lexicon::IT),
    (Algorithm::Dutch, lexicon::NL),
    (Algorithm::Swedish, lexicon::SV),
    (Algorithm::Norwegian, lexicon::NO),
    (Algorithm::Danish, lexicon::DA),
    (Algorithm::Finnish, lexicon::FI),
    (Algorithm::Hungarian, lexicon::HU),
    (Algorithm::Romanian, lexicon::RO),
    (Algorithm::Turkish, lexicon::TR),
];

/// Bit of a word in [`WORD_LANGUAGES`] that is in [`FUNCTION_WORDS`].
const FUNCTION_WORD: u16 = 1 << LATIN_LANGUAGES.len();

/// For each function word, the indexes in [`LATIN_LANGUAGES`] of its languages, as bits, and [`FUNCTION_WORD`]. One map,
/// because most of the time of a short question is spent on looking its words up.
static WORD_LANGUAGES: LazyLock<HashMap<&'static str, u16>> = LazyLock::new(|| {
    let mut words: HashMap<&str, u16> = FUNCTION_WORDS.iter().map(|word| (*word, FUNCTION_WORD)).collect();
    for (place, (_, list)) in LATIN_LANGUAGES.iter().enumerate() {
        for word in list.iter() {
            *words.entry(word).or_default() |= 1 << place;
        }
    }
    words
});

fn word_languages(folded: &str) -> u16 {
    WORD_LANGUAGES.get(folded).copied().unwrap_or(0)
}

/// Stemming for the words of one text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stems {
    /// Index in [`LATIN_LANGUAGES`] of the language of its Latin words; `None` for English.
    latin: Option<usize>,
    /// True if the language is not known.
    undecided: bool,
}

impl Stems {
    /// Chooses the languages from the parts of a folded text.
    pub(super) fn from_pieces(pieces: &[Piece<'_>]) -> Self {
        let mut counts = [0usize; LATIN_LANGUAGES.len()];
        let mut english = 0usize;
        for piece in pieces {
            let Piece::Word(word) = piece else { continue };
            let languages = word_languages(word);
            if languages == 0 {
                continue;
            }
            for (place, count) in counts.iter_mut().enumerate() {
                *count += usize::from((languages >> place) & 1);
            }
            english += usize::from(languages & FUNCTION_WORD != 0 && word.is_ascii());
        }
        let most = counts.iter().copied().max().unwrap_or(0);
        let latin = counts.iter().position(|count| *count == most).filter(|_| most > english);
        Self { latin, undecided: most == 0 && english == 0 }
    }

    /// True if nouns are capitalised, so that capitals do not show names.
    pub(super) fn nouns_are_capitalised(self) -> bool {
        self.latin.is_some_and(|place| LATIN_LANGUAGES[place].0 == Algorithm::German)
    }

    /// True if a folded word carries no content.
    pub(super) fn is_function_word(self, folded: &str) -> bool {
        let of_text = self.latin.map_or(0, |place| 1 << place);
        word_languages(folded) & (FUNCTION_WORD | of_text) != 0
    }

    /// The stem of a folded word.
    pub(super) fn stem(self, word: &str) -> String {
        match script_of(word) {
            Some(Script::Latin) => {
                stem_word(self.latin.map_or(Algorithm::English, |at| LATIN_LANGUAGES[at].0), word)
            }
            Some(Script::Other(algorithm)) => stem_word(algorithm, word),
            None => word.to_owned(),
        }
    }

    /// Other stems of a question's word, which may match because its text or the stored text is too short to
    /// determine the language; each once, without [`Self::stem`].
    pub(super) fn other_stems(self, word: &str) -> Vec<String> {
        if script_of(word) != Some(Script::Latin) || (self.latin.is_none() && !self.undecided) {
            return Vec::new();
        }
        let mut known = vec![self.stem(word)];
        let english = std::iter::once(Algorithm::English);
        let others = LATIN_LANGUAGES.iter().map(|(algorithm, _)| *algorithm).filter(|_| self.undecided);
        for algorithm in english.chain(others) {
            let stem = stem_word(algorithm, word);
            if !known.contains(&stem) {
                known.push(stem);
            }
        }
        known.split_off(1)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Script {
    Latin,
    Other(Algorithm),
}

/// The script of a word, if a stemmer supports all of its letters.
fn script_of(word: &str) -> Option<Script> {
    let first = letter_script(word.chars().next()?)?;
    word.chars().all(|letter| letter_script(letter) == Some(first)).then_some(first)
}

fn letter_script(letter: char) -> Option<Script> {
    match letter {
        'a'..='z' | '\u{df}'..='\u{24f}' => Some(Script::Latin),
        'а'..='я' | 'ё' => Some(Script::Other(Algorithm::Russian)),
        'ά'..='ώ' | 'ΐ' => Some(Script::Other(Algorithm::Greek)),
        '\u{621}'..='\u{652}' => Some(Script::Other(Algorithm::Arabic)),
        '\u{b80}'..='\u{bff}' => Some(Script::Other(Algorithm::Tamil)),
        _ => None,
    }
}

/// Stems a word; returns the word itself if its stem would be empty.
fn stem_word(algorithm: Algorithm, word: &str) -> String {
    let stem = Stemmer::create(algorithm).stem(word).into_owned();
    if stem.chars().any(char::is_alphanumeric) { stem } else { word.to_owned() }
}

#[cfg(test)]
mod tests {
    use crate::{index_terms, query_terms};

    fn shares_a_stem(question: &str, text: &str) -> bool {
        let indexed: Vec<String> = index_terms(text).split(' ').map(str::to_owned).collect();
        query_terms(question).iter().any(|term| {
            let phrases = std::iter::once(&term.phrase).chain(&term.parts);
            phrases.into_iter().any(|phrase| phrase.0.len() == 1 && indexed.contains(&phrase.0[0]))
        })
    }

    #[test]
    fn forms_of_a_word_have_one_stem_in_every_language() {
        for (question, text) in [
            ("Where are my cats?", "I have a cat"),
            ("¿Dónde viven mis hermanas?", "mi hermana es de Madrid"),
            ("Où sont mes chevaux ?", "j'ai un cheval dans la grange"),
            ("Wo wohnen meine Schwestern?", "meine Schwester ist in Berlin"),
            ("Onde estão os meus gatos?", "eu tenho um gato"),
            ("Dove sono i miei gatti?", "ho un gatto nero"),
            ("Waar zijn mijn katten?", "ik heb een kat"),
            ("Var är mina katter?", "jag har en katt"),
            ("Hvor er mine katter?", "jeg har en katt"),
            ("Missä minun koirani on?", "minulla on koira"),
            ("Hol vannak a házak?", "nekem van egy ház"),
            ("Unde sunt câinii mei?", "am un câine și o casă"),
            ("Nerede benim kedilerim?", "benim bir kedi var"),
            ("Где мои кошки?", "у меня есть кошка"),
            ("πού είναι οι γάτες", "έχω μια γάτα"),
        ] {
            assert!(
                shares_a_stem(question, text),
                "{question}: {:?} in {}",
                query_terms(question),
                index_terms(text)
            );
        }
    }

    #[test]
    fn one_word_matches_its_text_in_every_language() {
        assert!(shares_a_stem("Schwestern", "meine Schwester ist in Berlin"));
        assert!(shares_a_stem("hermanas", "mi hermana es de Madrid"));
        assert!(shares_a_stem("¿Dónde viven mis hermanas?", "hermanas"));
    }

    #[test]
    fn english_words_have_english_stems() {
        assert_eq!(index_terms("Is she in the running?"), "is she in the run");
        assert!(query_terms("Where did we go running?").iter().all(|term| term.parts.is_empty()));
    }
}
