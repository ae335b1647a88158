//! The address of a database, and errors of a server in plain words.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use memory::ports::StoreError;
use tokio_postgres::config::{Config, Host, SslMode, TargetSessionAttrs};
use tokio_postgres::error::SqlState;

use super::Server;
use super::tls::Tls;
use crate::engine::sql::Error;

/// Time limit for connecting to a server. A server on a slow network answers within two or three seconds; a firewall
/// that drops everything never does.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Time limit for each of several hosts, so that the next one is tried before the callers give up.
const CONNECT_TIMEOUT_OF_SEVERAL: Duration = Duration::from_secs(4);
/// Silence after which a connection counts as lost. The system's own value is two hours.
const KEEPALIVES_IDLE: Duration = Duration::from_secs(10);

/// A database on a PostgreSQL server, with the password that opens it. Shown without the password.
#[derive(Clone)]
pub struct ServerAddress {
    config: Box<Config>,
    /// `None` for unencrypted connections.
    pub(super) tls: Option<Tls>,
    /// Number of times that a connection has waited for an answer. Clones share it.
    pub(crate) round_trips: Arc<AtomicU64>,
}

/// Parameters of an address that select encryption. The driver does not support all of them.
#[derive(Default)]
struct Encryption {
    mode: Option<String>,
    roots: Option<PathBuf>,
}

impl ServerAddress {
    /// Parses `postgres://user@host:port/database?sslmode=…&sslrootcert=…`. A password in it is refused: it comes
    /// from the environment or from a file. Connections to other machines are encrypted and the server is verified,
    /// unless the address says otherwise. Of several hosts, separated by commas, the first one that accepts writes is
    /// used.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unusable`] with the error in the address. It never contains the password.
    pub fn parse(url: &str, password: Option<&str>) -> Result<Self, StoreError> {
        let wrong = |reason: &str| {
            StoreError::Unusable(format!(
                "storage.url: {reason}; allowed is \
                 postgres://user@host:port/database?sslmode=verify-full&sslrootcert=/path/roots.pem"
            ))
        };
        let (url, encryption) = split_encryption(url);
        let mut config: Config = url.parse().map_err(|_| wrong("not an address of a PostgreSQL database"))?;
        if config.get_password().is_some() {
            return Err(wrong(
                "it contains a password; name its environment variable in storage.password_env, or its file \
                    in storage.password_file",
            ));
        }
        if config.get_dbname().is_none_or(str::is_empty) || config.get_user().is_none_or(str::is_empty) {
            return Err(wrong("the user or the database is missing"));
        }
        if config.get_hosts().is_empty() {
            return Err(wrong("the host is missing"));
        }
        let hosts = config.get_hosts().len();
        if config.get_ports().len() > 1 && config.get_ports().len() != hosts {
            return Err(wrong("set one port for all hosts, or one for each"));
        }
        match config.get_target_session_attrs() {
            TargetSessionAttrs::ReadOnly => {
                return Err(wrong(
                    "target_session_attrs must be read-write or any, because a home is written \
                    to",
                ));
            }
            _ if hosts > 1 => config.target_session_attrs(TargetSessionAttrs::ReadWrite),
            _ => &mut config,
        };
        let is_verified = encryption.roots.is_some() || is_on_another_machine(&config);
        let tls = match encryption.mode.as_deref() {
            Some("disable") => None,
            Some("verify-full") => Some(Tls::with_verification(encryption.roots.as_deref())),
            Some("require") if encryption.roots.is_some() => {
                Some(Tls::with_verification(encryption.roots.as_deref()))
            }
            Some("require") => Some(Tls::without_verification()),
            None if is_verified => Some(Tls::with_verification(encryption.roots.as_deref())),
            None => None,
            Some(_) => return Err(wrong("sslmode must be disable, require or verify-full")),
        };
        let tls = tls.transpose().map_err(|reason| wrong(&reason))?;
        let mode = if tls.is_some() { SslMode::Require } else { SslMode::Disable };
        config.ssl_mode(mode);
        set_limits(&mut config);
        if let Some(password) = password {
            config.password(password);
        }
        Ok(Self { config: Box::new(config), tls, round_trips: Arc::default() })
    }

    /// The hosts, as written in the address.
    pub fn hosts(&self) -> Vec<String> {
        let name = |host: &Host| match host {
            Host::Tcp(name) => name.clone(),
            #[cfg(unix)]
            Host::Unix(folder) => folder.display().to_string(),
        };
        self.config.get_hosts().iter().map(name).collect()
    }

    /// True if a host is another machine.
    pub fn is_on_another_machine(&self) -> bool {
        is_on_another_machine(&self.config)
    }

    /// The hosts one by one, each with its time limit. The driver alone would spend all of the time on the first host
    /// that accepts connections but never answers.
    pub(super) fn each_host(&self) -> Vec<(Config, Duration)> {
        let hosts = self.config.get_hosts();
        if let [_] = hosts {
            return vec![(Config::clone(&self.config), CONNECT_TIMEOUT)];
        }
        let (ports, addresses) = (self.config.get_ports(), self.config.get_hostaddrs());
        let alone = |(place, host): (usize, &Host)| {
            let mut alone = Config::new();
            match host {
                Host::Tcp(name) => alone.host(name),
                #[cfg(unix)]
                Host::Unix(folder) => alone.host_path(folder),
            };
            if let Some(port) = ports.get(place).or_else(|| ports.first()) {
                alone.port(*port);
            }
            if let Some(address) = addresses.get(place) {
                alone.hostaddr(*address);
            }
            alone.user(self.config.get_user().unwrap_or_default());
            alone.dbname(self.config.get_dbname().unwrap_or_default());
            if let Some(options) = self.config.get_options() {
                alone.options(options);
            }
            if let Some(password) = self.config.get_password() {
                alone.password(password);
            }
            alone
                .ssl_mode(self.config.get_ssl_mode())
                .channel_binding(self.config.get_channel_binding())
                .target_session_attrs(self.config.get_target_session_attrs());
            set_limits(&mut alone);
            (alone, CONNECT_TIMEOUT_OF_SEVERAL)
        };
        hosts.iter().enumerate().map(alone).collect()
    }

    /// The error for a database that another program uses.
    pub(crate) fn database_in_use_error(&self) -> StoreError {
        StoreError::Unusable(format!(
            "{self}: another EchoVessel uses it; stop that one first. Nothing was changed"
        ))
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
                "the server rejected the user or the password; check storage.url and the variable or file \
                    that storage.password_env or storage.password_file names"
            }
            Some(&SqlState::INVALID_CATALOG_NAME) => {
                "the database does not exist on the server; create it, empty and in UTF-8, or correct \
                    storage.url"
            }
            Some(&SqlState::TOO_MANY_CONNECTIONS) => {
                "the server has no connection left; raise its max_connections"
            }
            Some(&SqlState::CANNOT_CONNECT_NOW) => "the server is starting or stopping; try again",
            Some(_) => "the server refused the connection",
            None if is_about_password(error) => {
                "the server asks for a password; name its environment variable in storage.password_env, or \
                    its file in storage.password_file"
            }
            None if error.to_string().contains("TLS") => {
                "the connection can't be encrypted: the server offers no TLS, or its certificate is not one that sslmode and \
                 sslrootcert in storage.url allow"
            }
            None if error.to_string().contains("allow writes") => {
                "none of the hosts accepts writes; the primary server is missing or has not been promoted yet"
            }
            None => "the server can't be reached; check that it is running and that storage.url is correct",
        };
        StoreError::Unusable(format!("{self}: {reason} ({error}). Nothing was changed"))
    }
}

/// Applies the settings that all connections of this program share.
fn set_limits(config: &mut Config) {
    config
        .application_name("echovessel")
        .keepalives_idle(KEEPALIVES_IDLE)
        .keepalives_interval(KEEPALIVES_IDLE / 2)
        .keepalives_retries(3)
        .tcp_user_timeout(KEEPALIVES_IDLE * 3);
}

/// Removes the parameters for encryption from the address, and rewrites a list of hosts for the driver.
fn split_encryption(url: &str) -> (String, Encryption) {
    let mut encryption = Encryption::default();
    let Some((address, parameters)) = url.split_once('?') else { return (url.to_owned(), encryption) };
    let mut others = Vec::new();
    for parameter in parameters.split('&') {
        match parameter.split_once('=') {
            Some(("sslmode", mode)) => encryption.mode = Some(mode.to_owned()),
            Some(("sslrootcert", path)) => encryption.roots = Some(percent_decode(path).into()),
            Some(("host", hosts)) => others.extend(hosts.split(',').map(|host| format!("host={host}"))),
            _ => others.push(parameter.to_owned()),
        }
    }
    let separator = if others.is_empty() { "" } else { "?" };
    (format!("{address}{separator}{}", others.join("&")), encryption)
}

/// Decodes `%2F` and the like.
fn percent_decode(text: &str) -> String {
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

fn is_on_another_machine(config: &Config) -> bool {
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

/// True if the client had no password.
fn is_about_password(error: &Error) -> bool {
    let Error::Postgres(error) = error else { return false };
    std::error::Error::source(error).is_some_and(|source| source.to_string().contains("password"))
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (hosts, database) = (self.hosts(), self.config.get_dbname().unwrap_or_default());
        let servers = if hosts.len() > 1 { "servers" } else { "server" };
        write!(out, "database {database:?} on the PostgreSQL {servers} {}", hosts.join(", "))
    }
}

impl fmt::Debug for ServerAddress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "ServerAddress({self})")
    }
}
