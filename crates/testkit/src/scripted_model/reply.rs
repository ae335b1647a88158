//! Scripted answers and faults.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Notify;

/// A scripted answer. The request decides if it is streamed.
#[derive(Clone, Debug)]
pub struct Reply {
    pub(super) content: Content,
    pub(super) status: u16,
    pub(super) retry_after: Option<String>,
    pub(super) gate: Option<Arc<Notify>>,
    pub(super) delay: Duration,
    pub(super) delay_between_deltas: Duration,
    pub(super) fault: Option<Fault>,
    pub(super) usage: TokenCounts,
    pub(super) reach_token_limit: bool,
}

#[derive(Clone, Debug)]
pub(super) enum Content {
    /// The text, in the pieces that are streamed.
    Deltas(Vec<String>),
    /// A body that follows no protocol.
    Raw(Vec<u8>),
    /// A line that never ends.
    EndlessLine,
    /// An error object with the reply's status.
    Error(String),
}

#[derive(Clone, Debug)]
pub(super) struct Fault {
    pub(super) after_deltas: usize,
    pub(super) kind: FaultKind,
}

#[derive(Clone, Debug)]
pub(super) enum FaultKind {
    Cut,
    /// An error object instead of the next delta.
    Error(String),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct TokenCounts {
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) cached: u64,
}

impl Reply {
    /// An answer with `text`; streamed, one word at a time.
    #[must_use]
    pub fn text(text: impl AsRef<str>) -> Self {
        Self::from_pieces(text.as_ref().split_inclusive(' '))
    }

    /// An answer in these pieces.
    #[must_use]
    pub fn from_pieces<Piece: Into<String>>(pieces: impl IntoIterator<Item = Piece>) -> Self {
        Self::with_content(Content::Deltas(pieces.into_iter().map(Into::into).collect()), 200)
    }

    /// An answer with this JSON document.
    #[must_use]
    pub fn json(value: impl Into<Value>) -> Self {
        Self::from_pieces([value.into().to_string()])
    }

    /// An answer of `bytes` times the letter `a`; streamed, in pieces of 64 KiB.
    #[must_use]
    pub fn of_size(bytes: usize) -> Self {
        const PIECE_BYTES: usize = 64 * 1024;
        let pieces = (0..bytes.div_ceil(PIECE_BYTES))
            .map(|index| "a".repeat(PIECE_BYTES.min(bytes - index * PIECE_BYTES)));
        Self::from_pieces(pieces)
    }

    /// An error with this HTTP status and an error object that contains `message`.
    #[must_use]
    pub fn error(status: u16, message: impl Into<String>) -> Self {
        Self::with_content(Content::Error(message.into()), status)
    }

    /// A 429 with `Retry-After: <seconds>`.
    #[must_use]
    pub fn rate_limited(seconds: u64) -> Self {
        Self::error(429, "too many requests, slow down").retry_after(seconds.to_string())
    }

    /// A 200 with a body that is neither JSON nor an event stream.
    #[must_use]
    pub fn garbage() -> Self {
        Self::raw_body(b"<html>\xff\xfe\x00 bad gateway {]".to_vec())
    }

    /// A 200 with exactly this body, for any request.
    #[must_use]
    pub fn raw_body(body: impl Into<Vec<u8>>) -> Self {
        Self::with_content(Content::Raw(body.into()), 200)
    }

    /// A 200 with a line that grows until the client closes the connection.
    #[must_use]
    pub fn endless_line() -> Self {
        Self::with_content(Content::EndlessLine, 200)
    }

    /// Adds a `Retry-After` header, in seconds or as a date.
    #[must_use]
    pub fn retry_after(mut self, value: impl Into<String>) -> Self {
        self.retry_after = Some(value.into());
        self
    }

    /// Sends the headers and delays the first token until the test calls `gate.notify_one()`.
    #[must_use]
    pub fn delay_first_token_until(mut self, gate: &Arc<Notify>) -> Self {
        self.gate = Some(Arc::clone(gate));
        self
    }

    /// Delays the first token by real time. For a model beside a real daemon; a test uses
    /// [`delay_first_token_until`](Self::delay_first_token_until).
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Delays each streamed piece by real time; see [`delay`](Self::delay).
    #[must_use]
    pub fn delay_between_deltas(mut self, delay: Duration) -> Self {
        self.delay_between_deltas = delay;
        self
    }

    /// Closes the connection after `deltas` streamed pieces; an answer that is not streamed is cut in half.
    #[must_use]
    pub fn cut_after(mut self, deltas: usize) -> Self {
        self.fault = Some(Fault { after_deltas: deltas, kind: FaultKind::Cut });
        self
    }

    /// Sends an error object after `deltas` streamed pieces and ends; an answer that is not streamed consists of that
    /// object, with status 200, as with some gateways.
    #[must_use]
    pub fn error_after(mut self, deltas: usize, message: impl Into<String>) -> Self {
        self.fault = Some(Fault { after_deltas: deltas, kind: FaultKind::Error(message.into()) });
        self
    }

    /// Sets the usage that the answer reports, in tokens; `cached` is a part of `input`. Default: 100, 10, 0.
    #[must_use]
    pub fn usage(mut self, input: u64, output: u64, cached: u64) -> Self {
        self.usage = TokenCounts { input, output, cached };
        self
    }

    /// Reports at its end that the maximum of tokens was reached.
    #[must_use]
    pub fn reach_token_limit(mut self) -> Self {
        self.reach_token_limit = true;
        self
    }

    fn with_content(content: Content, status: u16) -> Self {
        Self {
            content,
            status,
            retry_after: None,
            gate: None,
            delay: Duration::ZERO,
            delay_between_deltas: Duration::ZERO,
            fault: None,
            usage: TokenCounts { input: 100, output: 10, cached: 0 },
            reach_token_limit: false,
        }
    }
}
