//! Former values in the prompt's other texts: removed from diaries, roll-ups and the mood, noted beside core blocks
//! and identity documents.

use hub::PromptDocuments;
use memory::core_blocks::CoreBlocks;
use memory::mood::Mood;
use memory::recall::OutdatedValues;

/// The mood without a signal that states a former value.
pub(crate) fn without_former_signal(mut mood: Mood, corrected: &mut OutdatedValues) -> Mood {
    mood.last_user_signal =
        mood.last_user_signal.and_then(|signal| corrected.without_former_values(&signal, "mood"));
    mood
}

/// Texts to check for values that are no longer current: documents, core blocks and the mood's signal.
pub(crate) fn texts_with_possible_former_values(
    shared: &PromptDocuments,
    core_blocks: &CoreBlocks,
    mood: Option<&Mood>,
) -> Vec<String> {
    let written = shared.documents.iter().chain(&shared.periods).map(|(_, text)| text);
    let related = shared.related.iter().map(|memory| &memory.excerpt);
    let blocks = [&core_blocks.persona, &core_blocks.user, &core_blocks.style];
    let signal = mood.and_then(|mood| mood.last_user_signal.as_ref());
    written.chain(related).chain(blocks).chain(signal).cloned().collect()
}

/// Removes sentences with former values from diaries and roll-ups: a question about the past is answered with dates.
/// Identity documents and core blocks stay as they were written; their former values are noted.
pub(crate) fn omit_from_periods(
    mut shared: PromptDocuments,
    core_blocks: &CoreBlocks,
    corrected: &mut OutdatedValues,
) -> PromptDocuments {
    for text in [&core_blocks.persona, &core_blocks.user, &core_blocks.style] {
        corrected.note_former_values_in(text);
    }
    for (_, text) in &shared.documents {
        corrected.note_former_values_in(text);
    }
    shared.periods.retain_mut(|(_, text)| remove_outdated_values(text, corrected));
    shared.related.retain_mut(|memory| remove_outdated_values(&mut memory.excerpt, corrected));
    shared
}

fn remove_outdated_values(text: &mut String, corrected: &mut OutdatedValues) -> bool {
    let left = corrected.without_former_values(text, "document");
    let is_left = left.is_some();
    *text = left.unwrap_or_default();
    is_left
}
