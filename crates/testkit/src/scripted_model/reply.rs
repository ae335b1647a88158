//! What the scripted model answers, and how it misbehaves.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Notify;

/// One answer. Streamed or whole is the request's choice; the same reply serves both.
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
    pub(super) out_of_room: bool,
}

#[derive(Clone, Debug)]
pub(super) enum Content {
    /// The text, in the pieces in which it is streamed.
    Deltas(Vec<String>),
    /// A body that follows no protocol.
    Raw(Vec<u8>),
    /// A line of a body that never comes to an end.
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
    /// An error object comes instead of the next delta.
    Error(String),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct TokenCounts {
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) cached: u64,
}

impl Reply {
    /// Says `text`; streamed, one word at a time.
    #[must_use]
    pub fn text(text: impl AsRef<str>) -> Self {
        Self::from_pieces(text.as_ref().split_inclusive(' '))
    }

    /// Says these pieces one after the other.
    #[must_use]
    pub fn from_pieces<Piece: Into<String>>(pieces: impl IntoIterator<Item = Piece>) -> Self {
        Self::with_content(Content::Deltas(pieces.into_iter().map(Into::into).collect()), 200)
    }

    /// Says this JSON document.
    #[must_use]
    pub fn json(value: impl Into<Value>) -> Self {
        Self::from_pieces([value.into().to_string()])
    }

    /// Says `bytes` times the letter `a`; streamed, in pieces of 64 KiB.
    #[must_use]
    pub fn of_size(bytes: usize) -> Self {
        const PIECE_BYTES: usize = 64 * 1024;
        let pieces = (0..bytes.div_ceil(PIECE_BYTES))
            .map(|index| "a".repeat(PIECE_BYTES.min(bytes - index * PIECE_BYTES)));
        Self::from_pieces(pieces)
    }

    /// Fails with this HTTP status and an error object that holds `message`.
    #[must_use]
    pub fn error(status: u16, message: impl Into<String>) -> Self {
        Self::with_content(Content::Error(message.into()), status)
    }

    /// Answers 429 with `Retry-After: <seconds>`.
    #[must_use]
    pub fn rate_limited(seconds: u64) -> Self {
        Self::error(429, "too many requests, slow down").retry_after(seconds.to_string())
    }

    /// Answers 200 with a body that is neither JSON nor an event stream.
    #[must_use]
    pub fn garbage() -> Self {
        Self::raw_body(b"<html>\xff\xfe\x00 bad gateway {]".to_vec())
    }

    /// Answers 200 with exactly this body, whatever was asked for.
    #[must_use]
    pub fn raw_body(body: impl Into<Vec<u8>>) -> Self {
        Self::with_content(Content::Raw(body.into()), 200)
    }

    /// Answers 200 with a line that grows until the client hangs up.
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

    /// Sends the headers and holds the first token back until the test calls `gate.notify_one()`.
    #[must_use]
    pub fn hold_until(mut self, gate: &Arc<Notify>) -> Self {
        self.gate = Some(Arc::clone(gate));
        self
    }

    /// Lets real time pass before the first token. For a model that runs beside a real daemon; a test uses
    /// [`hold_until`](Self::hold_until).
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Lets real time pass between streamed pieces; see [`delay`](Self::delay).
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

    /// Sends an error object after `deltas` streamed pieces and ends; an answer that is not streamed is that object,
    /// with status 200, as some gateways do.
    #[must_use]
    pub fn error_after(mut self, deltas: usize, message: impl Into<String>) -> Self {
        self.fault = Some(Fault { after_deltas: deltas, kind: FaultKind::Error(message.into()) });
        self
    }

    /// Usage that the answer reports, in tokens; `cached` is a part of `input`. Without it: 100, 10, 0.
    #[must_use]
    pub fn usage(mut self, input: u64, output: u64, cached: u64) -> Self {
        self.usage = TokenCounts { input, output, cached };
        self
    }

    /// Says at its end that the room for the answer was used up.
    #[must_use]
    pub fn out_of_room(mut self) -> Self {
        self.out_of_room = true;
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
            out_of_room: false,
        }
    }
}
