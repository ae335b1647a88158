//! Proactive messages: at each tick the gates are checked in order, then one trigger at a time, and each decision is
//! stored.
//!
//! If something can't be read, nothing is sent.

mod gates;
mod message;
pub(crate) mod quiet;
mod triggers;

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::StreamExt as _;
use jiff::{SignedDuration, Timestamp};
use memory::identifiers::DecisionId;
use memory::nodes::Node;
use memory::ports::{ChannelWrite, ProactiveStore, StoreError};
use memory::proactive::{ProactiveDecision, ProactiveGate, ProactiveOutcome, ProactiveView};
use memory::recall::outdated_nodes;
use memory::{Scope, UserId};

use crate::channels::Outbound;
use crate::core::RuntimeCore;
use crate::messages::Messages;
use crate::recall::Recall;
use crate::turns::conversations::Conversations;
use crate::voice::Voice;
use crate::worker::{NextRun, WakeCause, Worker};
use gates::GateFacts;
use message::{note_gate, write_and_send};
use triggers::MessageOccasion;

/// The channel that always accepts a message: it is shown when the user opens the page.
const WEB_CHANNEL: &str = "web";
/// Scopes to process at the same time, so that one slow answer does not delay the others.
const SCOPES_AT_ONCE: usize = 4;
/// Period for which decisions without a message are stored.
const DECISION_RETENTION: SignedDuration = SignedDuration::from_hours(90 * 24);
const DAY: SignedDuration = SignedDuration::from_hours(24);
/// Reason of a decision that a crash left unfinished.
const UNFINISHED_REASON: &str = "EchoVessel stopped before the message was written; nothing was sent";

/// The last decision of each scope: a new one is stored only if it differs.
type LastDecisions = HashMap<Scope, ProactiveDecision>;

/// Decides about proactive messages, and sends them.
pub(crate) struct Proactive {
    core: Arc<RuntimeCore>,
    messages: Arc<Messages>,
    recall: Arc<Recall>,
    voice: Arc<Voice>,
    outbound: Outbound,
    conversations: Arc<Conversations>,
}

/// The services that a proactive message needs.
pub(crate) struct ProactiveParts {
    pub(crate) messages: Arc<Messages>,
    pub(crate) recall: Arc<Recall>,
    pub(crate) voice: Arc<Voice>,
    pub(crate) outbound: Outbound,
    pub(crate) conversations: Arc<Conversations>,
}

impl Proactive {
    pub(crate) fn new(core: Arc<RuntimeCore>, parts: ProactiveParts) -> Self {
        let ProactiveParts { messages, recall, voice, outbound, conversations } = parts;
        Self { core, messages, recall, voice, outbound, conversations }
    }
}

/// Checks all scopes at each tick. While it is disabled nothing is read.
pub(crate) struct ProactiveWorker {
    proactive: Proactive,
    has_settled_unfinished: bool,
    standing: LastDecisions,
    swept: Option<Timestamp>,
}

impl ProactiveWorker {
    pub(crate) fn new(proactive: Proactive) -> Self {
        Self { proactive, has_settled_unfinished: false, standing: LastDecisions::default(), swept: None }
    }
}

impl Worker for ProactiveWorker {
    const NAME: &str = "proactive";

    async fn run_once(&mut self, _: WakeCause) -> NextRun {
        let proactive = &self.proactive;
        let (core, store) = (&proactive.core, proactive.core.proactive());
        if !self.has_settled_unfinished {
            fail_unfinished(store).await;
            self.has_settled_unfinished = true;
        }
        let settings = core.settings();
        if !settings.proactive.enabled {
            return NextRun::WhenWoken;
        }
        check_all_scopes(proactive, store, &mut self.standing).await;
        delete_old_decisions(core, store, &mut self.swept).await;
        NextRun::Within(settings.proactive.tick)
    }
}

async fn fail_unfinished(store: &dyn ProactiveStore) {
    match store.fail_unfinished_decisions(UNFINISHED_REASON).await {
        Ok(0) => {}
        Ok(unfinished) => tracing::info!(unfinished, "decisions about proactive messages were interrupted"),
        Err(error) => tracing::warn!("interrupted decisions about proactive messages stay open: {error}"),
    }
}

/// Deletes old decisions without a message, once a day.
async fn delete_old_decisions(core: &RuntimeCore, store: &dyn ProactiveStore, swept: &mut Option<Timestamp>) {
    let now = core.clock().now();
    if swept.is_some_and(|at| now.duration_since(at).abs() < DAY) {
        return;
    }
    // Set before the attempt: after a failure, the next day is soon enough.
    *swept = Some(now);
    let Ok(before) = now.checked_sub(DECISION_RETENTION) else { return };
    if let Err(error) = store.drop_decisions(before).await {
        tracing::warn!("old decisions about proactive messages could not be deleted: {error}");
    }
}

async fn check_all_scopes(proactive: &Proactive, store: &dyn ProactiveStore, standing: &mut LastDecisions) {
    let scopes = match store.proactive_scopes().await {
        Ok(scopes) => scopes,
        Err(error) => {
            tracing::warn!("proactive messages are paused: {error}");
            return;
        }
    };
    let looks = futures_util::stream::iter(scopes).map(|scope| {
        let last = standing.get(&scope).cloned();
        async move {
            let decided = check_scope(proactive, store, &scope, last).await;
            (scope, decided)
        }
    });
    let decided: Vec<_> = looks.buffer_unordered(SCOPES_AT_ONCE).collect().await;
    for (scope, decided) in decided {
        match decided {
            Ok(Some(decision)) => _ = standing.insert(scope, decision),
            Ok(None) => {}
            Err(error) => tracing::warn!("a proactive message was postponed: {error}"),
        }
    }
}

/// Decides about one scope. Returns the current decision; `None` before the user's first message.
async fn check_scope(
    proactive: &Proactive,
    store: &dyn ProactiveStore,
    scope: &Scope,
    last: Option<ProactiveDecision>,
) -> Result<Option<ProactiveDecision>, StoreError> {
    let core = &proactive.core;
    if core.stopping.is_cancelled() {
        return Ok(last);
    }
    let last = match last {
        Some(last) => Some(last),
        None => store.last_decision(scope).await?,
    };
    let (now, settings) = (core.clock().now(), core.settings());
    let view = store.proactive_view(scope, triggers::view_query(now, &settings.proactive)).await?;
    if view.last_user_message.is_none() {
        return Ok(last);
    }
    let zone = core.zone_of(&scope.user).await?;
    let occasions = triggers::find_occasions(&view, now, &zone, &settings.proactive);
    let occasions =
        retain_current_occasions(core, scope, retain_unused(store, scope, occasions, now).await?).await?;
    let (late, open): (Vec<_>, Vec<_>) = occasions.into_iter().partition(|occasion| occasion.is_too_late);
    let new = |occasion: Option<&MessageOccasion>| ProactiveDecision {
        id: DecisionId(core.ids().next(now)),
        scope: scope.clone(),
        at: now,
        outcome: None,
        gate: None,
        trigger: occasion.map(|occasion| occasion.reference.clone()),
        detail: None,
        message_id: None,
        channel_id: None,
    };
    // Stored, so that the next tick does not find them again.
    for occasion in &late {
        let mut decision = new(Some(occasion));
        note_gate(&mut decision, ProactiveGate::TooLate);
        store.store_decision(decision).await?;
    }
    let is_in_conversation = proactive.is_in_conversation(&scope.user);
    let moment =
        GateFacts { now, zone: &zone, settings: &settings.proactive, view: &view, is_in_conversation };
    let occasion = open.first();
    let mut gate = moment.closed_gate().or(occasion.is_none().then_some(ProactiveGate::NoTrigger));
    if gate.is_none() && !core.may_spend().await {
        gate = Some(ProactiveGate::SpendCap);
    }
    let mut decision = new(occasion);
    match (gate, occasion) {
        (None, Some(occasion)) => {
            let decision = write_and_send(proactive, store, decision, occasion, &view).await?;
            log_decision(&decision);
            Ok(Some(decision))
        }
        (gate, _) => {
            note_gate(&mut decision, gate.unwrap_or(ProactiveGate::NoTrigger));
            match last {
                Some(last) if is_same_decision(&last, &decision) => Ok(Some(last)),
                _ => {
                    store.store_decision(decision.clone()).await?;
                    Ok(Some(decision))
                }
            }
        }
    }
}

/// Removes occasions that depend on something that is no longer current.
async fn retain_current_occasions(
    core: &RuntimeCore,
    scope: &Scope,
    mut occasions: Vec<MessageOccasion>,
) -> Result<Vec<MessageOccasion>, StoreError> {
    let nodes: Vec<Node> = occasions.iter().filter_map(|occasion| occasion.node.clone()).collect();
    let outdated = outdated_nodes(core.store(), scope, &nodes).await?;
    occasions.retain(|occasion| !occasion.node.as_ref().is_some_and(|node| outdated.contains(&node.id)));
    Ok(occasions)
}

async fn retain_unused(
    store: &dyn ProactiveStore,
    scope: &Scope,
    occasions: Vec<MessageOccasion>,
    now: Timestamp,
) -> Result<Vec<MessageOccasion>, StoreError> {
    if occasions.is_empty() {
        return Ok(occasions);
    }
    let keys: Vec<String> = occasions.iter().map(|occasion| occasion.reference.key.clone()).collect();
    let uses = store.trigger_uses_by_key(scope, &keys).await?;
    Ok(triggers::retain_unused(occasions, &uses, now))
}

/// True if two decisions that sent nothing are the same. A decision that a model was asked about is always a new one.
fn is_same_decision(last: &ProactiveDecision, decision: &ProactiveDecision) -> bool {
    let key = |decision: &ProactiveDecision| decision.trigger.as_ref().map(|trigger| trigger.key.clone());
    last.gate == decision.gate && last.outcome == decision.outcome && key(last) == key(decision)
}

/// Logs a decision. Only ids and words of fixed lists are logged.
fn log_decision(decision: &ProactiveDecision) {
    let trigger = decision.trigger.as_ref().map(|trigger| trigger.trigger);
    match decision.outcome {
        Some(ProactiveOutcome::Failed) => {
            tracing::warn!(?trigger, detail = decision.detail, "a proactive message failed");
        }
        outcome => tracing::info!(?trigger, ?outcome, gate = ?decision.gate, "proactive message decided"),
    }
}

impl Proactive {
    /// The gate that prevents messages to a scope at this time.
    async fn closed_gate(
        &self,
        store: &dyn ProactiveStore,
        scope: &Scope,
        now: Timestamp,
    ) -> Result<Option<ProactiveGate>, StoreError> {
        let settings = self.core.settings();
        let view: ProactiveView =
            store.proactive_view(scope, triggers::view_query(now, &settings.proactive)).await?;
        let zone = self.core.zone_of(&scope.user).await?;
        let is_in_conversation = self.is_in_conversation(&scope.user);
        let moment =
            GateFacts { now, zone: &zone, settings: &settings.proactive, view: &view, is_in_conversation };
        Ok(moment.closed_gate())
    }

    /// True if a message waits or a turn runs on any channel of the user.
    fn is_in_conversation(&self, user: &UserId) -> bool {
        self.conversations.is_user_active(user)
    }

    /// The channel that the user wrote on last, if it can deliver now; otherwise the web UI.
    async fn proactive_channel(
        &self,
        store: &dyn ProactiveStore,
        scope: &Scope,
    ) -> Result<(String, Option<ChannelWrite>), StoreError> {
        for channel_id in store.recent_channels(scope).await? {
            if channel_id == WEB_CHANNEL {
                break;
            }
            let channels = self.outbound.channels();
            let Some(channels) = channels.filter(|channels| channels.can_deliver(&channel_id)) else {
                continue;
            };
            if let Some(conversation) = channels.conversation_of(&channel_id, &scope.user).await? {
                return Ok((channel_id, Some(ChannelWrite::Deliver { conversation })));
            }
        }
        Ok((WEB_CHANNEL.to_owned(), None))
    }
}
