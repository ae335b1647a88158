//! What is left out when a prompt does not fit.

use super::sections::{Name, Sections};

/// Estimated tokens of a prompt when nothing else is configured.
const TOKENS_DEFAULT: u32 = 8_000;

/// How long a reply's prompt may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyBudget {
    /// Estimated tokens of both texts, as [`memory::text::estimate_tokens`] counts. The parts that are never cut
    /// may exceed it on their own; then the prompt is as long as they are.
    pub tokens: u32,
}

impl Default for ReplyBudget {
    fn default() -> Self {
        Self { tokens: TOKENS_DEFAULT }
    }
}

/// The order of the cuts: from each section its least useful items go, until so many are left. First the
/// luxury of each section, then what stands there whatever was said, then what was recalled for this message, and
/// at the very end the talk itself, all but the last message. The least useful item is the oldest of talk and
/// sessions and the last of what is ranked.
const CUTS: [(Name, usize); 23] = [
    (Name::Sessions, 2),
    (Name::SelfThoughts, 1),
    (Name::PinnedThoughts, 3),
    (Name::Conversation, 20),
    (Name::Passages, 2),
    (Name::Thoughts, 2),
    (Name::Expectations, 2),
    (Name::Events, 5),
    (Name::Conversation, 6),
    (Name::Sessions, 0),
    (Name::SelfThoughts, 0),
    (Name::PinnedThoughts, 0),
    (Name::Thoughts, 0),
    (Name::Uncertain, 0),
    (Name::Expectations, 0),
    (Name::Fulfilled, 0),
    (Name::Passages, 0),
    (Name::Entities, 0),
    (Name::Promises, 2),
    (Name::Events, 0),
    (Name::Promises, 0),
    (Name::Conversation, 0),
    (Name::Said, 1),
];

/// Cuts items worth at least `excess` tokens; false when nothing was left to cut.
pub(super) fn cut(sections: &mut Sections, excess: u64) -> bool {
    let mut saved = 0;
    for (name, keep) in CUTS {
        let Some(items) = sections.items_mut(name) else { continue };
        while items.len() > keep {
            if saved >= excess {
                return true;
            }
            // The last one, but what a person pinned goes after the others.
            let index = items.iter().rposition(|item| !item.pinned).unwrap_or(items.len() - 1);
            saved += items.remove(index).tokens;
        }
    }
    saved > 0
}

/// Which sections lost items, as `title: lost of all`.
pub(super) fn losses(before: &Sections, after: &Sections) -> Vec<String> {
    let losses = Name::ALL.into_iter().filter_map(|name| {
        let (all, kept) = (before.items(name).len(), after.items(name).len());
        (kept < all).then(|| format!("{}: {} of {all} left out", name.title(), all - kept))
    });
    losses.collect()
}
