//! An answer of the model, as far as it could be parsed.

/// A parsed answer. If it is not `whole`, its end is missing.
pub(crate) struct ParsedAnswer<T> {
    pub(crate) value: T,
    pub(crate) whole: bool,
    /// The missing part of an otherwise complete answer, as a message to the model for its second attempt.
    pub(crate) missing: Option<&'static str>,
}
