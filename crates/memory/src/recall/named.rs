//! Entities whose name stands in the text.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::entities::{Entity, fold_name};
use crate::ports::{AliasHit, Store, StoreError};
use crate::scope::Scope;
use crate::text::{is_function_word, is_unspaced};

/// Words (or characters of an unspaced script) of a text in which names are looked for, the newest.
const TOKENS_MAX: usize = 300;
/// Longest name, in words or characters of an unspaced script.
const NAME_TOKENS_MAX: usize = 8;

/// The entities that the text names, in the order of their first place. Names are compared folded; one in a spaced
/// script stands between word borders, one in an unspaced script anywhere. Where names overlap, the longest counts. A
/// name that is also a function word ("may") is not taken for one.
pub(crate) async fn named_entities(
    store: &dyn Store,
    scope: &Scope,
    text: &str,
) -> Result<Vec<Entity>, StoreError> {
    let folded = fold_name(text);
    let places = possible_names(&folded);
    if places.is_empty() {
        return Ok(Vec::new());
    }
    let mut names: Vec<String> = places.keys().map(|&name| name.to_owned()).collect();
    names.sort_unstable();
    let hits = store.entities_named(scope, &names).await?;
    Ok(longest(hits, &places))
}

/// Every stretch of up to [`NAME_TOKENS_MAX`] tokens, with the places where it stands.
fn possible_names(folded: &str) -> HashMap<&str, Vec<Range<usize>>> {
    let tokens = tokens(folded);
    let mut places: HashMap<&str, Vec<Range<usize>>> = HashMap::new();
    for (at, first) in tokens.iter().enumerate() {
        for last in tokens.iter().skip(at).take(NAME_TOKENS_MAX) {
            let name = &folded[first.start..last.end];
            if !is_function_word(name) {
                places.entry(name).or_default().push(first.start..last.end);
            }
        }
    }
    places
}

/// Words, and single characters of unspaced scripts, as byte ranges; the last [`TOKENS_MAX`].
fn tokens(folded: &str) -> Vec<Range<usize>> {
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

fn longest(hits: Vec<AliasHit>, places: &HashMap<&str, Vec<Range<usize>>>) -> Vec<Entity> {
    let ranges = |hit: &AliasHit| places.get(hit.folded.as_str()).cloned().unwrap_or_default();
    let all: Vec<Range<usize>> = hits.iter().flat_map(&ranges).collect();
    let inside_longer = |range: &Range<usize>| {
        all.iter()
            .any(|other| other.len() > range.len() && other.start <= range.start && range.end <= other.end)
    };
    let mut found: Vec<(usize, Entity)> = hits
        .into_iter()
        .filter_map(|hit| {
            let first =
                ranges(&hit).into_iter().filter(|range| !inside_longer(range)).map(|range| range.start).min();
            first.map(|first| (first, hit.entity))
        })
        .collect();
    found.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| a.1.canonical_name.cmp(&b.1.canonical_name)));
    let mut known = HashSet::new();
    found.into_iter().map(|(_, entity)| entity).filter(|entity| known.insert(entity.id)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(text: &str, name: &str) -> bool {
        possible_names(&fold_name(text)).contains_key(name)
    }

    #[test]
    fn names_of_unspaced_scripts_stand_anywhere() {
        assert!(holds("你还记得小黑吗", "小黑"));
        assert!(holds("我的同学小K来了", "小k"));
    }

    #[test]
    fn names_of_spaced_scripts_need_borders() {
        assert!(holds("Ask Ann's brother", "ann"));
        assert!(holds("met Mr. Wang today", "mr. wang"));
        assert!(holds("ＳＨＡＤＯＷ!", "shadow"));
        assert!(!holds("we are planning", "ann"));
        assert!(!holds("may I?", "may"));
    }

    #[test]
    fn what_is_asked_is_bounded() {
        let long = "猫".repeat(20_000);
        assert!(possible_names(&long).len() <= NAME_TOKENS_MAX);
        let varied: String = ('\u{4e00}'..'\u{5000}').collect();
        assert!(possible_names(&varied).len() <= TOKENS_MAX * NAME_TOKENS_MAX);
    }
}
