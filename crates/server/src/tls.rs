//! TLS for connections from other machines.

use std::path::Path;
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{self, ServerConfig};

/// Why TLS can't be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file can't be read, or has other content.
    #[error("{what} ({path}) can't be used: {reason}; it must be a PEM file that this user can read")]
    File { what: &'static str, path: String, reason: String },
    /// Certificate and key do not match, or are of an unsupported kind.
    #[error("server.tls_cert and server.tls_key don't belong together or are unsupported: {0}")]
    Identity(#[from] rustls::Error),
}

/// A server's TLS identity.
#[derive(Clone)]
pub struct Tls {
    acceptor: TlsAcceptor,
}

impl Tls {
    /// Reads the certificate chain and its key, both in PEM. TLS 1.2 and 1.3, no client certificates.
    pub fn from_files(certificates: &Path, key: &Path) -> Result<Self, TlsError> {
        let unusable = |what, path: &Path, reason: String| TlsError::File {
            what,
            path: path.display().to_string(),
            reason,
        };
        let no_certificates = |reason: String| unusable("server.tls_cert", certificates, reason);
        let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(certificates)
            .and_then(Iterator::collect)
            .map_err(|error| no_certificates(error.to_string()))?;
        if chain.is_empty() {
            return Err(no_certificates("no certificate found".to_owned()));
        }
        let key = PrivateKeyDer::from_pem_file(key)
            .map_err(|error| unusable("server.tls_key", key, error.to_string()))?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(chain, key)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { acceptor: TlsAcceptor::from(Arc::new(config)) })
    }

    pub(crate) fn tls_acceptor(&self) -> &TlsAcceptor {
        &self.acceptor
    }
}
