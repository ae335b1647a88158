//! Measures how much of a text a model can read.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use icu_properties::props::Script;
use icu_properties::{CodePointMapData, PropertyNamesLong, PropertyParser};

use crate::ModelError;

/// Share of a vocabulary's pieces from which the model counts as trained on a script. Single letters of many
/// alphabets occur in every vocabulary.
const SHARE_MIN: f64 = 0.02;
/// Number of pieces from which a script counts as readable in any vocabulary. In one of 250,000 pieces, a small
/// language has a smaller share although its words are there.
const PIECES_MIN: usize = 500;

/// The scripts whose letters a model reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Scripts {
    Every,
    These(BTreeSet<Script>),
}

impl Scripts {
    /// Scripts by their names in Unicode: `Latin`, `Han`, `Cyrl`. The error is the first unknown name.
    pub(crate) fn from_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let parser = PropertyParser::<Script>::new();
        let number = |name: &str| parser.get_loose(name).ok_or_else(|| name.to_owned());
        let scripts = names.into_iter().map(number).collect::<Result<_, _>>()?;
        Ok(Self::These(scripts))
    }

    /// Scripts of the setting `embedding.readable_scripts`.
    pub(crate) fn from_settings(names: &[String]) -> Result<Self, ModelError> {
        Self::from_names(names.iter().map(String::as_str)).map_err(|name| {
            ModelError::Settings(format!(
                "embedding.readable_scripts: Unicode has no script called {name:?}; write Latin, Han, Cyrillic"
            ))
        })
    }

    /// The scripts that a vocabulary covers. Single letters are no evidence: the vocabulary of an English model has
    /// the letters of a dozen alphabets and 244 Han characters, because they occurred in its training texts. The
    /// languages that it was trained on show in pieces of several letters, and in thousands of Han characters.
    pub(crate) fn of_vocabulary<'a>(pieces: impl IntoIterator<Item = &'a str>) -> Self {
        let scripts = CodePointMapData::<Script>::new();
        let mut seen: HashMap<Script, BTreeSet<String>> = HashMap::new();
        let mut all = 0_usize;
        for piece in pieces {
            let letters: String = piece.chars().filter(|letter| letter.is_alphabetic()).collect();
            let Some(first) = letters.chars().next() else { continue };
            let script = scripts.get(first);
            if script != Script::Han && letters.chars().nth(1).is_none() {
                continue;
            }
            all += usize::from(seen.entry(script).or_default().insert(letters));
        }
        let counts = |pieces: usize| pieces >= PIECES_MIN || pieces as f64 >= SHARE_MIN * all as f64;
        Self::These(seen.into_iter().filter(|(_, set)| counts(set.len())).map(|(script, _)| script).collect())
    }

    /// Names of the scripts, as shown to people.
    pub(crate) fn script_names(&self) -> Vec<String> {
        let Self::These(scripts) = self else { return vec!["every script".to_owned()] };
        let names = PropertyNamesLong::<Script>::new();
        let name = |script: &Script| names.get(*script).unwrap_or("unknown").to_owned();
        scripts.iter().map(name).collect()
    }

    fn classify_letter(&self, letter: char) -> Reading {
        let Self::These(scripts) = self else { return Reading::Reads };
        match CodePointMapData::<Script>::new().get(letter) {
            Script::Common | Script::Inherited => Reading::Neutral,
            script if scripts.contains(&script) => Reading::Reads,
            _ => Reading::Blind,
        }
    }
}

enum Reading {
    Reads,
    Blind,
    /// A letter without a script, which counts neither way.
    Neutral,
}

/// Share of the letters and symbols of `text` that the model can read.
///
/// Unreadable are characters that no piece of the vocabulary covers (`unknown`: byte ranges in ascending order) and
/// letters of other scripts. Digits, punctuation and known symbols are ignored if there are letters: otherwise a date
/// beside an unreadable verb would make the sentence readable. A text of only such characters is readable; an empty
/// text is not.
pub(crate) fn readability(text: &str, unknown: &[Range<usize>], scripts: &Scripts) -> f32 {
    let (mut known_letters, mut unreadable, mut neutral) = (0_u32, 0_u32, 0_u32);
    let mut unknown = unknown.iter().peekable();
    for (at, character) in text.char_indices() {
        if character.is_whitespace() || character.is_control() {
            continue;
        }
        while unknown.next_if(|span| span.end <= at).is_some() {}
        if unknown.peek().is_some_and(|span| span.contains(&at)) {
            unreadable += 1;
        } else if !character.is_alphabetic() {
            neutral += 1;
        } else {
            match scripts.classify_letter(character) {
                Reading::Reads => known_letters += 1,
                Reading::Blind => unreadable += 1,
                Reading::Neutral => neutral += 1,
            }
        }
    }
    match (known_letters + unreadable, neutral) {
        (0, 0) => 0.0,
        (0, _) => 1.0,
        (counted, _) => known_letters as f32 / counted as f32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latin_scripts() -> Scripts {
        Scripts::from_names(["Latin"]).unwrap()
    }

    #[test]
    fn letters_of_other_scripts_are_unreadable_though_no_piece_is_unknown() {
        assert_eq!(readability("猫", &[], &latin_scripts()), 0.0);
        assert_eq!(readability("cat 猫", &[], &latin_scripts()), 0.75);
        assert_eq!(readability("кошка", &[], &latin_scripts()), 0.0);
        assert_eq!(readability("кошка 猫", &[], &Scripts::Every), 1.0);
        assert_eq!(readability("кошка 猫", &[], &Scripts::from_names(["Cyrl", "han"]).unwrap()), 1.0);
    }

    #[test]
    fn text_without_pieces_is_unreadable() {
        let unknown = vec![4..7, 8..12];
        assert_eq!(readability("abc def ghij kl", &unknown, &latin_scripts()), 5.0 / 12.0);
        let emoji = std::iter::once(4..8).collect::<Vec<_>>();
        assert_eq!(readability("abc 😀", &emoji, &latin_scripts()), 0.75);
        assert_eq!(readability("abc 😀", &emoji, &Scripts::Every), 0.75);
    }

    #[test]
    fn digits_and_punctuation_hide_nothing() {
        assert_eq!(readability("2024-03-05: 离", &[], &latin_scripts()), 0.0);
        assert_eq!(readability("2024-03-05!", &[], &latin_scripts()), 1.0);
    }

    #[test]
    fn an_empty_text_has_nothing_to_compare() {
        assert_eq!(readability("", &[], &latin_scripts()), 0.0);
        assert_eq!(readability(" \n\t", &[], &latin_scripts()), 0.0);
    }

    #[test]
    fn an_unknown_script_name_is_reported() {
        assert_eq!(Scripts::from_names(["Latin", "Klingonish"]), Err("Klingonish".to_owned()));
    }

    /// Like an English vocabulary: thousands of Latin pieces, some hundred Han characters, single Cyrillic letters.
    #[test]
    fn a_few_characters_are_no_evidence_of_a_language() {
        let latin: Vec<String> = (0..20_000).map(|n| format!("##piece{}", letter_name(n))).collect();
        let han: Vec<String> = (0..244).map(|n| char::from_u32(0x4e00 + n).unwrap().to_string()).collect();
        let cyrillic = ('а'..='я').map(String::from);
        let pieces: Vec<String> = latin.iter().chain(&han).cloned().chain(cyrillic).collect();
        let found = Scripts::of_vocabulary(pieces.iter().map(String::as_str));
        assert_eq!(found.script_names(), ["Latin"]);
        let more: Vec<String> = (0..600).map(|n| char::from_u32(0x5e00 + n).unwrap().to_string()).collect();
        let found = Scripts::of_vocabulary(pieces.iter().chain(&more).map(String::as_str));
        assert_eq!(found.script_names(), ["Han", "Latin"]);
    }

    fn letter_name(mut number: u32) -> String {
        let mut name = String::new();
        for _ in 0..4 {
            name.push(char::from(b'a' + (number % 26) as u8));
            number /= 26;
        }
        name
    }
}
