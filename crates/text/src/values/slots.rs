//! Clauses that are equal except for one value.

use super::{ARTICLES, Values, without_article};
use crate::lexicon::values as lexicon;
use crate::{is_named_in_text, is_unspaced};

/// Kinds of values of which a person usually has one.
const PARTNERS: &[&str] = &["男朋友", "女朋友"];
/// Maximum length of the value in which two clauses differ, in words; in characters for scripts without spaces.
const SLOT_WORDS_MAX: usize = 5;
const SLOT_CHARACTERS_MAX: usize = 8;
/// Minimum number of equal words before the difference of two clauses; 用户 may be missing in Chinese.
const BEFORE_SLOT_WORDS: usize = 3;
const BEFORE_SLOT_CHARACTERS: usize = 2;

/// The place at which two otherwise equal clauses differ.
pub(super) struct Slot {
    pub(super) clause: String,
    pub(super) value: String,
    /// True if a person can have only one value of this kind at a time.
    pub(super) is_single: bool,
}

/// The first clause of a text that equals one of the other text except for one value.
pub(super) fn find_slot(text: &Values, other: &Values) -> Option<Slot> {
    text.plain.iter().find_map(|clause| other.plain.iter().find_map(|other| differing_slot(clause, other)))
}

fn differing_slot(clause: &str, other: &str) -> Option<Slot> {
    let is_unspaced = clause.contains(is_unspaced);
    let (words, others) = (split_clause(clause, is_unspaced), split_clause(other, is_unspaced));
    let same = words.iter().zip(&others).take_while(|(one, other)| one == other).count();
    let end = words[same..].iter().rev().zip(others[same..].iter().rev());
    let end = end.take_while(|(one, other)| one == other).count();
    let (value, replacing) = (&words[same..words.len() - end], &others[same..others.len() - end]);
    let (least, most) = match is_unspaced {
        true => (BEFORE_SLOT_CHARACTERS, SLOT_CHARACTERS_MAX),
        false => (BEFORE_SLOT_WORDS, SLOT_WORDS_MAX),
    };
    // `at a bank` is another statement than `as a nurse`, not another value of the same one.
    let is_value = |value: &[String]| !lexicon::PREPOSITIONS.contains(&value[0]);
    let fits = |value: &[String]| (1..=most).contains(&value.len()) && is_value(value);
    if same < least || !fits(value) || !fits(replacing) {
        return None;
    }
    let glue = if is_unspaced { "" } else { " " };
    let before = words[..same].join(glue);
    let last = words[..same].iter().rev().find(|word| !ARTICLES.contains(&word.as_str()))?;
    // A thing that somebody owns is single: `the user's favourite colour is`.
    let is_many = match is_unspaced {
        true => lexicon::MANY.is_end_of(&before) && !is_of_somebody(&before, "是", "的"),
        false => lexicon::MANY.contains(last) && !is_of_somebody(&before, " is", "'s "),
    };
    let value = without_article(&value.join(glue)).to_owned();
    Some(Slot { clause: words.join(glue), value, is_single: !is_many })
}

/// True if a clause is about a person or thing of which people have several.
pub(super) fn is_one_of_several(clause: &str) -> bool {
    lexicon::SEVERAL.iter().any(|kind| is_named_in_text(clause, kind))
        && !PARTNERS.iter().any(|kind| clause.contains(kind))
}

fn is_of_somebody(before: &str, is: &str, of: &str) -> bool {
    let articles = before.trim_end_matches(" the").trim_end_matches(" a").trim_end_matches(" an");
    articles.strip_suffix(is).is_some_and(|whom| whom.contains(of))
}

/// Splits a text into characters, with Latin words and numbers whole: 2015年 and 2016年 differ in the year, not in a
/// digit.
fn split_characters(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for character in text.chars() {
        match found.last_mut() {
            Some(last)
                if character.is_ascii_alphanumeric()
                    && last.ends_with(|c: char| c.is_ascii_alphanumeric()) =>
            {
                last.push(character);
            }
            _ => found.push(character.to_string()),
        }
    }
    found
}

/// The words or characters of a clause, without those that only say that it is so now.
fn split_clause(clause: &str, is_unspaced: bool) -> Vec<String> {
    if is_unspaced {
        let plain = lexicon::AROUND.iter().fold(clause.to_owned(), |clause, word| clause.replace(word, ""));
        return split_characters(plain.trim_start_matches("用户"));
    }
    clause.split_whitespace().filter(|word| !lexicon::AROUND.contains(word)).map(str::to_owned).collect()
}
