//! Exact words, in any script.

use memory::text::fold;

use crate::api::memories::{GrepResults, GreppedMemory, MemoryGrep};
use crate::error::HubError;
use crate::ports::DiaryText;
use crate::service::{Caller, Hub};

/// Results where no number is given.
const RESULTS: u32 = 20;
/// Memories that are read at once, so that a long life need not fit into memory.
const TEXTS_AT_ONCE: u32 = 500;
/// Characters around the first word.
const CONTEXT_LENGTH: usize = 300;

impl Hub {
    /// Memories that hold words of the query, as they are written, whatever their case and width. Words are parted by
    /// blanks; a script without blanks is looked for as it stands.
    pub async fn memory_grep(&self, caller: &Caller, input: MemoryGrep) -> Result<GrepResults, HubError> {
        let query = fold(&input.query);
        let words: Vec<&str> = query.split_whitespace().collect();
        let wanted = input.max_results.unwrap_or(RESULTS).clamp(1, 50) as usize;
        let (mut found, mut total_scanned, mut after) = (Vec::new(), 0, 0);
        loop {
            let texts = self.inner().parts.store.memory_texts(&caller.scope, after, TEXTS_AT_ONCE).await?;
            let Some(last) = texts.last() else { break };
            (after, total_scanned) = (last.number, total_scanned + texts.len());
            found.extend(texts.iter().filter_map(|text| grep(text, &words, &query)));
            found.sort_by(|one: &GreppedMemory, other| {
                other.score.total_cmp(&one.score).then_with(|| other.date.cmp(&one.date))
            });
            found.truncate(wanted);
        }
        Ok(GrepResults { results: found, total_scanned })
    }
}

fn grep(memory: &DiaryText, words: &[&str], query: &str) -> Option<GreppedMemory> {
    let text = fold(&memory.content);
    let held: Vec<&&str> = words.iter().filter(|word| text.contains(**word)).collect();
    let first = held.first()?;
    let place = text.find(query).or_else(|| text.find(**first))?;
    let title = memory.content.lines().find_map(|line| line.strip_prefix("# ")).map(str::trim);
    Some(GreppedMemory {
        granularity: memory.name.granularity(),
        date: memory.name.date(),
        slug: memory.name.slug().cloned(),
        title: title.map_or_else(|| memory.name.date().to_string(), str::to_owned),
        score: held.len() as f64 / words.len() as f64,
        context: around(&memory.content, &text, place),
    })
}

/// The part of a text around a place in its folded form, which may be longer or shorter: the place is found by its share.
fn around(text: &str, folded: &str, place: usize) -> String {
    let before = folded[..place].chars().count();
    let (all, all_folded) = (text.chars().count(), folded.chars().count().max(1));
    let middle = before * all / all_folded;
    let from = middle.saturating_sub(CONTEXT_LENGTH / 3);
    text.chars().skip(from).take(CONTEXT_LENGTH).collect::<String>().trim().to_owned()
}
