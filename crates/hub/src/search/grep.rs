//! Search for exact words, in any script.

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;

use memory::text::{fold, query_grams};

use crate::api::memories::{GrepResults, GreppedMemory, MemoryGrep};
use crate::error::HubError;
use crate::names::{DiaryName, DocumentName};
use crate::service::{Caller, Hub};

/// Default number of results. Each has only the text around its first match.
const RESULTS_DEFAULT: u32 = 20;
/// Maximum words of a query. Each is looked up by itself.
const WORDS_MAX: usize = 64;
/// Maximum chunks that the index returns for each word, the newest first. It bounds the time of a search for common
/// words.
const CHUNKS_MAX: u32 = 2_000;
/// Maximum memories to read, one at a time, those that may contain the most words first. It bounds the time for a
/// word that is everywhere.
const TEXTS_MAX: usize = 500;
/// Characters of context around the first match. They are two or three sentences.
const CONTEXT_LENGTH: usize = 300;

impl Hub {
    /// Finds memories that contain words of the query literally, also inside other words, ignoring case and width.
    /// Words are separated by spaces; text in a script without spaces is searched as it is. An index of grams limits
    /// which texts are read.
    pub async fn memory_grep(&self, caller: &Caller, input: MemoryGrep) -> Result<GrepResults, HubError> {
        let query = fold(&input.query);
        let words: Vec<&str> = query.split_whitespace().take(WORDS_MAX).collect();
        let wanted = input.max_results.unwrap_or(RESULTS_DEFAULT).clamp(1, 50) as usize;
        let store = &self.shared_parts().parts.store;
        let names = store.memory_names(&caller.scope).await?;
        let total_scanned = names.len();
        let mut found: Vec<GreppedMemory> = Vec::new();
        for (name, words_max) in self.grep_candidates(caller, &words).await?.into_iter().take(TEXTS_MAX) {
            let score_max = words_max as f64 / words.len() as f64;
            if found.get(wanted - 1).is_some_and(|last| (last.score, last.date) >= (score_max, name.date())) {
                break;
            }
            let document = store.document(&caller.scope, &DocumentName::Diary(name.clone())).await?;
            let text = document.as_ref().and_then(|document| document.content());
            found.extend(text.and_then(|text| grep(&name, text, &words, &query)));
            found.sort_by(compare_grepped);
            found.truncate(wanted);
        }
        Ok(GrepResults { results: found, total_scanned })
    }

    /// Memories that may contain words of the query, each with their number: the highest number first, then the
    /// newest.
    async fn grep_candidates(
        &self,
        caller: &Caller,
        words: &[&str],
    ) -> Result<Vec<(DiaryName, usize)>, HubError> {
        let grams = words.iter().map(|word| query_grams(word)).collect();
        let mut counts: BTreeMap<DiaryName, usize> = BTreeMap::new();
        for holders in
            self.shared_parts().parts.store.memories_with_grams(&caller.scope, grams, CHUNKS_MAX).await?
        {
            for name in holders {
                *counts.entry(name).or_default() += 1;
            }
        }
        let mut candidates: Vec<(DiaryName, usize)> = counts.into_iter().collect();
        candidates.sort_by_key(|(name, count)| (Reverse(*count), Reverse(name.date())));
        Ok(candidates)
    }
}

fn compare_grepped(one: &GreppedMemory, other: &GreppedMemory) -> Ordering {
    other.score.total_cmp(&one.score).then_with(|| other.date.cmp(&one.date))
}

fn grep(name: &DiaryName, content: &str, words: &[&str], query: &str) -> Option<GreppedMemory> {
    let text = fold(content);
    let held: Vec<&&str> = words.iter().filter(|word| text.contains(**word)).collect();
    let first = held.first()?;
    let place = text.find(query).or_else(|| text.find(**first))?;
    let title = content.lines().find_map(|line| line.strip_prefix("# ")).map(str::trim);
    Some(GreppedMemory {
        granularity: name.granularity(),
        date: name.date(),
        slug: name.slug().cloned(),
        title: title.map_or_else(|| name.date().to_string(), str::to_owned),
        score: held.len() as f64 / words.len() as f64,
        context: text_around(content, &text, place),
    })
}

/// The text around a position given in its folded form. The folded form may differ in length, so the position is
/// scaled.
fn text_around(text: &str, folded: &str, place: usize) -> String {
    let before = folded[..place].chars().count();
    let (all, all_folded) = (text.chars().count(), folded.chars().count().max(1));
    let middle = before * all / all_folded;
    let from = middle.saturating_sub(CONTEXT_LENGTH / 3);
    text.chars().skip(from).take(CONTEXT_LENGTH).collect::<String>().trim().to_owned()
}
