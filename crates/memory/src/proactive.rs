//! Proactive messages: triggers, gates, and stored decisions.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::identifiers::{DecisionId, MessageId, NodeId};
use crate::nodes::Node;
use crate::scope::Scope;

/// The outcome of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProactiveOutcome {
    /// The message is stored and will be delivered.
    Sent,
    /// No trigger led to a message, or the model wrote none.
    NothingToSay,
    /// A gate prevented the message.
    Dropped,
    /// The trigger will be considered again at the next check.
    Deferred,
    /// The model or the storage failed.
    Failed,
}

/// The gate that prevented a message, in the order of the checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProactiveGate {
    /// The user has muted proactive messages.
    Muted,
    /// It is during the user's quiet hours.
    QuietHours,
    /// The user has not answered the last proactive messages.
    ColdUser,
    /// The maximum of the last 24 hours is reached.
    RateLimit,
    /// A conversation is in progress.
    TurnInFlight,
    /// The day's spend cap is reached.
    SpendCap,
    /// The time for the message has passed.
    TooLate,
    /// No trigger led to a message.
    NoTrigger,
}

/// The trigger of a message, the most important first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProactiveTrigger {
    /// A promise of the persona is due.
    PromiseDue,
    /// An expectation is due.
    ExpectationDue,
    /// The last conversation had an event of high impact.
    Shock,
    /// An event of high impact happened on this day of an earlier year.
    Anniversary,
    /// The user has not written for a long time.
    LongSilence,
}

/// A trigger that led, or may lead, to a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TriggerRef {
    pub trigger: ProactiveTrigger,
    /// Identifies the occasion: a trigger is used once for each key. It contains numbers and no text.
    pub key: String,
    /// The memory that the trigger comes from.
    pub node: Option<NodeId>,
}

/// A decision to send or not to send, as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProactiveDecision {
    /// The decision's id; the receipt of a sent message has the same id.
    pub id: DecisionId,
    pub scope: Scope,
    /// Time of the decision. It holds until the next decision about the same scope.
    pub at: Timestamp,
    /// The outcome; `None` while the decision is in progress.
    pub outcome: Option<ProactiveOutcome>,
    /// The gate that prevented the message.
    pub gate: Option<ProactiveGate>,
    /// The trigger of the decision.
    pub trigger: Option<TriggerRef>,
    /// Reason for a failed decision, without text of the conversation.
    pub detail: Option<String>,
    /// The message that was sent.
    pub message_id: Option<MessageId>,
    /// The channel that the message was sent to.
    pub channel_id: Option<String>,
}

/// A decision and its memory, for lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedDecision {
    pub decision: ProactiveDecision,
    /// The memory of the trigger in its present state; `None` if there was none or it was forgotten.
    pub about: Option<String>,
}

impl ProactiveDecision {
    /// Describes the decision in a sentence.
    pub fn reason_sentence(&self) -> String {
        let because = match self.trigger.as_ref().map(|trigger| trigger.trigger) {
            Some(ProactiveTrigger::PromiseDue) => "a promise was due",
            Some(ProactiveTrigger::ExpectationDue) => "an expectation was due",
            Some(ProactiveTrigger::Shock) => "something significant was said in the last conversation",
            Some(ProactiveTrigger::Anniversary) => "a significant event has its anniversary",
            Some(ProactiveTrigger::LongSilence) => "the user had not written for a long time",
            None => "there was no reason to write",
        };
        let held = match self.gate {
            Some(ProactiveGate::Muted) => "proactive messages were muted",
            Some(ProactiveGate::QuietHours) => "it was a quiet hour in the user's time zone",
            Some(ProactiveGate::ColdUser) => "the user had not replied to the last messages",
            Some(ProactiveGate::RateLimit) => "the limit of the last 24 hours was reached",
            Some(ProactiveGate::TurnInFlight) => "a conversation was in progress; it is checked again later",
            Some(ProactiveGate::SpendCap) => {
                "the daily spending cap was reached; it is checked again tomorrow"
            }
            Some(ProactiveGate::TooLate) => "it was too late",
            Some(ProactiveGate::NoTrigger) | None => "",
        };
        match (self.outcome, self.gate) {
            (_, Some(ProactiveGate::NoTrigger)) => because.to_owned(),
            (Some(ProactiveOutcome::Sent), _) => because.to_owned(),
            (Some(ProactiveOutcome::NothingToSay), _) => {
                format!("{because}, but the persona had nothing to say")
            }
            (Some(ProactiveOutcome::Failed), _) => {
                let detail = self.detail.as_deref().unwrap_or("the message could not be written");
                format!("{because}, but {detail}")
            }
            (_, Some(_)) if self.trigger.is_some() => format!("{because}, but {held}"),
            _ => held.to_owned(),
        }
    }
}

/// A proactive message that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentMessage {
    pub at: Timestamp,
    /// Time of the user's next message; `None` if there is none yet.
    pub answered_at: Option<Timestamp>,
}

/// Data of a scope for the gates and triggers, from one snapshot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProactiveView {
    /// The number and the time of the user's last message; `None` before the first.
    pub last_user_message: Option<(i64, Timestamp)>,
    /// Time of the last message of either.
    pub last_message_at: Option<Timestamp>,
    /// The newest proactive messages, newest first.
    pub sent: Vec<SentMessage>,
    /// Number of messages sent since [`ProactiveQuery::sent_since`].
    pub sent_lately: u32,
    /// Time until which the user has muted proactive messages.
    pub muted_until: Option<Timestamp>,
    /// Promises and expectations that are due, the earliest first.
    pub due: Vec<Node>,
    /// Events that may be a shock.
    pub shocks: Vec<Node>,
    /// Events that may have an anniversary, those of the highest impact first.
    pub weighty: Vec<Node>,
}

/// Limits for reading a [`ProactiveView`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProactiveQuery {
    pub now: Timestamp,
    /// Maximum number of sent messages to read.
    pub sent: u32,
    /// Time from which sent messages are counted.
    pub sent_since: Timestamp,
    /// Promises and expectations that ended before this are not read.
    pub due_since: Timestamp,
    /// |Impact| from which an event is a shock.
    pub shock_impact: u8,
    /// Events written before this are no shocks any more.
    pub shock_since: Timestamp,
    /// |Impact| from which an event has an anniversary.
    pub anniversary_impact: u8,
    /// Events later than this are too recent to have an anniversary.
    pub anniversary_before: Timestamp,
}

/// Earlier use of a trigger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TriggerUse {
    pub key: String,
    /// True if the trigger is not considered again: a message was sent, the model wrote none, or its time has passed.
    pub is_used: bool,
    /// Number of times the trigger failed.
    pub failures: u32,
    /// Time at which the trigger failed last.
    pub failed_at: Option<Timestamp>,
}
