//! Snippets of texts, with the matches marked.

use std::ops::Range;

use crate::text::{QueryTerm, fold, index_terms, is_unspaced};

/// Maximum length of a snippet, in characters. It is two lines in the page and in a terminal.
const SNIPPET_LENGTH: usize = 160;
/// Characters of the snippet before the first mark, so that a reader sees the start of its sentence.
const LEAD_LENGTH: usize = 50;

/// Texts to mark: phrases of index terms, and the query as it was typed.
pub(super) struct MarkedTerms {
    phrases: Vec<Vec<String>>,
    typed: String,
}

impl MarkedTerms {
    pub(super) fn from_terms(terms: &[QueryTerm], text: &str) -> Self {
        let phrases = terms.iter().flat_map(|term| std::iter::once(&term.phrase).chain(&term.parts));
        Self { phrases: phrases.map(|phrase| phrase.0.clone()).collect(), typed: fold(text.trim()) }
    }

    /// The ranges to mark, in bytes, in order, without overlaps.
    fn marked_ranges(&self, text: &str) -> Vec<Range<usize>> {
        let tokens = token_ranges(text);
        let terms: Vec<(String, &Range<usize>)> = tokens
            .iter()
            .flat_map(|range| {
                let terms = index_terms(&text[range.clone()]);
                terms.split(' ').map(|term| (term.to_owned(), range)).collect::<Vec<_>>()
            })
            .collect();
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for phrase in self.phrases.iter().filter(|phrase| !phrase.is_empty()) {
            let places = terms
                .windows(phrase.len())
                .filter(|window| window.iter().zip(phrase).all(|((term, _), wanted)| term == wanted));
            ranges.extend(places.map(|window| window[0].1.start..window[window.len() - 1].1.end));
        }
        let typed = || tokens.iter().filter(|range| fold(&text[(*range).clone()]) == self.typed);
        if ranges.is_empty() {
            ranges.extend(typed().cloned());
        }
        ranges.sort_by_key(|range| (range.start, range.end));
        ranges.into_iter().fold(Vec::new(), |mut joined, range| {
            match joined.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => joined.push(range),
            }
            joined
        })
    }
}

/// Words, and single characters of scripts without spaces, as byte ranges.
fn token_ranges(text: &str) -> Vec<Range<usize>> {
    let mut tokens: Vec<Range<usize>> = Vec::new();
    let mut open = false;
    for (at, letter) in text.char_indices() {
        let end = at + letter.len_utf8();
        let inner = letter.is_alphanumeric() || (open && matches!(letter, '\'' | '’'));
        match tokens.last_mut() {
            Some(last) if open && inner && !is_unspaced(letter) => last.end = end,
            _ if inner => tokens.push(at..end),
            _ => {}
        }
        open = inner && !is_unspaced(letter);
    }
    tokens
}

/// The text around the first match as HTML: `<b>` around matches, `…` where text is left out, and everything else
/// escaped.
pub(super) fn snippet(text: &str, marks: &MarkedTerms) -> String {
    let ranges = marks.marked_ranges(text);
    let letters: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    let first = ranges.first().map_or(0, |range| letters.partition_point(|at| *at < range.start));
    let from = if letters.len() <= SNIPPET_LENGTH { 0 } else { first.saturating_sub(LEAD_LENGTH) };
    let byte = |letter: usize| letters.get(letter).copied().unwrap_or(text.len());
    let shown = byte(from)..byte(from + SNIPPET_LENGTH);
    let mut html = String::new();
    html.push_str(if shown.start > 0 { "…" } else { "" });
    let mut at = shown.start;
    for range in ranges.iter().filter(|range| range.end <= shown.end && range.start >= shown.start) {
        html.push_str(&escape_html(&text[at..range.start]));
        html.push_str(&format!("<b>{}</b>", escape_html(&text[range.clone()])));
        at = range.end;
    }
    html.push_str(&escape_html(&text[at..shown.end]));
    html.push_str(if shown.end < text.len() { "…" } else { "" });
    html
}

fn escape_html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::query_terms;

    fn marked_snippet(query: &str, text: &str) -> String {
        snippet(text, &MarkedTerms::from_terms(&query_terms(query), query))
    }

    #[test]
    fn words_are_marked_in_whatever_form_they_stand() {
        assert_eq!(marked_snippet("cats", "My cat's name"), "My <b>cat's</b> name");
        assert_eq!(marked_snippet("小黑", "用户养了一只白猫,叫小黑。"), "用户养了一只白猫,叫<b>小黑</b>。");
        assert_eq!(marked_snippet("猫", "猫和狗和猫"), "<b>猫</b>和狗和<b>猫</b>");
        assert_eq!(marked_snippet("the", "The end of the day"), "<b>The</b> end of <b>the</b> day");
    }

    #[test]
    fn html_in_messages_is_escaped() {
        assert_eq!(
            marked_snippet("rain", "<script>rain</script> & more"),
            "&lt;script&gt;<b>rain</b>&lt;/script&gt; &amp; more"
        );
    }

    #[test]
    fn of_a_long_text_the_part_around_the_first_word_is_shown() {
        let text = format!("{}猫{}", "雨".repeat(400), "雪".repeat(400));
        let shown = marked_snippet("猫", &text);
        assert!(shown.starts_with("…雨") && shown.ends_with("雪…") && shown.contains("<b>猫</b>"));
        assert_eq!(shown.replace("<b>", "").replace("</b>", "").chars().count(), SNIPPET_LENGTH + 2);
        assert!(marked_snippet("nothing", &text).ends_with('…'));
    }
}
