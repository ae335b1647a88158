//! Finds the entities that a text names.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::entities::{Entity, fold_name};
use crate::ports::{AliasHit, Store, StoreError};
use crate::scope::Scope;
use crate::text::{is_function_word, is_unspaced};

/// Words (or characters of an unspaced script) of a text in which names are searched, the newest. Each position is
/// compared with the names that begin like it; in a long message the important names are near its end.
const TOKENS_MAX: usize = 300;
/// Maximum length of a name, in words or characters of an unspaced script. Titles of books and companies are the
/// longest names that people use.
const NAME_TOKENS_MAX: usize = 16;
/// Separates folded texts. Folding removes this character, so no text contains it.
const BETWEEN_TEXTS: &str = "\n";

/// The entities that the text names, in the order of their first occurrence. Names are compared folded; in a spaced
/// script they must be at word boundaries, in an unspaced one anywhere. Of overlapping names the longest counts. A
/// name that is also a function word ("may") counts only if it is written as a name.
pub(crate) async fn named_entities(
    store: &dyn Store,
    scope: &Scope,
    text: &str,
) -> Result<Vec<Entity>, StoreError> {
    named_in_any(store, scope, &[text]).await
}

/// [`named_entities`] for consecutive texts. A name never extends over two of them.
pub(crate) async fn named_in_any(
    store: &dyn Store,
    scope: &Scope,
    texts: &[&str],
) -> Result<Vec<Entity>, StoreError> {
    Ok(look_up_names(store, scope, texts, &[]).await?.into_iter().map(|hit| hit.entity).collect())
}

/// Like [`named_entities`], with additional names that the store does not know yet, or that override those of the
/// store.
pub(crate) async fn named_entities_with(
    store: &dyn Store,
    scope: &Scope,
    text: &str,
    own: &[AliasHit],
) -> Result<Vec<AliasHit>, StoreError> {
    look_up_names(store, scope, &[text], own).await
}

async fn look_up_names(
    store: &dyn Store,
    scope: &Scope,
    texts: &[&str],
    own: &[AliasHit],
) -> Result<Vec<AliasHit>, StoreError> {
    let folded = texts.iter().map(|text| fold_name(text)).collect::<Vec<_>>().join(BETWEEN_TEXTS);
    let written = texts.iter().flat_map(|text| written_as_names(text)).collect();
    let places = possible_names(&folded, &written);
    if places.is_empty() {
        return Ok(Vec::new());
    }
    let mut hits: Vec<AliasHit> =
        own.iter().filter(|hit| places.contains_key(hit.folded.as_str())).cloned().collect();
    let mut names: Vec<String> = places
        .keys()
        .filter(|name| hits.iter().all(|hit| hit.folded != **name))
        .map(|&name| name.to_owned())
        .collect();
    names.sort_unstable();
    hits.extend(store.entities_named(scope, &names).await?);
    Ok(longest_hits(hits, &places))
}

/// Every stretch of up to [`NAME_TOKENS_MAX`] tokens, with its positions.
fn possible_names<'a>(folded: &'a str, written: &HashSet<String>) -> HashMap<&'a str, Vec<Range<usize>>> {
    let tokens = token_ranges(folded);
    let mut places: HashMap<&str, Vec<Range<usize>>> = HashMap::new();
    for (at, first) in tokens.iter().enumerate() {
        let end = folded[first.start..].find(BETWEEN_TEXTS).map_or(folded.len(), |end| first.start + end);
        for last in tokens.iter().skip(at).take(NAME_TOKENS_MAX).take_while(|last| last.end <= end) {
            let name = &folded[first.start..last.end];
            if !is_function_word(name) || written.contains(name) {
                places.entry(name).or_default().push(first.start..last.end);
            }
        }
    }
    places
}

/// Capitalised words of more than one letter inside a sentence, folded: "Will" in "Ask Will", not in "Will you?".
fn written_as_names(text: &str) -> HashSet<String> {
    let mut written = HashSet::new();
    let mut begins_sentence = true;
    for word in text.split_whitespace() {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let bare = bare.strip_suffix("'s").or_else(|| bare.strip_suffix("\u{2019}s")).unwrap_or(bare);
        if !begins_sentence && bare.chars().nth(1).is_some() && bare.starts_with(char::is_uppercase) {
            written.insert(fold_name(bare));
        }
        let last = word.chars().rev().find(|c| !matches!(c, '"' | '\'' | ')' | '\u{201d}' | '\u{2019}'));
        begins_sentence = last.is_some_and(|c| matches!(c, '.' | '!' | '?' | ':' | '。' | '！' | '？'));
    }
    written
}

/// Words, and single characters of unspaced scripts, as byte ranges; only the last [`TOKENS_MAX`].
fn token_ranges(folded: &str) -> Vec<Range<usize>> {
    let mut tokens: Vec<Range<usize>> = Vec::new();
    let mut in_word = false;
    for (at, character) in folded.char_indices() {
        let end = at + character.len_utf8();
        let letter = is_unspaced(character);
        match tokens.last_mut() {
            Some(word) if in_word && !letter && character.is_alphanumeric() => word.end = end,
            _ if character.is_alphanumeric() => tokens.push(at..end),
            _ => {}
        }
        in_word = character.is_alphanumeric() && !letter;
    }
    tokens.split_off(tokens.len().saturating_sub(TOKENS_MAX))
}

/// Hits in the order of their first occurrence, the longest of overlapping ones; each entity once.
fn longest_hits(hits: Vec<AliasHit>, places: &HashMap<&str, Vec<Range<usize>>>) -> Vec<AliasHit> {
    let ranges = |hit: &AliasHit| places.get(hit.folded.as_str()).cloned().unwrap_or_default();
    let all: Vec<Range<usize>> = hits.iter().flat_map(&ranges).collect();
    let inside_longer = |range: &Range<usize>| {
        all.iter()
            .any(|other| other.len() > range.len() && other.start <= range.start && range.end <= other.end)
    };
    let mut found: Vec<(usize, AliasHit)> = hits
        .into_iter()
        .filter_map(|hit| {
            let first =
                ranges(&hit).into_iter().filter(|range| !inside_longer(range)).map(|range| range.start).min();
            first.map(|first| (first, hit))
        })
        .collect();
    found.sort_by(|(a, hit), (b, other)| {
        let name = |hit: &AliasHit| hit.entity.canonical_name.clone();
        a.cmp(b).then_with(|| name(hit).cmp(&name(other))).then_with(|| hit.entity.id.cmp(&other.entity.id))
    });
    let mut known = HashSet::new();
    found.into_iter().map(|(_, hit)| hit).filter(|hit| known.insert(hit.entity.id)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contains_possible_name(text: &str, name: &str) -> bool {
        possible_names(&fold_name(text), &written_as_names(text)).contains_key(name)
    }

    #[test]
    fn names_of_unspaced_scripts_stand_anywhere() {
        assert!(contains_possible_name("你还记得小黑吗", "小黑"));
        assert!(contains_possible_name("我的同学小K来了", "小k"));
    }

    #[test]
    fn names_of_spaced_scripts_need_borders() {
        assert!(contains_possible_name("Ask Ann's brother", "ann"));
        assert!(contains_possible_name("met Mr. Wang today", "mr. wang"));
        assert!(contains_possible_name("ＳＨＡＤＯＷ!", "shadow"));
        assert!(!contains_possible_name("we are planning", "ann"));
        assert!(!contains_possible_name("may I?", "may"));
        assert!(!contains_possible_name("Samantha called", "sam"));
    }

    #[test]
    fn a_name_that_is_a_word_counts_where_it_is_written_as_a_name() {
        assert!(contains_possible_name("How is Will doing?", "will"));
        assert!(contains_possible_name("I met May's brother", "may"));
        assert!(
            !contains_possible_name("Will you come? May I?", "will")
                && !contains_possible_name("Will you come? May I?", "may")
        );
        assert!(!contains_possible_name("so I will", "will") && !contains_possible_name("so I will", "i"));
    }

    #[test]
    fn no_name_begins_in_one_text_and_ends_in_the_next() {
        let folded = ["i met mary", "poppins came"].join(BETWEEN_TEXTS);
        let names = possible_names(&folded, &HashSet::new());
        assert!(names.contains_key("met mary") && names.contains_key("poppins came"));
        assert!(!names.keys().any(|name| name.contains(BETWEEN_TEXTS)));
        assert!(
            contains_possible_name("I met Mary\nPoppins", "mary poppins"),
            "a line may break inside of one text"
        );
    }

    #[test]
    fn possible_names_are_limited() {
        let nobody = HashSet::new();
        let long = "猫".repeat(20_000);
        assert!(possible_names(&long, &nobody).len() <= NAME_TOKENS_MAX);
        let varied: String = ('\u{4e00}'..'\u{5000}').collect();
        assert!(possible_names(&varied, &nobody).len() <= TOKENS_MAX * NAME_TOKENS_MAX);
    }
}
