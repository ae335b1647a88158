//! Changes of the memory by people: forgetting, corrections, and identities of entities.

pub(crate) mod entities;
pub(crate) mod forget;
pub(crate) mod corrections;

use std::sync::Arc;

use crate::core::RuntimeCore;
use crate::hub_work::shared_self::SharedSelf;
use crate::voice::Voice;

/// Forgets and corrects, and prevents running work from bringing the former text back.
pub struct Changes {
    core: Arc<RuntimeCore>,
    shared_self: Arc<SharedSelf>,
    voice: Arc<Voice>,
}

impl Changes {
    pub(crate) fn new(core: Arc<RuntimeCore>, shared_self: Arc<SharedSelf>, voice: Arc<Voice>) -> Arc<Self> {
        Arc::new(Self { core, shared_self, voice })
    }
}
