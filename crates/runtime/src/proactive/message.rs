//! Writes a proactive message and stores it before it is sent.

use memory::capture::MessageInput;
use memory::identifiers::TurnId;
use memory::messages::Role;
use memory::ports::{ProactiveStore, StoreError};
use memory::proactive::{ProactiveDecision, ProactiveGate, ProactiveOutcome, ProactiveView};
use memory::recall::RecallRequest;
use mind::{ProactiveDraft, ProactiveError, ProactiveInput, ReplyBudget, ReplyInput};

use super::Proactive;
use super::gates::outcome_of;
use super::triggers::MessageOccasion;
use crate::recall::recalled_memory::{RecalledMemory, add_remembered};
use crate::turns::after_turn;
use crate::turns::receipt::build_receipt;

/// Characters of the last messages to search for if there is no other trigger.
const SEARCHED_CHARACTERS_MAX: usize = 500;

/// A draft and the memories in its prompt.
struct WrittenDraft {
    draft: ProactiveDraft,
    remembered: RecalledMemory,
}

/// Writes a message for the trigger and sends it, unless there is nothing to say or a gate prevents it meanwhile. The
/// returned decision is complete and stored.
pub(super) async fn write_and_send(
    proactive: &Proactive,
    store: &dyn ProactiveStore,
    mut decision: ProactiveDecision,
    occasion: &MessageOccasion,
    view: &ProactiveView,
) -> Result<ProactiveDecision, StoreError> {
    let core = &proactive.core;
    // Stored before the model is asked, so that a crash leaves a trace.
    store.store_decision(decision.clone()).await?;
    let forgotten = core.forget_epochs.for_scope(&decision.scope);
    let written = tokio::select! {
        biased;
        () = core.stopping.cancelled() => Err("EchoVessel was stopped".to_owned()),
        written = write(proactive, &decision, occasion, view) => written.map_err(|error| log_reason(&error)),
    };
    decision.at = core.clock().now();
    let written = match written {
        Ok(written) => written,
        Err(detail) => {
            decision.outcome = Some(ProactiveOutcome::Failed);
            decision.detail = Some(detail);
            store.store_decision(decision.clone()).await?;
            return Ok(decision);
        }
    };
    let Some(text) = written.draft.message.clone() else {
        decision.outcome = Some(ProactiveOutcome::NothingToSay);
        store.store_decision(decision.clone()).await?;
        return Ok(decision);
    };
    // Text that was forgotten while the model wrote must not come back in its message.
    let nothing_is_forgotten = core.forget_epochs.block_forgetting().await;
    if core.forget_epochs.for_scope(&decision.scope) != forgotten {
        decision.outcome = Some(ProactiveOutcome::Failed);
        decision.detail = Some("something that it may be based on was erased meanwhile".to_owned());
        store.store_decision(decision.clone()).await?;
        return Ok(decision);
    }
    let sent = send(proactive, store, decision, text, &written).await;
    drop(nothing_is_forgotten);
    sent
}

/// Records the gate that prevents the message.
pub(super) fn note_gate(decision: &mut ProactiveDecision, gate: ProactiveGate) {
    decision.gate = Some(gate);
    decision.outcome = Some(outcome_of(gate));
}

async fn write(
    proactive: &Proactive,
    decision: &ProactiveDecision,
    occasion: &MessageOccasion,
    view: &ProactiveView,
) -> Result<WrittenDraft, ProactiveError> {
    let core = &proactive.core;
    let storage = |error: StoreError| memory::ports::MindError::Transient(error.to_string());
    let (input, remembered) = prompt_input(proactive, decision, occasion).await.map_err(storage)?;
    let input = ProactiveInput {
        reply: input,
        trigger: occasion.reference.trigger,
        about: occasion.node.clone(),
        last_message_at: view.last_message_at,
    };
    let budget = ReplyBudget { tokens: core.settings().prompt_tokens };
    let draft = core.mind().write_first(&input, &budget).await?;
    Ok(WrittenDraft { draft, remembered })
}

/// Input of a proactive message: that of a reply, with the trigger instead of a user's message.
async fn prompt_input(
    proactive: &Proactive,
    decision: &ProactiveDecision,
    occasion: &MessageOccasion,
) -> Result<(ReplyInput, RecalledMemory), StoreError> {
    let core = &proactive.core;
    let (store, scope, now) = (core.store(), &decision.scope, core.clock().now());
    let (persona, user) = tokio::try_join!(core.persona_of(scope), store.ensure_user(&scope.user, now))?;
    let zone = core.zone_of_user(&user);
    let window = proactive.recall.latest_messages(scope, core.settings().recent_window).await?;
    let last_words = || window.iter().rev().find(|message| message.role == Role::User);
    let text = match &occasion.node {
        Some(node) => node.description.clone(),
        None => last_words().map_or_else(String::new, |message| {
            message.content.chars().take(SEARCHED_CHARACTERS_MAX).collect()
        }),
    };
    let seen = window.iter().map(|message| message.seq).collect();
    let request =
        RecallRequest { scope: scope.clone(), text: text.clone(), now, zone: zone.clone(), window: seen };
    let (remembered, facts) = tokio::try_join!(
        proactive.recall.for_prompt(&persona, &user, request, &window),
        store.persona_facts(&scope.persona),
    )?;
    let mut input = ReplyInput::new(persona.display_name, now, zone);
    input.facts = facts.into();
    input.user_name = user.display_name;
    input.persona_zone = persona.timezone.and_then(|name| jiff::tz::TimeZone::get(&name).ok());
    input.window = window;
    add_remembered(&mut input, &remembered);
    // Nobody has asked for anything that could be missing.
    input.nothing_found = false;
    Ok((input, remembered))
}

/// Stores the message, then publishes it; unless a gate prevents it meanwhile.
async fn send(
    proactive: &Proactive,
    store: &dyn ProactiveStore,
    mut decision: ProactiveDecision,
    text: String,
    written: &WrittenDraft,
) -> Result<ProactiveDecision, StoreError> {
    let core = &proactive.core;
    let scope = decision.scope.clone();
    let (channel_id, channel_write) = proactive.proactive_channel(store, &scope).await?;
    let zone = core.zone_of(&scope.user).await?;
    let line = MessageInput {
        id: None,
        scope: scope.clone(),
        channel_id: channel_id.clone(),
        turn_id: None,
        role: Role::Persona,
        content: text,
        incomplete: false,
        external_ref: None,
        channel_write,
    };
    let message = proactive.messages.recorder().new_message(line, &zone);
    decision.at = message.created_at;
    // Writing takes time: the user may have started to write, or the quiet hours may have begun.
    if let Some(gate) = proactive.closed_gate(store, &scope, message.created_at).await? {
        note_gate(&mut decision, gate);
        store.store_decision(decision.clone()).await?;
        return Ok(decision);
    }
    let draft = &written.draft;
    // The receipt has the decision's id, as the message belongs to no turn.
    let receipt = build_receipt(
        TurnId(decision.id.0),
        message.created_at,
        (core.mind().reply_model(), draft.usage),
        &draft.prompt,
        &written.remembered,
    );
    decision.outcome = Some(ProactiveOutcome::Sent);
    decision.channel_id = Some(channel_id.clone());
    decision.message_id = Some(message.id);
    let used = draft.prompt.kept_nodes.clone();
    let captured = store.send_proactive(decision.clone(), message, core.settings().session, receipt).await?;
    proactive.messages.publish_captured(&scope, &captured).await;
    proactive.messages.publish_unasked(&captured.message);
    proactive.outbound.wake(&channel_id);
    proactive.voice.speak_after_event(captured.message);
    after_turn::count_recalls(core, used);
    Ok(decision)
}

/// The reason why no message was written, without the text of an endpoint, which may quote a person.
fn log_reason(error: &ProactiveError) -> String {
    let detail = match error {
        ProactiveError::Prompt(_) => "its prompt could not be rendered (see the log)",
        ProactiveError::Mind(memory::ports::MindError::Transient(_)) => {
            "the language model's answer can't be used"
        }
        ProactiveError::Mind(memory::ports::MindError::Permanent(_)) => {
            "the language model can't be called with its configuration"
        }
    };
    detail.to_owned()
}
