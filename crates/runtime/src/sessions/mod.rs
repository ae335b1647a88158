//! Sessions, which end after silence and are consolidated.

pub(crate) mod idle;
pub(crate) mod consolidator;
pub(crate) mod housekeeping;

use std::sync::Arc;

use memory::identifiers::SessionId;
use memory::ports::StoreError;
use memory::sessions::{CloseTrigger, Session};

use crate::changes::Changes;
use crate::core::RuntimeCore;
use crate::hub_work::shared_self::SharedSelf;
use crate::imports::Imports;
use crate::turns::Turns;

/// Ends sessions, and retries failed ones.
pub struct Sessions {
    core: Arc<RuntimeCore>,
    turns: Arc<Turns>,
    changes: Arc<Changes>,
    imports: Arc<Imports>,
    shared_self: Arc<SharedSelf>,
}

impl Sessions {
    pub(crate) fn new(
        core: Arc<RuntimeCore>,
        turns: Arc<Turns>,
        changes: Arc<Changes>,
        imports: Arc<Imports>,
        shared_self: Arc<SharedSelf>,
    ) -> Arc<Self> {
        Arc::new(Self { core, turns, changes, imports, shared_self })
    }

    /// Ends a session; its consolidation follows. `None` if it is not open.
    pub async fn close(&self, id: SessionId) -> Result<Option<Session>, StoreError> {
        let ended = self.core.store().end_session(id, CloseTrigger::Explicit).await?;
        if ended.is_some() {
            self.core.session_ended.notify_one();
        }
        Ok(ended)
    }

    /// Makes a failed session wait for consolidation again. `None` if it is not failed.
    pub async fn retry(&self, id: SessionId) -> Result<Option<Session>, StoreError> {
        let retried = self.core.store().retry_session(id).await?;
        if retried.is_some() {
            self.core.session_ended.notify_one();
        }
        Ok(retried)
    }
}
