//! What is in every prompt, whatever the text.

use jiff::Timestamp;

use super::RecallRequest;
use super::expectations::{fulfilled, is_overdue};
use super::graph::decay;
use super::query::Query;
use crate::nodes::{IMPACT_MAX, Node, NodeKind, Subject};
use crate::ports::{Store, StoreError};
use crate::sessions::Session;

const THOUGHTS_ABOUT_USER: usize = 10;
const THOUGHTS_ABOUT_SELF: usize = 5;
const INTENTIONS: usize = 10;
const EXPECTATIONS: usize = 10;
const SUMMARIES: u32 = 5;
/// Newest thoughts among which the weightiest are chosen.
const THOUGHTS_LOOKED_AT: u32 = 200;
/// Newest promises among which those still open are chosen.
const INTENTIONS_LOOKED_AT: u32 = 50;
/// Newest expectations among which those not overdue are chosen.
const EXPECTATIONS_LOOKED_AT: u32 = 50;

/// What is in every prompt.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pinned {
    /// Thoughts about the user, the weightiest first.
    pub about_user: Vec<Node>,
    /// Thoughts about the persona itself, the weightiest first.
    pub about_self: Vec<Node>,
    /// Promises that are still open and not overdue, the newest first.
    pub intentions: Vec<Node>,
    /// Expectations that are not overdue, the soonest first; those without a time last.
    pub expectations: Vec<Node>,
    /// Expectations that the message fulfils; they are not among the others.
    pub fulfilled: Vec<Node>,
    /// The newest sessions with a summary, newest first.
    pub summaries: Vec<Session>,
}

pub(super) async fn fetch_pinned(
    store: &dyn Store,
    request: &RecallRequest,
    query: &Query,
    half_life_days: f64,
) -> Result<Pinned, StoreError> {
    let (scope, now) = (&request.scope, request.now);
    let everybody = [Subject::User, Subject::Persona, Subject::Shared];
    let about_user = store
        .nodes_about(scope, NodeKind::Thought, &[Subject::User, Subject::Shared], THOUGHTS_LOOKED_AT)
        .await?;
    let about_self =
        store.nodes_about(scope, NodeKind::Thought, &[Subject::Persona], THOUGHTS_LOOKED_AT).await?;
    let mut intentions =
        store.nodes_about(scope, NodeKind::Intention, &everybody, INTENTIONS_LOOKED_AT).await?;
    intentions.retain(|node| !is_overdue(node, now));
    intentions.truncate(INTENTIONS);
    let mut expectations =
        store.nodes_about(scope, NodeKind::Expectation, &everybody, EXPECTATIONS_LOOKED_AT).await?;
    expectations.retain(|node| !is_overdue(node, now));
    let fulfilled = fulfilled(store, request, query, &expectations).await?;
    expectations.retain(|node| !fulfilled.iter().any(|known| known.id == node.id));
    Ok(Pinned {
        about_user: weightiest(about_user, THOUGHTS_ABOUT_USER, now, half_life_days),
        about_self: weightiest(about_self, THOUGHTS_ABOUT_SELF, now, half_life_days),
        intentions,
        expectations: soonest(expectations),
        fulfilled,
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

fn soonest(mut expectations: Vec<Node>) -> Vec<Node> {
    let due = |node: &Node| node.event_time.map_or(Timestamp::MAX, |time| time.end.unwrap_or(time.start));
    expectations.sort_by(|a, b| due(a).cmp(&due(b)).then_with(|| a.description.cmp(&b.description)));
    expectations.truncate(EXPECTATIONS);
    expectations
}
