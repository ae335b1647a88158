//! Code shared by both network protocols: the HTTP client, a limit of concurrent calls, time limits, retries, and the
//! remembered capabilities of the endpoint. A protocol only builds requests and parses answers.

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

/// Maximum bytes of an answer's text; no valid answer is longer.
pub const MAX_ANSWER_BYTES: usize = 1024 * 1024;

/// Maximum bytes of one server-sent event. Providers send some hundred bytes; without a limit an endless line would
/// fill the memory.
pub const MAX_EVENT_BYTES: usize = 1024 * 1024;

/// Maximum bytes of a complete JSON answer: text, escapes, and the envelope around it.
const MAX_BODY_BYTES: usize = 2 * MAX_ANSWER_BYTES;

/// Maximum bytes to read of an error answer: enough to find the reason.
const MAX_ERROR_BYTES: usize = 16 * 1024;

/// Creates the HTTP client for all calls of a provider.
///
/// It follows no redirects, which would send texts and the key elsewhere. A client for this machine uses no proxy and
/// loads no certificates, so that a local model works without any.
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
