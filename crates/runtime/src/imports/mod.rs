//! Imports: files are looked at, a person says who is who, what they hold is recorded, and memory is made of it.

mod documents;
mod record;
mod record_error;
mod uploads;
mod runs;
mod background;
mod pipeline;
mod character;
mod card;

pub use character::SavedCharacter;
pub use pipeline::{
    PipelineEvent, PipelineOutcome, PipelineStatus, PipelineStep, PipelineWatch, WritesByTarget,
};
pub use record::{ImportRecorder, ImportRequest};
pub use record_error::RecordError;
pub use runs::{ImportError, ImportParts, ImportState, ImportStatusReport, UndoneImport, check_is_known};
pub use uploads::{ImportUpload, ImportUploadWriter, StartedImport, UploadedFile};

pub(crate) use runs::Imports;
