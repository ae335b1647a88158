//! Speech and transcription, with their files.

pub(crate) mod reply_speech;
pub(crate) mod speech;
pub(crate) mod files;
pub(crate) mod notes;
pub(crate) mod samples;
