//! Times named by an occasion: 生日那天, on my birthday, the day of the wedding.

use std::cmp::Reverse;

use jiff::Timestamp;

use super::RecallRequest;
use super::word_search::find_words;
use super::words::IndexedText;
use crate::nodes::NodeKind;
use crate::ports::{Corpus, Store, StoreError};
use crate::text::lexicon::occasions as lexicon;
use crate::text::{fold, is_unspaced, query_terms, to_moments};

/// Maximum nodes to consider for an occasion's words. All that contain one of its words are wanted, but "birthday"
/// comes every year.
const OCCASION_CANDIDATES_MAX: usize = 60;
/// Minimum share of an occasion's words that an event must contain. The share is 0.92 when the event has all of them once.
const OCCASION_SHARE_MIN: f64 = 0.85;
/// Maximum events that an occasion may refer to, the latest first.
const EVENTS_MAX: usize = 3;
/// Maximum occasions of one text. Each is a search of its own.
const OCCASIONS_MAX: usize = 3;
/// Maximum content words before 那天 that name the occasion. Earlier words belong to another phrase.
const TERMS_MAX: usize = 2;
/// Maximum characters before 那天, and words after "the day of", that name the occasion.
const CHARACTERS_MAX: usize = 10;
const WORDS_MAX: usize = 4;

/// The days of the occasions that the text mentions, from first to last moment: of each the latest matching events
/// with a time; a future one only if there is no other.
pub(super) async fn days_of_occasions(
    store: &dyn Store,
    request: &RecallRequest,
) -> Result<Vec<(Timestamp, Timestamp)>, StoreError> {
    let mut days = Vec::new();
    for occasion in occasions_in(&fold(&request.text)).into_iter().take(OCCASIONS_MAX) {
        // The words next to 那天 name the occasion; words further away are about something else.
        let mut terms = query_terms(&occasion);
        if occasion.chars().any(is_unspaced) {
            terms.drain(..terms.len().saturating_sub(TERMS_MAX));
        }
        if terms.is_empty() {
            continue;
        }
        let words = find_words(
            store,
            &request.scope,
            Corpus::Nodes,
            terms.iter().map(|term| (term, 1.0)),
            OCCASION_CANDIDATES_MAX,
        )
        .await?;
        let mut times: Vec<(Timestamp, Timestamp)> = store
            .nodes_numbered(&request.scope, &words.seqs)
            .await?
            .into_iter()
            .filter(|indexed| indexed.node.kind == NodeKind::Event)
            .filter(|indexed| {
                words.statistics.relevance(&terms, &IndexedText::new(&indexed.terms)) >= OCCASION_SHARE_MIN
            })
            .filter_map(|indexed| {
                let time = indexed.node.event_time?;
                let date = |at: Timestamp| at.to_zoned(request.zone.clone()).date();
                to_moments((date(time.start), date(time.end.unwrap_or(time.start))), &request.zone)
            })
            .collect();
        times.sort_unstable_by_key(|(start, _)| (*start > request.now, Reverse(*start)));
        times.dedup();
        let past = times.iter().take_while(|(start, _)| *start <= request.now).count();
        times.truncate(if past > 0 { past.min(EVENTS_MAX) } else { 1 });
        days.extend(times);
    }
    Ok(days)
}

/// The words by which a folded text names occasions.
fn occasions_in(folded: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for mark in lexicon::THAT_DAY.iter() {
        for (at, _) in folded.match_indices(mark) {
            let before: Vec<char> =
                folded[..at].chars().rev().take_while(|c| is_unspaced(*c)).take(CHARACTERS_MAX).collect();
            let occasion: String = before.into_iter().rev().collect();
            if !occasion.is_empty() && !found.contains(&occasion) {
                found.push(occasion);
            }
        }
    }
    let words: Vec<&str> =
        folded.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty()).collect();
    for at in 0..words.len() {
        found.extend(read_occasion(&words[at..]));
    }
    found
}

/// Parses "on my birthday", "at our wedding", "the day of her exam", "the day we moved".
fn read_occasion(words: &[&str]) -> Option<String> {
    match words {
        ["on" | "at" | "during" | "for", whose, rest @ ..] if lexicon::WHOSE.contains(whose) => {
            let length = rest.iter().take(WORDS_MAX).position(|word| lexicon::OCCASIONS.contains(word))?;
            Some(rest[..=length].join(" "))
        }
        [
            "day" | "night" | "evening",
            "of" | "when" | "that" | "i" | "we" | "she" | "he" | "they",
            rest @ ..,
        ] if !rest.is_empty() => Some(rest.iter().take(WORDS_MAX).copied().collect::<Vec<_>>().join(" ")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn occasions_are_named_in_both_languages() {
        let cases = [
            ("我生日那天我们吃了什么", vec!["我生日"]),
            ("毕业典礼当天下雨了吗", vec!["毕业典礼"]),
            ("What did we eat on my 30th birthday?", vec!["30th birthday"]),
            ("where were you the day of the wedding", vec!["the wedding"]),
            ("the day we moved to Ulm, remember?", vec!["moved to ulm remember"]),
            ("it is on the table", vec![]),
            ("那天真好", vec![]),
        ];
        for (text, expected) in cases {
            assert_eq!(occasions_in(&fold(text)), expected, "{text}");
        }
    }
}
