//! Builds the HTTP client for all outgoing requests, and removes keys from server responses.
//!
//! `reqwest` is built without a cryptography provider, because its default compiles a large C library. Every client
//! must therefore be built here: [`client_builder`] installs `ring` first, without which reqwest panics.

mod mask;

pub use mask::mask_key;

use std::sync::Once;

use reqwest::ClientBuilder;
use rustls::crypto::ring;

/// Builder of an HTTP client whose TLS is rustls on `ring`.
pub fn client_builder() -> ClientBuilder {
    static INSTALL: Once = Once::new();
    // A program that embeds these crates may have installed another provider, which works too.
    INSTALL.call_once(|| drop(ring::default_provider().install_default()));
    #[expect(clippy::disallowed_methods, reason = "the provider is installed")]
    reqwest::Client::builder()
}

#[cfg(test)]
mod tests {
    use super::client_builder;

    #[test]
    fn client_with_tls_can_be_built_more_than_once() {
        for _ in 0..2 {
            client_builder().https_only(true).build().unwrap();
        }
    }
}
