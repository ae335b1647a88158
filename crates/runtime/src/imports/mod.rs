//! Imports: files are examined, a person maps the speakers, the messages are recorded and consolidated.

mod documents;
mod record;
mod record_error;
mod uploads;
pub(crate) mod registry;
mod runs;
mod background;
mod pipeline;
mod character;
mod card;

use std::sync::Arc;

use crate::changes::Changes;
use crate::core::RuntimeCore;
use crate::hub_work::shared_self::SharedSelf;
use crate::messages::Messages;
use crate::personas::Personas;
use registry::ImportRegistry;

pub use character::SavedCharacter;
pub use pipeline::{
    PipelineEvent, PipelineOutcome, PipelineStatus, PipelineStep, PipelineWatch, WritesByTarget,
};
pub use record::{ImportRecorder, ImportRequest};
pub use record_error::RecordError;
pub use registry::{ImportError, ImportParts, ImportState, ImportStatusReport, UndoneImport, check_is_known};
pub use uploads::{ImportUpload, ImportUploadWriter, StartedImport, UploadedFile};

/// Imports files of other programs, and undoes imports.
pub struct Imports {
    core: Arc<RuntimeCore>,
    messages: Arc<Messages>,
    changes: Arc<Changes>,
    personas: Arc<Personas>,
    shared_self: Arc<SharedSelf>,
    /// `None` if this program has no imports.
    registry: Option<ImportRegistry>,
}

/// The services that an import needs.
pub(crate) struct ImportServices {
    pub(crate) messages: Arc<Messages>,
    pub(crate) changes: Arc<Changes>,
    pub(crate) personas: Arc<Personas>,
    pub(crate) shared_self: Arc<SharedSelf>,
}

impl Imports {
    pub(crate) fn new(
        core: Arc<RuntimeCore>,
        services: ImportServices,
        parts: Option<ImportParts>,
    ) -> Arc<Self> {
        let ImportServices { messages, changes, personas, shared_self } = services;
        let registry = parts.map(ImportRegistry::new);
        Arc::new(Self { core, messages, changes, personas, shared_self, registry })
    }

    fn registry(&self) -> Result<&ImportRegistry, ImportError> {
        self.registry.as_ref().ok_or(ImportError::Unavailable)
    }
}
