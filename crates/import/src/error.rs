use std::io;

/// Why an import can't read on. Problems of one item or file are a [`crate::Skip`] instead.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The file system failed. Items read before stay valid; reading can resume after them.
    #[error("could not read {place}: {reason}. Nothing was changed; check the file and try again")]
    Io {
        /// File, as named by the caller.
        place: String,
        reason: io::Error,
    },
    /// More files than [`crate::limits::SOURCES_MAX`].
    #[error("there are more than {max} files; import them in several parts")]
    TooManySources { max: usize },
    /// No format has this name.
    #[error("unknown format {name:?}; choose one of {}", known.join(", "))]
    UnknownFormat { name: String, known: Vec<&'static str> },
    /// A zone that the time-zone database doesn't have.
    #[error("unknown time zone {0:?}; use an IANA name such as Europe/Berlin")]
    UnknownZone(String),
    /// The position to resume at was stored for other files, or is past their end.
    #[error("the position does not belong to these files; start the import again")]
    InvalidPosition,
}

impl ImportError {
    pub(crate) fn io(place: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let place = place.into();
        move |reason| Self::Io { place, reason }
    }
}
