//! What is in every prompt, whatever the text.

use jiff::Timestamp;

use super::graph::decay;
use crate::nodes::{IMPACT_MAX, Node, NodeKind, Subject};
use crate::ports::{Store, StoreError};
use crate::scope::Scope;
use crate::sessions::Session;

const THOUGHTS_ABOUT_USER: usize = 10;
const THOUGHTS_ABOUT_SELF: usize = 5;
const INTENTIONS: u32 = 10;
const EXPECTATIONS: usize = 10;
/// Events that a person pinned.
const EVENTS: u32 = 10;
const SUMMARIES: u32 = 5;
/// Newest thoughts among which the weightiest are chosen.
const THOUGHTS_LOOKED_AT: u32 = 200;
/// Newest expectations among which those not overdue are chosen.
const EXPECTATIONS_LOOKED_AT: u32 = 50;

/// What is in every prompt.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pinned {
    /// Thoughts about the user, the weightiest first.
    pub about_user: Vec<Node>,
    /// Thoughts about the persona itself, the weightiest first.
    pub about_self: Vec<Node>,
    /// Promises that are still open, the newest first.
    pub intentions: Vec<Node>,
    /// Expectations that are not overdue, the soonest first; those without a time last.
    pub expectations: Vec<Node>,
    /// Events that a person pinned, the newest first.
    pub events: Vec<Node>,
    /// The newest sessions with a summary, newest first.
    pub summaries: Vec<Session>,
}

pub(super) async fn fetch_pinned(
    store: &dyn Store,
    scope: &Scope,
    now: Timestamp,
    half_life_days: f64,
) -> Result<Pinned, StoreError> {
    let everybody = [Subject::User, Subject::Persona, Subject::Shared];
    let about_user = store
        .nodes_about(scope, NodeKind::Thought, &[Subject::User, Subject::Shared], THOUGHTS_LOOKED_AT)
        .await?;
    let about_self =
        store.nodes_about(scope, NodeKind::Thought, &[Subject::Persona], THOUGHTS_LOOKED_AT).await?;
    let intentions = store.nodes_about(scope, NodeKind::Intention, &everybody, INTENTIONS).await?;
    let expectations =
        store.nodes_about(scope, NodeKind::Expectation, &everybody, EXPECTATIONS_LOOKED_AT).await?;
    let mut events = store.nodes_about(scope, NodeKind::Event, &everybody, EVENTS).await?;
    events.retain(|event| event.pinned);
    Ok(Pinned {
        events,
        about_user: weightiest(about_user, THOUGHTS_ABOUT_USER, now, half_life_days),
        about_self: weightiest(about_self, THOUGHTS_ABOUT_SELF, now, half_life_days),
        intentions,
        expectations: not_overdue(expectations, now),
        summaries: store.summarised_sessions(scope, SUMMARIES).await?,
    })
}

/// Recency times importance, `2^(−days/14) · (1 + |impact|) / 11`: one is added so that an even-tempered thought is not
/// worth nothing. What a person pinned comes before all else.
fn weightiest(mut thoughts: Vec<Node>, count: usize, now: Timestamp, half_life_days: f64) -> Vec<Node> {
    let weight = |node: &Node| {
        let importance = f64::from(1 + node.emotional_impact.unsigned_abs()) / f64::from(1 + IMPACT_MAX);
        decay(node.created_at, now, half_life_days) * importance
    };
    thoughts.sort_by(|a, b| {
        b.pinned
            .cmp(&a.pinned)
            .then_with(|| weight(b).total_cmp(&weight(a)))
            .then_with(|| b.created_at.cmp(&a.created_at))
            .then_with(|| a.description.cmp(&b.description))
    });
    thoughts.truncate(count);
    thoughts
}

fn not_overdue(mut expectations: Vec<Node>, now: Timestamp) -> Vec<Node> {
    let due = |node: &Node| node.event_time.map_or(Timestamp::MAX, |time| time.end.unwrap_or(time.start));
    expectations.retain(|node| due(node) >= now);
    expectations.sort_by(|a, b| due(a).cmp(&due(b)).then_with(|| a.description.cmp(&b.description)));
    expectations.truncate(EXPECTATIONS);
    expectations
}
