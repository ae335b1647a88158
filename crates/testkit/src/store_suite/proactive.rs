//! Laws of decisions about proactive messages.

use std::time::Duration;

use memory::identifiers::{DecisionId, TurnId};
use memory::ports::{ProactiveStore, Store};
use memory::proactive::{
    ProactiveDecision, ProactiveGate, ProactiveOutcome, ProactiveQuery, ProactiveTrigger, TriggerRef,
    TriggerUse,
};

use super::Outcome;
use super::stage::{Stage, at, receipt};

impl Stage<'_> {
    fn decision(&self, key: &str, outcome: Option<ProactiveOutcome>, seconds: i64) -> ProactiveDecision {
        ProactiveDecision {
            id: DecisionId(self.id()),
            scope: self.scope.clone(),
            at: at(seconds),
            outcome,
            gate: None,
            trigger: Some(TriggerRef {
                trigger: ProactiveTrigger::LongSilence,
                key: key.to_owned(),
                node: None,
            }),
            detail: None,
            message_id: None,
            channel_id: None,
        }
    }
}

fn query(seconds: i64) -> ProactiveQuery {
    ProactiveQuery {
        now: at(seconds),
        sent: 4,
        sent_since: at(0),
        due_since: at(0),
        shock_impact: 8,
        shock_since: at(0),
        anniversary_impact: 7,
        anniversary_before: at(seconds),
    }
}

/// A decision is stored before it is carried out, and settled in one transaction with its message.
pub async fn a_proactive_message_is_stored_with_its_decision<S: Store + ProactiveStore>(
    store: &S,
) -> Outcome {
    let stage = Stage::set(store).await?;
    stage.say("good night", 1).await?;
    assert_eq!(store.proactive_scopes().await?, std::slice::from_ref(&stage.scope));
    let begun = stage.decision("silence:1", None, 2);
    store.store_decision(begun.clone()).await?;
    let settled = ProactiveDecision { outcome: Some(ProactiveOutcome::Sent), ..begun.clone() };
    let message = stage.reply("how did it go?", 3);
    let kept = receipt(TurnId(begun.id.0), 3);
    let sent = store.send_proactive(settled, message, stage.policy, kept).await?;
    let behind = store.decisions_behind(&[sent.message.seq, sent.message.seq + 1]).await?;
    assert_eq!(behind.into_iter().collect::<Vec<_>>(), [(sent.message.seq, begun.id)]);
    let view = store.proactive_view(&stage.scope, query(4)).await?;
    assert_eq!((view.sent.len(), view.sent_lately), (1, 1));
    assert_eq!(view.sent[0].answered_at, None);
    stage.say("well", 5).await?;
    let view = store.proactive_view(&stage.scope, query(6)).await?;
    assert_eq!(view.sent[0].answered_at, Some(at(5)));
    let listed = store.decisions(Some(&stage.scope.user), None, 10).await?;
    assert_eq!(listed.iter().map(|listed| listed.decision.id).collect::<Vec<_>>(), [begun.id]);
    assert_eq!(listed[0].decision.outcome, Some(ProactiveOutcome::Sent));
    assert_eq!(store.last_decision(&stage.scope).await?.map(|decision| decision.id), Some(begun.id));
    Ok(())
}

/// A trigger is used up by a message, by having nothing to say and by being too late; failures are counted.
pub async fn a_trigger_is_used_once<S: Store + ProactiveStore>(store: &S) -> Outcome {
    let stage = Stage::set(store).await?;
    stage.say("good night", 1).await?;
    let too_late = |key: &str, seconds| ProactiveDecision {
        gate: Some(ProactiveGate::TooLate),
        ..stage.decision(key, Some(ProactiveOutcome::Dropped), seconds)
    };
    let deferred = |key: &str, seconds| ProactiveDecision {
        gate: Some(ProactiveGate::TurnInFlight),
        ..stage.decision(key, Some(ProactiveOutcome::Deferred), seconds)
    };
    for decision in [
        stage.decision("said", Some(ProactiveOutcome::NothingToSay), 2),
        stage.decision("failed", Some(ProactiveOutcome::Failed), 3),
        stage.decision("failed", Some(ProactiveOutcome::Failed), 4),
        too_late("late", 5),
        deferred("waits", 6),
    ] {
        store.store_decision(decision).await?;
    }
    let keys = ["said", "failed", "late", "waits", "never"].map(str::to_owned);
    let uses = async || -> Result<Vec<TriggerUse>, memory::ports::StoreError> {
        let mut uses = store.trigger_uses_by_key(&stage.scope, &keys).await?;
        uses.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(uses)
    };
    let use_of = |key: &str, is_used, failures, failed_at: Option<i64>| TriggerUse {
        key: key.to_owned(),
        is_used,
        failures,
        failed_at: failed_at.map(at),
    };
    let known = [
        use_of("failed", false, 2, Some(4)),
        use_of("late", true, 0, None),
        use_of("said", true, 0, None),
        use_of("waits", false, 0, None),
    ];
    assert_eq!(uses().await?, known);
    // A decision that used a trigger, or failed, stays as long as the trigger may come again.
    assert_eq!(store.drop_decisions(at(10)).await?, 1);
    assert_eq!(uses().await?, known[..3]);
    store.store_decision(stage.decision("cut off", None, 11)).await?;
    assert_eq!(store.fail_unfinished_decisions("the program stopped").await?, 1);
    assert_eq!(store.fail_unfinished_decisions("the program stopped").await?, 0);
    Ok(())
}

/// Muting lasts until its end, and a message goes to the channel that the user used last.
pub async fn muting_and_recent_channels_are_stored<S: Store + ProactiveStore>(store: &S) -> Outcome {
    let stage = Stage::set(store).await?;
    let mut elsewhere = stage.user_line("hello from the phone", 1);
    elsewhere.channel_id = "telegram".to_owned();
    stage.capture(elsewhere).await?;
    stage.say("hello from the desk", 2).await?;
    assert_eq!(store.recent_channels(&stage.scope).await?, ["web", "telegram"]);
    let until = at(0) + Duration::from_secs(600);
    assert!(store.mute(&stage.scope.user, Some(until)).await?);
    assert_eq!(store.muted_until(&stage.scope.user).await?, Some(until));
    assert!(store.mute(&stage.scope.user, None).await?);
    assert_eq!(store.muted_until(&stage.scope.user).await?, None);
    assert!(!store.mute(&memory::UserId::new("nobody")?, None).await?);
    Ok(())
}
