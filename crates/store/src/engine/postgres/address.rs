//! Where a database is, and how a server's refusal is put into words.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use memory::ports::StoreError;
use tokio_postgres::config::{Config, Host, SslMode};
use tokio_postgres::error::SqlState;

use super::Server;
use super::tls::Tls;
use crate::engine::sql::Error;

/// Time that a server has to accept a connection.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Silence after which a connection counts as lost.
const KEEPALIVES_IDLE: Duration = Duration::from_secs(10);

/// A database on a PostgreSQL server, with the password that opens it. Shown without the password.
#[derive(Clone)]
pub struct ServerAddress {
    pub(super) config: Box<Config>,
    /// `None`: connections are not encrypted.
    pub(super) tls: Option<Tls>,
}

/// Parameters of an address that say how connections are encrypted. The driver does not know all of them.
#[derive(Default)]
struct Encryption {
    mode: Option<String>,
    roots: Option<PathBuf>,
}

impl ServerAddress {
    /// Reads `postgres://user@host:port/database?sslmode=…&sslrootcert=…`. A password in it is refused: it comes from the
    /// environment. Beyond this machine connections are encrypted and the server is verified, unless the address says otherwise.
    ///
    /// # Errors
    /// [`StoreError::Unusable`] with what is wrong in the address. It never contains the password.
    pub fn parse(url: &str, password: Option<&str>) -> Result<Self, StoreError> {
        let wrong = |reason: &str| {
            StoreError::Unusable(format!(
                "storage.url: {reason}; allowed is \
                 postgres://user@host:port/database?sslmode=verify-full&sslrootcert=/path/roots.pem"
            ))
        };
        let (url, encryption) = take_encryption(url);
        let mut config: Config = url.parse().map_err(|_| wrong("not an address of a PostgreSQL database"))?;
        if config.get_password().is_some() {
            return Err(wrong(
                "it holds a password; name the variable that holds it in storage.password_env",
            ));
        }
        if config.get_dbname().is_none_or(str::is_empty) || config.get_user().is_none_or(str::is_empty) {
            return Err(wrong("the user or the database is missing"));
        }
        if config.get_hosts().is_empty() {
            return Err(wrong("the host is missing"));
        }
        let is_verified = encryption.roots.is_some() || leaves_the_machine(&config);
        let tls = match encryption.mode.as_deref() {
            Some("disable") => None,
            Some("verify-full") => Some(Tls::verifying(encryption.roots.as_deref())),
            Some("require") if encryption.roots.is_some() => {
                Some(Tls::verifying(encryption.roots.as_deref()))
            }
            Some("require") => Some(Tls::unverified()),
            None if is_verified => Some(Tls::verifying(encryption.roots.as_deref())),
            None => None,
            Some(_) => return Err(wrong("sslmode is disable, require or verify-full")),
        };
        let tls = tls.transpose().map_err(|reason| wrong(&reason))?;
        let mode = if tls.is_some() { SslMode::Require } else { SslMode::Disable };
        config.ssl_mode(mode).connect_timeout(CONNECT_TIMEOUT).keepalives_idle(KEEPALIVES_IDLE);
        config
            .keepalives_interval(KEEPALIVES_IDLE / 2)
            .keepalives_retries(3)
            .tcp_user_timeout(KEEPALIVES_IDLE * 3);
        config.application_name("echovessel");
        if let Some(password) = password {
            config.password(password);
        }
        Ok(Self { config: Box::new(config), tls })
    }

    pub(crate) fn connect(&self) -> Result<Server, StoreError> {
        Server::connect(self).map_err(|error| self.refusal(&error))
    }

    pub(super) fn refusal(&self, error: &Error) -> StoreError {
        let state = match error {
            Error::Postgres(error) => error.code(),
            _ => None,
        };
        let reason = match state {
            Some(&SqlState::INVALID_PASSWORD | &SqlState::INVALID_AUTHORIZATION_SPECIFICATION) => {
                "the server refused the user or the password; check storage.url and the variable that \
                 storage.password_env names"
            }
            Some(&SqlState::INVALID_CATALOG_NAME) => {
                "the server has no such database; create it, empty and in UTF-8, or correct storage.url"
            }
            Some(&SqlState::TOO_MANY_CONNECTIONS) => {
                "the server has no connection left; raise its max_connections"
            }
            Some(&SqlState::CANNOT_CONNECT_NOW) => "the server is starting or stopping; try again",
            Some(_) => "the server refused the connection",
            None if is_about_password(error) => {
                "the server asks for a password; name the variable that holds it in storage.password_env"
            }
            None if error.to_string().contains("TLS") => {
                "the connection can't be encrypted: the server offers no TLS, or its certificate is not one that sslmode and \
                 sslrootcert in storage.url allow"
            }
            None => "the server can't be reached; check that it runs and that storage.url is right",
        };
        StoreError::Unusable(format!("{self}: {reason} ({error}). Nothing was changed"))
    }
}

/// Takes what is about encryption out of the address.
fn take_encryption(url: &str) -> (String, Encryption) {
    let mut encryption = Encryption::default();
    let Some((address, parameters)) = url.split_once('?') else { return (url.to_owned(), encryption) };
    let mut others = Vec::new();
    for parameter in parameters.split('&') {
        match parameter.split_once('=') {
            Some(("sslmode", mode)) => encryption.mode = Some(mode.to_owned()),
            Some(("sslrootcert", path)) => encryption.roots = Some(decoded(path).into()),
            _ => others.push(parameter),
        }
    }
    let separator = if others.is_empty() { "" } else { "?" };
    (format!("{address}{separator}{}", others.join("&")), encryption)
}

/// The text with `%2F` and the like as the characters that they are for.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let code =
            after.get(..2).filter(|_| *first == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn leaves_the_machine(config: &Config) -> bool {
    let is_distant = |host: &Host| match host {
        Host::Tcp(name) => {
            name != "localhost" && !name.parse().is_ok_and(|address: IpAddr| address.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(_) => false,
    };
    config.get_hosts().iter().any(is_distant)
        || config.get_hostaddrs().iter().any(|address| !address.is_loopback())
}

/// True if the client had no password to give.
fn is_about_password(error: &Error) -> bool {
    let Error::Postgres(error) = error else { return false };
    std::error::Error::source(error).is_some_and(|source| source.to_string().contains("password"))
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = match self.config.get_hosts().first() {
            Some(Host::Tcp(name)) => name.clone(),
            #[cfg(unix)]
            Some(Host::Unix(folder)) => folder.display().to_string(),
            _ => String::new(),
        };
        let database = self.config.get_dbname().unwrap_or_default();
        write!(out, "database {database:?} on the PostgreSQL server {host}")
    }
}

impl fmt::Debug for ServerAddress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "ServerAddress({self})")
    }
}
