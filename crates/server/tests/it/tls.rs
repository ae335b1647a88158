use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use server::{ServerParts, Tls};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::home::{Home, TOKEN};

struct Identity {
    folder: TempDir,
}

impl Identity {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        std::fs::write(folder.path().join("cert.pem"), made.cert.pem()).unwrap();
        std::fs::write(folder.path().join("key.pem"), made.signing_key.serialize_pem()).unwrap();
        Self { folder }
    }

    fn file(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn client(&self) -> TlsConnector {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(self.file("cert.pem")).unwrap()).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        TlsConnector::from(Arc::new(config))
    }
}

#[tokio::test]
async fn a_server_with_a_certificate_speaks_tls_and_nothing_else() {
    let (home, identity) = (Home::new().await, Identity::new());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let tls = Tls::from_files(&identity.file("cert.pem"), &identity.file("key.pem")).unwrap();
    let parts = ServerParts { tls: Some(tls), ..home.parts() };
    let server = tokio::spawn(server::serve(listener, None, parts, home.shutdown.clone()));

    // A client that never starts the handshake blocks nobody and is disconnected.
    let mut silent = TcpStream::connect(address).await.unwrap();
    let stream = TcpStream::connect(address).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let mut stream = identity.client().connect(name, stream).await.unwrap();
    let request = format!(
        "GET /api/state HTTP/1.1\r\nHost: localhost:{}\r\nAuthorization: Bearer {TOKEN}\r\nConnection: close\r\n\r\n",
        address.port()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");

    let mut plain = TcpStream::connect(address).await.unwrap();
    plain.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    // The server may close the connection before everything is read.
    let _: std::io::Result<usize> = plain.read_to_end(&mut answer).await;
    assert!(!String::from_utf8_lossy(&answer).contains("HTTP/1.1"), "words went over the wire in the clear");

    home.wait(Duration::from_secs(15)).await;
    let mut rest = Vec::new();
    let _: std::io::Result<usize> = silent.read_to_end(&mut rest).await;
    assert!(rest.is_empty());
    home.shutdown.cancel();
    server.await.unwrap().unwrap();
}

#[test]
fn invalid_certificates_and_keys_are_refused_with_their_file() {
    let (identity, other) = (Identity::new(), Identity::new());
    let refused =
        |certificates: &Path, key: &Path| Tls::from_files(certificates, key).err().unwrap().to_string();
    let (cert, key) = (identity.file("cert.pem"), identity.file("key.pem"));
    let missing = refused(&identity.file("none.pem"), &key);
    assert!(missing.contains("server.tls_cert") && missing.contains("none.pem"), "{missing}");
    assert!(refused(&cert, &cert).contains("server.tls_key"));
    assert!(refused(&key, &key).contains("no certificate"), "{}", refused(&key, &key));
    assert!(refused(&cert, &other.file("key.pem")).contains("belong together"));
}
