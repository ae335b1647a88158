//! Errors of reading sound.

/// Why a file is not usable sound.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SoundError {
    /// There are no bytes, or no samples.
    #[error("it is empty")]
    Empty,
    /// The sound holds nothing but silence.
    #[error("it is silent")]
    Silent,
    /// The file has another format.
    #[error("it is neither a WAV nor an Ogg Opus file")]
    UnknownFormat,
    /// Header and content do not match.
    #[error("its header announces {claimed} bytes of sound, but it has {held}")]
    LengthLies {
        /// Bytes according to the header.
        claimed: u64,
        /// Bytes of sound in the file.
        held: u64,
    },
    /// The header is invalid.
    #[error("its header is damaged: {0}")]
    Damaged(&'static str),
    /// The encoding is not supported.
    #[error("its encoding is not supported: {0}; use PCM of 8 to 32 bits, 32-bit floats, or Opus")]
    Coding(String),
    /// The sound lasts too long.
    #[error("it lasts {seconds} s; the limit is {seconds_max} s")]
    TooLong { seconds: u64, seconds_max: u64 },
}
