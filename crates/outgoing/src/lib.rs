//! Builds the HTTP client of every request that leaves the program, and takes keys out of what servers answer.
//!
//! `reqwest` is built without a cryptography provider, because its own choice compiles a large C library. A client must
//! therefore be built here: [`client_builder`] installs `ring` first, without which reqwest panics.

mod mask;

pub use mask::mask_key;

use std::sync::Once;

use reqwest::ClientBuilder;
use rustls::crypto::ring;

/// Starts an HTTP client whose TLS is rustls on `ring`.
pub fn client_builder() -> ClientBuilder {
    static INSTALL: Once = Once::new();
    // Another provider may have been installed by a program that embeds these crates; it then serves as well.
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
