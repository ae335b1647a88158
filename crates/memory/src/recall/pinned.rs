//! Memories that are in every prompt, independent of the text.

use std::cmp::{Ordering, Reverse};
use std::collections::HashMap;

use futures_util::try_join;
use jiff::Timestamp;

use super::RecallRequest;
use super::expectations::fulfilled_by;
use super::graph::decay_with_age;
use super::query::Query;
use crate::nodes::{IMPACT_MAX, Node, NodeKind, Subject};
use crate::ports::{NodeOutline, NodeQuery, Store, StoreError};
use crate::sessions::Session;

/// Maximum thoughts about the user in every prompt. The rest of the prompt's room is for memories that match the
/// message.
const THOUGHTS_ABOUT_USER: usize = 10;
const THOUGHTS_ABOUT_SELF: usize = 5;
const INTENTIONS_MAX: usize = 10;
const EXPECTATIONS_MAX: usize = 10;
/// Maximum pinned events, as many as of each other kind, so that pinning can't fill the prompt.
const EVENTS_MAX: u32 = 10;
const SUMMARIES_MAX: u32 = 5;
/// Newest thoughts among which the best are chosen. Older ones are recalled if they match the message.
const THOUGHTS_READ: u32 = 200;
/// Newest promises among which the open ones are chosen. Most are settled within days.
const INTENTIONS_READ: u32 = 50;
/// Newest expectations among which those not overdue are chosen. Most come due within weeks.
const EXPECTATIONS_EXAMINED: u32 = 50;

/// Parts that are in every prompt.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PinnedMemories {
    /// Thoughts about the user, in the order of their weight.
    pub about_user: Vec<Node>,
    /// Thoughts about the persona itself, in the order of their weight.
    pub about_self: Vec<Node>,
    /// Promises that are still open and not overdue, the newest first.
    pub intentions: Vec<Node>,
    /// Expectations that are not overdue, the soonest first; those without a time last.
    pub expectations: Vec<Node>,
    /// Events that a person pinned, the newest first.
    pub events: Vec<Node>,
    /// Expectations that the message fulfils; the other list does not have them.
    pub fulfilled: Vec<Node>,
    /// The newest sessions with a summary, newest first.
    pub summaries: Vec<Session>,
}

pub(super) async fn fetch_pinned(
    store: &dyn Store,
    request: &RecallRequest,
    query: &Query,
    half_life_days: f64,
) -> Result<PinnedMemories, StoreError> {
    let (scope, now) = (&request.scope, request.now);
    let everybody = vec![Subject::User, Subject::Persona, Subject::Shared];
    let user = vec![Subject::User, Subject::Shared];
    let wanted = [
        NodeQuery { kind: NodeKind::Thought, subjects: user, limit: THOUGHTS_READ },
        NodeQuery { kind: NodeKind::Thought, subjects: vec![Subject::Persona], limit: THOUGHTS_READ },
        NodeQuery { kind: NodeKind::Intention, subjects: everybody.clone(), limit: INTENTIONS_READ },
        NodeQuery { kind: NodeKind::Expectation, subjects: everybody.clone(), limit: EXPECTATIONS_EXAMINED },
        NodeQuery { kind: NodeKind::Event, subjects: everybody, limit: EVENTS_MAX },
    ];
    let (outlines, summaries) =
        try_join!(store.outlines_about(scope, &wanted), store.summarised_sessions(scope, SUMMARIES_MAX))?;
    let weight = |outline: &NodeOutline| Some(PinnedWeight::new(outline, now, half_life_days));
    let pending = |outline: &NodeOutline| Some(due_time(outline)).filter(|due| *due >= now);
    let open = |outline: &NodeOutline| pending(outline).map(|_| Reverse(outline.seq));
    let pinned = |outline: &NodeOutline| outline.pinned.then_some(Reverse(outline.seq));
    let [about_user, about_self, intentions, expectations, events] =
        <[_; 5]>::try_from(outlines).unwrap_or_default();
    let chosen = [
        first_by_sort_key(about_user, THOUGHTS_ABOUT_USER, weight),
        first_by_sort_key(about_self, THOUGHTS_ABOUT_SELF, weight),
        first_by_sort_key(intentions, INTENTIONS_MAX, open),
        // All of them, as the message may fulfil any.
        first_by_sort_key(expectations, EXPECTATIONS_EXAMINED as usize, pending),
        first_by_sort_key(events, EVENTS_MAX as usize, pinned),
    ];
    let seqs: Vec<i64> = chosen.iter().flatten().copied().collect();
    let rows = if seqs.is_empty() { Vec::new() } else { store.nodes_numbered(scope, &seqs).await? };
    let rows: HashMap<i64, Node> = rows.into_iter().map(|row| (row.node.seq, row.node)).collect();
    let nodes = |seqs: &[i64]| seqs.iter().filter_map(|seq| rows.get(seq).cloned()).collect::<Vec<_>>();
    let [about_user, about_self, intentions, mut expectations, events] = chosen.map(|seqs| nodes(&seqs));
    let fulfilled = fulfilled_by(store, request, query, &expectations).await?;
    expectations.retain(|node| !fulfilled.iter().any(|known| known.id == node.id));
    Ok(PinnedMemories {
        events,
        about_user: in_order(about_user, THOUGHTS_ABOUT_USER, weight),
        about_self: in_order(about_self, THOUGHTS_ABOUT_SELF, weight),
        intentions,
        expectations: in_order(expectations, EXPECTATIONS_MAX, pending),
        fulfilled,
        summaries,
    })
}

/// Recency times importance, `2^(−days/14) · (1 + |impact|) / 11`; one is added so that a thought without impact
/// still counts. Pinned ones come first, then the highest weight.
#[derive(Clone, Copy, Debug)]
struct PinnedWeight {
    pinned: bool,
    weight: f64,
    created_at: Timestamp,
}

impl PinnedWeight {
    fn new(node: &NodeOutline, now: Timestamp, half_life_days: f64) -> Self {
        let importance = f64::from(1 + node.emotional_impact.unsigned_abs()) / f64::from(1 + IMPACT_MAX);
        let weight = decay_with_age(node.created_at, now, half_life_days) * importance;
        Self { pinned: node.pinned, weight, created_at: node.created_at }
    }
}

impl Ord for PinnedWeight {
    fn cmp(&self, other: &Self) -> Ordering {
        let pinned = other.pinned.cmp(&self.pinned);
        let weight = || other.weight.total_cmp(&self.weight);
        pinned.then_with(weight).then_with(|| other.created_at.cmp(&self.created_at))
    }
}

impl PartialOrd for PinnedWeight {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PinnedWeight {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for PinnedWeight {}

/// Sorting key: the time at which an expectation is due. Those without a time come last.
fn due_time(node: &NodeOutline) -> Timestamp {
    node.event_time.map_or(Timestamp::MAX, |time| time.end.unwrap_or(time.start))
}

/// The first `count` numbers by their sort key, in order, and those that are equal to the last one.
fn first_by_sort_key<P: Ord + Copy>(
    outlines: Vec<NodeOutline>,
    count: usize,
    place: impl Fn(&NodeOutline) -> Option<P>,
) -> Vec<i64> {
    let mut placed: Vec<(P, i64)> =
        outlines.iter().filter_map(|outline| Some((place(outline)?, outline.seq))).collect();
    placed.sort_by_key(|(place, _)| *place);
    let last = placed.get(count.saturating_sub(1)).map(|(place, _)| *place);
    placed
        .into_iter()
        .take_while(|(place, _)| last.is_none_or(|last| *place <= last))
        .map(|(_, seq)| seq)
        .collect()
}

/// The first `count` by their sort key; equal nodes by their text.
fn in_order<P: Ord>(
    mut nodes: Vec<Node>,
    count: usize,
    place: impl Fn(&NodeOutline) -> Option<P>,
) -> Vec<Node> {
    let place = |node: &Node| place(&NodeOutline::from(node));
    nodes.sort_by(|a, b| place(a).cmp(&place(b)).then_with(|| a.description.cmp(&b.description)));
    nodes.truncate(count);
    nodes
}
