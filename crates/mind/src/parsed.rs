//! An answer of the model as far as it could be read.

/// An answer as read. When it is not `whole`, more was meant to follow.
pub(crate) struct ParsedAnswer<T> {
    pub(crate) value: T,
    pub(crate) whole: bool,
    /// A missing part of an otherwise complete answer, as a message to the model for its second attempt.
    pub(crate) missing: Option<&'static str>,
}
