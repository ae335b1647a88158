//! Encrypted connections: the certificate decides which server is accepted.

use std::net::TcpListener as StdListener;
use std::sync::Arc;

use memory::UserId;
use memory::ports::UserStore as _;
use store::{HomeStore, ServerAddress, StoreOptions};
use tempfile::TempDir;
use testkit::postgres::fresh_home;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use super::Outcome;

/// A TLS socket in front of the server, with a certificate for these names. Returns its port and the certificate.
async fn encrypted_door(folder: &TempDir, names: &[&str]) -> Outcome<(u16, String)> {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let made = rcgen::generate_simple_self_signed(names)?;
    let roots = folder.path().join("roots.pem");
    std::fs::write(&roots, made.cert.pem())?;
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der())?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)?;
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = StdListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let port = listener.local_addr()?.port();
    let server = format!("{}/.s.PGSQL.5432", std::env::var("ECHOVESSEL_TEST_POSTGRES")?);
    let listener = TcpListener::from_std(listener)?;
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(pass_on(client, acceptor.clone(), server.clone()));
        }
    });
    Ok((port, roots.display().to_string()))
}

/// Accepts the request for encryption, does the handshake, and forwards all bytes.
async fn pass_on(mut client: TcpStream, acceptor: TlsAcceptor, server: String) -> Option<()> {
    let mut request = [0; 8];
    client.read_exact(&mut request).await.ok()?;
    assert_eq!(request[4..], 80_877_103_u32.to_be_bytes(), "words before the encryption: {request:?}");
    client.write_all(b"S").await.ok()?;
    let mut client = acceptor.accept(client).await.ok()?;
    let mut server = UnixStream::connect(server).await.ok()?;
    copy_bidirectional(&mut client, &mut server).await.ok()?;
    Some(())
}

fn open(url: &str) -> Result<HomeStore, String> {
    let address = ServerAddress::parse(url, None).map_err(|error| error.to_string())?;
    HomeStore::open_on_server(&address, StoreOptions::default()).map_err(|error| error.to_string())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a PostgreSQL server: scripts/with-postgres"]
async fn connections_are_encrypted_and_the_server_is_verified() -> Outcome {
    let database = fresh_home()?.ok_or("run this test by scripts/with-postgres")?;
    let name = database.trim_start_matches("postgres:///").split('?').next().unwrap_or_default().to_owned();
    let folder = TempDir::new()?;
    let (port, roots) = encrypted_door(&folder, &["localhost"]).await?;
    let url = |more: &str| format!("postgres://echovessel@localhost:{port}/{name}?{more}");

    let store = open(&url(&format!("sslmode=verify-full&sslrootcert={roots}")))?;
    store.ensure_user(&UserId::new("anna")?, jiff::Timestamp::UNIX_EPOCH).await?;
    assert_eq!(store.users(None, 10).await?.len(), 1);
    store.close().await?;
    open(&url("sslmode=require"))?.close().await?;

    // Signed by an authority that this machine does not know.
    let refused = open(&url("sslmode=verify-full")).err().ok_or("it was opened")?;
    assert!(refused.contains("can't be encrypted") && refused.contains("sslrootcert"), "{refused}");

    // For another name: `require` with roots verifies too.
    let folder = TempDir::new()?;
    let (port, roots) = encrypted_door(&folder, &["db.example"]).await?;
    for mode in ["verify-full", "require"] {
        let url = format!("postgres://echovessel@localhost:{port}/{name}?sslmode={mode}&sslrootcert={roots}");
        let refused = open(&url).err().ok_or("it was opened")?;
        assert!(refused.contains("can't be encrypted"), "{refused}");
    }
    Ok(())
}

/// A server without TLS says so, and no data is sent to it.
#[tokio::test(flavor = "multi_thread")]
async fn server_without_encryption_is_refused() -> Outcome {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let mut request = [0; 64];
            assert_eq!(client.read(&mut request).await.unwrap_or(0), 8, "words before the encryption");
            let _refused = client.write_all(b"N").await;
        }
    });
    let refused = open(&format!("postgres://anna@localhost:{port}/home?sslmode=require"));
    let refused = refused.err().ok_or("it was opened")?;
    assert!(refused.contains("can't be encrypted"), "{refused}");
    Ok(())
}
