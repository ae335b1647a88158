//! What both network protocols share: one client, a bound on calls in flight, time limits, retries,
//! and a memory of what the endpoint accepts. A protocol only says what to send and how to read.

mod protocol;

mod attempt;
mod deadline;
mod events;
mod refusal;
mod retry;
mod shared;
mod streaming;

pub(crate) use attempt::HttpProvider;
pub(crate) use events::SseEvent;
pub(crate) use protocol::{
    Capabilities, JsonMode, LimitField, ParsedAnswer, Progress, Protocol, StreamItem, schema_instructions,
};
pub(crate) use refusal::{ErrorBody, error_in_stream, error_of_status, transport_error};

use std::time::Duration;

use outgoing::client_builder;
use reqwest::{Client, Url, redirect};

use crate::LlmError;

/// Most text an answer may hold, in bytes. More is not an answer of ours.
pub const MAX_ANSWER_BYTES: usize = 1024 * 1024;

/// Most bytes one server-sent event may hold before its end is seen.
pub const MAX_EVENT_BYTES: usize = 1024 * 1024;

/// Most bytes of a whole JSON answer: text, its escapes, and the envelope around it.
const MAX_BODY_BYTES: usize = 2 * MAX_ANSWER_BYTES;

/// Most bytes read of an error answer: enough to say what is wrong.
const MAX_ERROR_BYTES: usize = 16 * 1024;

/// One client for all calls of a provider.
///
/// Redirects are not followed, because they would carry the words and the key elsewhere. A client for
/// this machine uses no proxy and loads no certificates, so that a local model works where none exist.
pub(crate) fn client(local: bool, connect_timeout: Duration) -> Result<Client, LlmError> {
    let builder = client_builder()
        .user_agent(concat!("echovessel/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(connect_timeout)
        .redirect(redirect::Policy::none());
    let builder = if local { builder.no_proxy().tls_certs_only([]) } else { builder };
    builder.build().map_err(|error| {
        LlmError::fatal_error(format!(
            "The connection to language models could not be prepared ({}). Check that this machine has CA certificates.",
            refusal::root_cause(&error)
        ))
    })
}

/// Host and port of an address, for messages.
pub(crate) fn host_of(url: &Url) -> String {
    match (url.host_str(), url.port()) {
        (Some(host), Some(port)) => format!("{host}:{port}"),
        (host, _) => host.unwrap_or_default().to_owned(),
    }
}
