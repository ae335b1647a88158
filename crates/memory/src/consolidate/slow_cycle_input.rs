//! Selects the input of a cycle if not everything fits.

use std::collections::BTreeSet;

use crate::nodes::Node;
use crate::ports::{EntityToDescribe, SlowCycleInput};
use crate::text::estimate_tokens;

/// Tokens for the instructions, with some margin. The rest of the model's context is for events.
const INSTRUCTION_TOKENS: u64 = 2_400;
/// Tokens of one line besides its text: id, date, impact.
const LINE_TOKENS: u64 = 25;
/// Maximum tokens of one core block; the rest is left out.
const BLOCK_TOKENS: u32 = 800;

/// Cuts the input to `tokens`: room is given to events first, the newest first, then to thoughts, expectations and
/// entities. Descriptions are bounded, so one event always fits into a cycle's 8,000 tokens.
pub(super) fn cut_to_tokens(mut input: SlowCycleInput, tokens: u32) -> SlowCycleInput {
    let blocks = &mut input.core_blocks;
    for block in [&mut blocks.persona, &mut blocks.user] {
        *block = shorten(block, BLOCK_TOKENS);
    }
    blocks.style.clear();
    let mut room = u64::from(tokens).saturating_sub(INSTRUCTION_TOKENS);
    let fixed = [&blocks.persona, &blocks.user].into_iter().chain(&input.salient_questions);
    room = room.saturating_sub(fixed.map(|text| line_tokens(text)).sum());
    input.events.reverse();
    input.events = take_items_that_fit(std::mem::take(&mut input.events), &mut room, node_cost);
    input.events.reverse();
    input.thoughts = take_items_that_fit(std::mem::take(&mut input.thoughts), &mut room, node_cost);
    input.expectations = take_items_that_fit(std::mem::take(&mut input.expectations), &mut room, node_cost);
    let included: BTreeSet<_> = input.events.iter().map(|event| event.id).collect();
    input.entities.retain(|entity| entity.events.iter().any(|event| included.contains(&event.id)));
    input.entities = take_items_that_fit(std::mem::take(&mut input.entities), &mut room, entity_cost);
    input
}

/// The items up to the first that does not fit.
fn take_items_that_fit<T>(items: Vec<T>, room: &mut u64, cost: impl Fn(&T) -> u64) -> Vec<T> {
    let mut kept = Vec::new();
    for item in items {
        let Some(left) = room.checked_sub(cost(&item)) else { break };
        *room = left;
        kept.push(item);
    }
    kept
}

fn node_cost(node: &Node) -> u64 {
    line_tokens(&node.description)
}

fn entity_cost(entity: &EntityToDescribe) -> u64 {
    let described = entity.entity.description.as_deref().map_or(0, line_tokens);
    LINE_TOKENS + described + entity.events.iter().map(node_cost).sum::<u64>()
}

fn line_tokens(text: &str) -> u64 {
    u64::from(estimate_tokens(text)) + LINE_TOKENS
}

fn shorten(text: &str, tokens: u32) -> String {
    if estimate_tokens(text) <= tokens {
        return text.to_owned();
    }
    let mut length = text.chars().count();
    loop {
        length = length * 9 / 10;
        let cut: String = text.chars().take(length).collect();
        if length == 0 || estimate_tokens(&cut) <= tokens {
            return cut;
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use jiff::tz::TimeZone;

    use super::super::fixtures::node_about_user;
    use super::*;
    use crate::core_blocks::CoreBlocks;
    use crate::identifiers::SessionId;
    use crate::nodes::NodeKind;

    fn input(events: Vec<Node>) -> SlowCycleInput {
        SlowCycleInput {
            session_id: SessionId(uuid::Uuid::nil()),
            persona_name: "Echo".to_owned(),
            core_blocks: CoreBlocks { persona: "我".repeat(5_000), ..CoreBlocks::default() },
            now: Timestamp::UNIX_EPOCH,
            zone: TimeZone::UTC,
            elapsed: None,
            events,
            thoughts: vec![node_about_user(NodeKind::Thought, &"想".repeat(400)); 5],
            expectations: Vec::new(),
            salient_questions: Vec::new(),
            entities: Vec::new(),
            answer_tokens: 1_000,
        }
    }

    #[test]
    fn the_oldest_events_go_first_and_a_long_block_is_shortened() {
        let events: Vec<Node> = (1..=9)
            .map(|n| node_about_user(NodeKind::Event, &format!("{n}{}", "事".repeat(1_900))))
            .collect();
        let fitted = cut_to_tokens(input(events), 8_000);
        let left: Vec<char> =
            fitted.events.iter().filter_map(|event| event.description.chars().next()).collect();
        assert!(!left.is_empty() && left.len() < 9, "{left:?}");
        assert_eq!(left.last(), Some(&'9'), "the newest stays");
        assert!(left.is_sorted(), "still oldest first: {left:?}");
        assert!(estimate_tokens(&fitted.core_blocks.persona) <= BLOCK_TOKENS);
    }

    #[test]
    fn remaining_items_fit() {
        let events: Vec<Node> =
            (0..30).map(|n| node_about_user(NodeKind::Event, &"事".repeat(100 + n * 37))).collect();
        let fitted = cut_to_tokens(input(events), 8_000);
        let included = fitted.events.iter().chain(&fitted.thoughts).map(|node| node.description.as_str());
        let tokens: u32 = included.chain([fitted.core_blocks.persona.as_str()]).map(estimate_tokens).sum();
        assert!(tokens + 2_400 <= 8_000, "{tokens}");
    }
}
