//! The hub's tools for programs that speak the Model Context Protocol: over streamable HTTP at `/mcp`, over a socket
//! in the home, over standard input and output.
//!
//! A call enters the [`handler`], which finds its [`tool`], checks the arguments against the tool's schema
//! ([`check`]), determines the caller's scope and instance ([`speaker`]), and passes it to one of [`tools`].

mod handler;
mod tool;
mod tools;
mod check;
mod schema;
mod speaker;
mod context;
pub(crate) mod http;
mod socket;

pub use context::ToolContext;
pub use handler::{BoxedReader, BoxedWriter, serve_stream};
pub use socket::{HubSocket, join};
pub(crate) use socket::{answer_program, greeting_line};
pub use speaker::Speaker;
pub use tools::names_that_may_be_repeated;

/// Maximum bytes of a message, over HTTP and over streams: the largest archive of a hub fits, which base64 makes a
/// third longer.
pub const MESSAGE_BYTES_MAX: usize = 68 * 1024 * 1024;

const _: () = assert!(
    MESSAGE_BYTES_MAX > hub::ARCHIVE_BYTES_MAX.div_ceil(3) * 4 + 64 * 1024,
    "an archive is too large for a message"
);
