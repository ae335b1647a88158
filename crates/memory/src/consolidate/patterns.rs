//! Word lists as data: keywords of strong emotion, one pattern per line.

use crate::text::at_word_borders;
use crate::text::lexicon::WordList;

/// Maximum length that a `…` of a pattern matches, in characters. It keeps a match inside a sentence, and bounds the
/// time of matching.
const GAP_MAX: usize = 40;

/// A list of patterns, folded for comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patterns {
    parts: Vec<Vec<String>>,
}

impl From<WordList> for Patterns {
    fn from(list: WordList) -> Self {
        Self { parts: list.iter().map(parse_pattern).collect() }
    }
}

impl Patterns {
    /// Parses patterns, one a line; empty lines and those that begin with `#` are ignored.
    pub fn parse(text: &str) -> Self {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        Self { parts: lines.map(parse_pattern).collect() }
    }

    /// Adds patterns of the configuration to the list.
    pub fn with_patterns(mut self, more: &[String]) -> Self {
        self.parts.extend(more.iter().map(|line| parse_pattern(line)));
        self
    }

    /// True if any pattern is a substring of the text, ignoring case.
    pub fn occur_in(&self, text: &str) -> bool {
        let folded = fold_case(text);
        self.parts.iter().any(|parts| occurs_in(&folded, parts, false))
    }

    /// Like [`Self::occur_in`], but a Latin pattern must begin and end at a word boundary.
    pub fn occur_as_words(&self, text: &str) -> bool {
        let folded = fold_case(text);
        self.parts.iter().any(|parts| occurs_in(&folded, parts, true))
    }
}

fn parse_pattern(line: &str) -> Vec<String> {
    line.split('…').map(|part| fold_case(part.trim())).filter(|part| !part.is_empty()).collect()
}

/// Lower case, with typographic apostrophes replaced by plain ones, because keyboards differ.
fn fold_case(text: &str) -> String {
    text.chars().flat_map(char::to_lowercase).map(|c| if c == '\u{2019}' { '\'' } else { c }).collect()
}

fn occurs_in(text: &str, parts: &[String], as_words: bool) -> bool {
    let Some((first, rest)) = parts.split_first() else { return false };
    text.match_indices(first.as_str()).any(|(start, found)| {
        let end = start + found.len();
        (!as_words || at_word_borders(text, start, end))
            && remaining_parts_follow(&text[end..], rest, as_words)
    })
}

fn remaining_parts_follow(text: &str, parts: &[String], as_words: bool) -> bool {
    let Some((first, rest)) = parts.split_first() else { return true };
    text.match_indices(first.as_str()).take_while(|(start, _)| text[..*start].chars().count() <= GAP_MAX).any(
        |(start, found)| {
            let end = start + found.len();
            (!as_words || at_word_borders(text, start, end))
                && remaining_parts_follow(&text[end..], rest, as_words)
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_bounded_and_case_does_not_matter() {
        let patterns = Patterns::parse("my … is\n# comment\n我对…过敏");
        assert!(patterns.occur_as_words("My older sister IS here"));
        assert!(patterns.occur_as_words("我对花生过敏"));
        assert!(!patterns.occur_as_words(&format!("my {} is", "x".repeat(60))));
        assert!(!patterns.occur_as_words("comment"));
    }

    #[test]
    fn latin_patterns_stop_at_word_borders_only_when_asked() {
        let patterns = Patterns::parse("fired");
        assert!(patterns.occur_in("misfired"));
        assert!(!patterns.occur_as_words("misfired"));
        assert!(patterns.occur_as_words("I got fired."));
    }

    #[test]
    fn both_apostrophes_match() {
        assert!(Patterns::parse("can't go on").occur_in("I can’t go on"));
    }
}
