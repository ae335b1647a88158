//! Stores messages: those of turns, and those of other conversations that get no reply here.

use std::sync::Arc;

use jiff::tz::TimeZone;
use memory::Scope;
use memory::capture::{CaptureError, MessageInput, Recorder};
use memory::ledger::ReplyReceipt;
use memory::messages::{Message, Role};
use memory::ports::CapturedMessage;

use crate::changes::Changes;
use crate::core::RuntimeCore;
use crate::events::bodies::{ReplyDone, SessionBoundary};

/// Stores messages, and publishes the sessions that they open or end.
pub struct Messages {
    core: Arc<RuntimeCore>,
    changes: Arc<Changes>,
}

impl Messages {
    pub(crate) fn new(core: Arc<RuntimeCore>, changes: Arc<Changes>) -> Arc<Self> {
        Arc::new(Self { core, changes })
    }

    /// Stores a message unchanged, and returns once it is durable. It is consolidated after its session has ended.
    pub async fn remember(
        &self,
        scope: Scope,
        channel_id: &str,
        role: Role,
        content: String,
    ) -> Result<Message, CaptureError> {
        let line = MessageInput {
            id: None,
            scope,
            channel_id: channel_id.to_owned(),
            turn_id: None,
            role,
            content,
            incomplete: false,
            external_ref: None,
            channel_write: None,
        };
        Ok(self.record(line, None, None).await?.message)
    }

    /// Stores a message and publishes the sessions that it opened or ended. Without a `zone`, the user's is looked
    /// up.
    pub(crate) async fn record(
        &self,
        line: MessageInput,
        zone: Option<TimeZone>,
        receipt: Option<ReplyReceipt>,
    ) -> Result<CapturedMessage, CaptureError> {
        let scope = line.scope.clone();
        self.core.ensure_scope_exists(&scope).await?;
        let zone = match zone {
            Some(zone) => zone,
            None => self.core.zone_of(&scope.user).await?,
        };
        let captured = self.recorder().capture(line, &zone, receipt).await?;
        self.publish_captured(&scope, &captured).await;
        Ok(captured)
    }

    pub(crate) fn recorder(&self) -> Recorder<'_> {
        Recorder {
            store: self.core.store(),
            clock: self.core.clock(),
            ids: self.core.ids(),
            policy: self.core.settings().session,
        }
    }

    /// Publishes a proactive message.
    pub(crate) fn publish_unasked(&self, message: &Message) {
        self.core.publish(&message.scope, ReplyDone::new(message, None, false));
    }

    /// Publishes the sessions that a stored message opened or ended, and wakes the workers that process it.
    pub(crate) async fn publish_captured(&self, scope: &Scope, captured: &CapturedMessage) {
        if let Some(session) = &captured.opened {
            self.core.publish(scope, SessionBoundary::opened(session));
        }
        if !captured.ended.is_empty() {
            self.core.session_ended.notify_one();
        }
        if let Some(withdrawn) = &captured.replaced {
            self.changes.publish_withdrawn(&captured.message, withdrawn).await;
        }
        self.core.written.notify_one();
    }
}
