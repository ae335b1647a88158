//! Shortens a prompt that does not fit.

use memory::text::estimate_tokens;

use super::context::LabelledText;
use super::sections::{Item, ItemForm, Name, Sections};

/// Default of the maximum tokens of a prompt.
const TOKENS_DEFAULT: u32 = 8_000;

/// Limits of a reply's prompt, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyBudget {
    /// Maximum estimated tokens of both texts, as counted by [`memory::text::estimate_tokens`]. The parts that are
    /// never cut may exceed it on their own.
    pub tokens: u32,
}

impl Default for ReplyBudget {
    fn default() -> Self {
        Self { tokens: TOKENS_DEFAULT }
    }
}

/// Share (1/n) of the budget that a section of whole texts may take before others are cut: a prompt needs room for
/// the conversation, however long the documents are.
const SECTION_SHARES: [(Name, u64); 3] = [(Name::Documents, 3), (Name::Lore, 6), (Name::Periods, 4)];
/// Minimum tokens that are worth showing the beginning of a text.
const BEGINNING_TOKENS_MIN: u64 = 40;
/// Marks the end of a shortened text.
const CUT_MARK: &str = "… (it goes on)";

/// The order of the cuts: each step removes the least useful items of a section until the given number is left. First
/// come the surplus items of each section, then items that are in every prompt, then memories recalled for this
/// message, and at the very end the conversation, except for the last message. The least useful item is the oldest
/// one of the conversation and of sessions, and the last one of a ranking.
const CUT_ORDER: [(Name, usize); 29] = [
    (Name::Sessions, 2),
    (Name::SelfThoughts, 1),
    (Name::PinnedThoughts, 3),
    (Name::Conversation, 20),
    (Name::Passages, 2),
    (Name::Thoughts, 2),
    (Name::Documents, 6),
    (Name::Lore, 4),
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
    (Name::Documents, 2),
    (Name::Lore, 0),
    (Name::Passages, 0),
    (Name::Entities, 0),
    (Name::Promises, 2),
    (Name::Periods, 0),
    (Name::Events, 0),
    (Name::Documents, 0),
    (Name::Promises, 0),
    (Name::Conversation, 0),
    (Name::Said, 1),
];

/// Shortens the sections of whole texts to their shares, and returns which texts were shortened. The share of
/// documents and of lore goes to the first ones; periods are equally important, so each gets an equal part, and
/// unused room goes to the others. A shortened text keeps its first whole lines.
pub(super) fn distribute_budget(sections: &mut Sections, budget: &ReplyBudget) -> Vec<String> {
    let mut shortened = 0;
    for (name, part) in SECTION_SHARES {
        let share = u64::from(budget.tokens) / part;
        let Some(items) = sections.items_mut(name) else { continue };
        if items.iter().map(|item| item.tokens).sum::<u64>() <= share {
            continue;
        }
        let rooms = share_budget(items, share, name == Name::Periods);
        let whole = std::mem::take(items);
        for (item, room) in whole.into_iter().zip(rooms) {
            if item.tokens <= room {
                items.push(item);
            } else if let Some(beginning) = beginning_that_fits(&item, room) {
                items.push(beginning);
                shortened += 1;
            }
        }
    }
    if shortened == 0 { Vec::new() } else { vec![format!("Whole texts: {shortened} shortened")] }
}

/// The number of tokens that each item may take.
fn share_budget(items: &[Item], share: u64, alike: bool) -> Vec<u64> {
    let mut left = share;
    let mut rooms = vec![0; items.len()];
    let mut order: Vec<usize> = (0..items.len()).collect();
    if alike {
        // The short texts first, so that room they do not use is available to the long ones.
        order.sort_by_key(|at| items[*at].tokens);
    }
    for (done, at) in order.into_iter().enumerate() {
        let others = if alike { (items.len() - done) as u64 } else { 1 };
        rooms[at] = items[at].tokens.min(left / others);
        left -= rooms[at];
    }
    rooms
}

/// The first lines of a text that fit, with a mark for the missing rest; `None` if they would be too few.
fn beginning_that_fits(item: &Item, room: u64) -> Option<Item> {
    let ItemForm::Text(LabelledText { label, text }) = &item.shown else { return None };
    let estimate = |text: &str| u64::from(estimate_tokens(text)) + 2;
    let mut left = room
        .checked_sub(estimate(label) + estimate(CUT_MARK))
        .filter(|left| *left >= BEGINNING_TOKENS_MIN)?;
    let mut kept: Vec<&str> = Vec::new();
    for line in text.lines() {
        let Some(rest) = left.checked_sub(estimate(line)) else { break };
        left = rest;
        kept.push(line);
    }
    if kept.is_empty() {
        // A single long line: as many characters as there are tokens fit in any script.
        let end = text.char_indices().nth(usize::try_from(left).ok()?).map_or(text.len(), |(at, _)| at);
        kept.push(&text[..end]);
    }
    let text = format!("{}\n{CUT_MARK}", kept.join("\n").trim_end());
    Some(Item::new(ItemForm::Text(LabelledText { label: label.clone(), text })))
}

/// Cuts items of at least `excess` tokens in total; false if nothing is left to cut.
pub(super) fn cut_sections(sections: &mut Sections, excess: u64) -> bool {
    let mut saved = 0;
    for (name, keep) in CUT_ORDER {
        let Some(items) = sections.items_mut(name) else { continue };
        while items.len() > keep {
            if saved >= excess {
                return true;
            }
            // The last item, but pinned ones after all others.
            let index = items.iter().rposition(|item| !item.pinned).unwrap_or(items.len() - 1);
            saved += items.remove(index).tokens;
        }
    }
    saved > 0
}

/// Sections that lost items, as `title: lost of all`.
pub(super) fn describe_lost_items(before: &Sections, after: &Sections) -> Vec<String> {
    let losses = Name::ALL.into_iter().filter_map(|name| {
        let (all, kept) = (before.section_items(name).len(), after.section_items(name).len());
        (kept < all).then(|| format!("{}: {} of {all} left out", name.title(), all - kept))
    });
    losses.collect()
}
