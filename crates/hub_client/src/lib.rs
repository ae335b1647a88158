//! Client for the hub that a home follows. It uses MCP over streamable HTTP, or with a child process over stdio, so
//! that any server with the tools `sync_pull`, `sync_push` and `sync_status` can be a hub.
//!
//! [`HubClient`] connects at the first call, and again after a failed one.

mod address;
mod diagnosis;
mod http;

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use hub::api::sync::{SyncPull, SyncPush};
use hub::ports::{RemoteError, RemoteHub, RemotePage, RemotePushed, RemoteStatus};
use memory::{Scope, UserId};
use rmcp::model::{CallToolRequestParams, CallToolResult};
use rmcp::service::RunningService;
use rmcp::{RoleClient, ServiceExt as _};
use secrecy::SecretString;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::process::{Child, Command};
use tokio::sync::Mutex;

/// Time limit of one call. A page is at most a few megabytes; a hub that has not answered by then counts as
/// unreachable.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);

/// The address of a hub.
#[derive(Clone)]
pub enum HubAddress {
    /// A server, reached over HTTP.
    Http(HttpAddress),
    /// A program to start, which speaks over its standard input and output: its name and arguments.
    Process(Vec<String>),
}

/// Reads the token of a hub.
pub type TokenSource = Arc<dyn Fn() -> Option<SecretString> + Send + Sync>;

/// Address of a hub over HTTP.
#[derive(Clone)]
pub struct HttpAddress {
    /// `https://home.example:7777`, or with the path of the MCP endpoint.
    pub url: String,
    /// Reads this home's token; `None` if there is none. Called for each connection, so that a new token needs no
    /// restart.
    pub token: TokenSource,
    /// A file with the certificate of an authority to trust besides those of the system.
    pub ca_file: Option<PathBuf>,
}

type Connection = RunningService<RoleClient, ()>;

/// An open connection, with the program at its other end if one was started.
struct OpenConnection {
    connection: Connection,
    _process: Option<Child>,
}

/// Checks that a text can be the address of a hub.
///
/// # Errors
///
/// When it can't; the text shows the right form.
pub fn check_url(url: &str) -> Result<(), RemoteError> {
    address::endpoint(url).map(drop)
}

/// Client of the hub that this home follows.
pub struct HubClient {
    address: HubAddress,
    open: Mutex<Option<OpenConnection>>,
}

impl HubClient {
    /// Creates a client that connects on the first request.
    pub fn new(address: HubAddress) -> Self {
        Self { address, open: Mutex::new(None) }
    }

    /// Closes the connection, and stops the program that was started for it.
    pub async fn close(&self) {
        if let Some(open) = self.open.lock().await.take() {
            // The process may have ended already.
            drop(open.connection.cancel().await);
        }
    }

    async fn connect(&self) -> Result<OpenConnection, RemoteError> {
        match &self.address {
            HubAddress::Http(address) => {
                let connection = http::connect(address).await?;
                Ok(OpenConnection { connection, _process: None })
            }
            HubAddress::Process(command) => start(command).await,
        }
    }

    async fn call<Answer: DeserializeOwned>(
        &self,
        tool: &'static str,
        arguments: Map<String, Value>,
    ) -> Result<Answer, RemoteError> {
        // One call at a time, because each depends on the one before.
        let mut open = self.open.lock().await;
        let connected = match open.take() {
            Some(connected) => connected,
            None => match tokio::time::timeout(CALL_TIMEOUT, self.connect()).await {
                Ok(connected) => connected?,
                Err(_) => return Err(self.no_answer_error()),
            },
        };
        let request = CallToolRequestParams::new(tool).with_arguments(arguments);
        let answer = match tokio::time::timeout(CALL_TIMEOUT, connected.connection.call_tool(request)).await {
            Ok(Ok(answer)) => answer,
            // The connection is dropped: the next call opens a new one.
            Ok(Err(error)) => return Err(self.explain(&error.to_string()).await),
            Err(_) => return Err(self.no_answer_error()),
        };
        *open = Some(connected);
        read_answer(tool, answer)
    }

    fn no_answer_error(&self) -> RemoteError {
        let seconds = CALL_TIMEOUT.as_secs();
        RemoteError::Away(match &self.address {
            HubAddress::Http(address) => format!(
                "{} did not respond within {seconds} s; it may be overloaded, or the network drops packets",
                address::host_and_port(&address.url)
            ),
            HubAddress::Process(command) => {
                format!("`{}` did not respond within {seconds} s", command.join(" "))
            }
        })
    }

    async fn explain(&self, error: &str) -> RemoteError {
        match &self.address {
            HubAddress::Http(address) => diagnosis::explain(address, error).await,
            HubAddress::Process(command) => {
                RemoteError::Away(format!("`{}` ended unexpectedly: {error}", command.join(" ")))
            }
        }
    }
}

/// Starts a hub as a child process. It ends with the connection.
async fn start(command: &[String]) -> Result<OpenConnection, RemoteError> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(RemoteError::Refused("sync.command is empty".to_owned()));
    };
    let spawned = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn();
    let failed = |error: &dyn std::fmt::Display| {
        RemoteError::Away(format!("`{program}` could not be started: {error}; check sync.command"))
    };
    let mut child = spawned.map_err(|error| failed(&error))?;
    let (Some(output), Some(input)) = (child.stdout.take(), child.stdin.take()) else {
        return Err(failed(&"it has no standard input or output"));
    };
    match ().serve((output, input)).await {
        Ok(connection) => Ok(OpenConnection { connection, _process: Some(child) }),
        Err(error) => Err(failed(&error)),
    }
}

fn read_answer<Answer: DeserializeOwned>(tool: &str, answer: CallToolResult) -> Result<Answer, RemoteError> {
    let text = || {
        let texts = answer.content.iter().filter_map(|block| block.as_text());
        texts.map(|block| block.text.as_str()).collect::<Vec<_>>().join("\n")
    };
    if answer.is_error == Some(true) {
        return Err(RemoteError::Refused(format!("{tool}: {}", text())));
    }
    let value = match answer.structured_content.clone() {
        Some(value) => value,
        None => serde_json::from_str(&text())
            .map_err(|error| RemoteError::Refused(format!("{tool}: the answer is not JSON: {error}")))?,
    };
    if value["success"] == json!(false) {
        let message = value["message"].as_str().unwrap_or("the hub gave no reason");
        return Err(RemoteError::Refused(format!("{tool}: {message}")));
    }
    serde_json::from_value(value)
        .map_err(|error| RemoteError::Refused(format!("{tool}: the answer has an unexpected form: {error}")))
}

fn arguments(input: &impl serde::Serialize, scope: &Scope) -> Map<String, Value> {
    let mut arguments = match serde_json::to_value(input) {
        Ok(Value::Object(arguments)) => arguments,
        _ => Map::new(),
    };
    arguments.insert("persona_id".to_owned(), json!(scope.persona.as_str()));
    put_user(&mut arguments, scope);
    arguments
}

fn put_user(arguments: &mut Map<String, Value>, scope: &Scope) {
    if scope.user != UserId::owner() {
        arguments.insert("user_id".to_owned(), json!(scope.user.as_str()));
    }
}

#[async_trait]
impl RemoteHub for HubClient {
    async fn sync_status(&self, scope: &Scope) -> Result<RemoteStatus, RemoteError> {
        // Without a persona, so that the hub returns its own.
        let mut arguments = Map::new();
        put_user(&mut arguments, scope);
        self.call("sync_status", arguments).await
    }

    async fn sync_pull(&self, scope: &Scope, pull: &SyncPull) -> Result<RemotePage, RemoteError> {
        self.call("sync_pull", arguments(pull, scope)).await
    }

    async fn sync_push(&self, scope: &Scope, push: &SyncPush) -> Result<RemotePushed, RemoteError> {
        self.call("sync_push", arguments(push, scope)).await
    }
}
