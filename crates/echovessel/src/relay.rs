//! Passes lines between a client and the process that holds the home. When the holder changes, the new one receives
//! the client's initial messages; running calls are repeated if they only read, and answered with an error if they
//! may have been carried out.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::mpsc;

/// Maximum lines of the client that wait for a new owner of the home. A client asks a few things while a daemon
/// restarts; one that never stops sending must not use up the memory.
const WAITING_LINES: usize = 64;

/// Reason why a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionEnd {
    /// The client has closed its end and received every answer.
    Client,
    /// The process that held the home has ended.
    Owner,
}

/// A client that sends lines.
pub(crate) struct Client<W> {
    lines: mpsc::Receiver<Vec<u8>>,
    /// True once the client has sent its last line.
    finished: bool,
    output: W,
    conversation: ReplayState,
}

impl<W: AsyncWrite + Unpin> Client<W> {
    /// Starts reading the client's lines.
    pub(crate) fn new<R: AsyncRead + Send + Unpin + 'static>(input: R, output: W) -> Self {
        let (sender, lines) = mpsc::channel(WAITING_LINES);
        tokio::spawn(async move {
            let mut input = BufReader::new(input);
            loop {
                let mut line = Vec::new();
                match input.read_until(b'\n', &mut line).await {
                    Ok(read) if read > 0 => {}
                    _ => return,
                }
                if sender.send(line).await.is_err() {
                    return;
                }
            }
        });
        Self { lines, finished: false, output, conversation: ReplayState::default() }
    }

    /// Passes lines both ways until one side closes.
    ///
    /// # Errors
    ///
    /// When the client can't be written to.
    pub(crate) async fn relay<R, O>(&mut self, reader: R, mut owner: O) -> std::io::Result<ConnectionEnd>
    where
        R: AsyncRead + Unpin,
        O: AsyncWrite + Unpin,
    {
        let (again, unknown) = self.conversation.resume_on_new_host();
        for answer in unknown {
            self.write_to_client(&answer).await?;
        }
        for line in again {
            if send_line(&mut owner, &line).await.is_err() {
                return Ok(ConnectionEnd::Owner);
            }
        }
        let mut answers = BufReader::new(reader);
        let mut answer = Vec::new();
        let mut is_open = true;
        loop {
            if self.finished && is_open {
                // A client that has closed its input still gets its answers.
                is_open = owner.shutdown().await.is_err();
                if self.conversation.is_over() {
                    return Ok(ConnectionEnd::Client);
                }
            }
            tokio::select! {
                line = self.lines.recv(), if !self.finished => match line {
                    None => self.finished = true,
                    Some(line) => {
                        let line = with_line_end(line);
                        self.conversation.read_client_line(&line);
                        if send_line(&mut owner, &line).await.is_err() {
                            return Ok(ConnectionEnd::Owner);
                        }
                    }
                },
                read = answers.read_until(b'\n', &mut answer) => {
                    match read {
                        Ok(read) if read > 0 && answer.ends_with(b"\n") => {}
                        _ => return Ok(if self.is_done() { ConnectionEnd::Client } else { ConnectionEnd::Owner }),
                    }
                    let line = std::mem::take(&mut answer);
                    if self.conversation.on_host_line(&line) {
                        self.write_to_client(&line).await?;
                    }
                    if self.is_done() {
                        return Ok(ConnectionEnd::Client);
                    }
                }
            }
        }
    }

    fn is_done(&self) -> bool {
        self.finished && self.conversation.is_over()
    }

    async fn write_to_client(&mut self, line: &[u8]) -> std::io::Result<()> {
        self.output.write_all(line).await?;
        self.output.flush().await
    }
}

async fn send_line<O: AsyncWrite + Unpin>(owner: &mut O, line: &[u8]) -> std::io::Result<()> {
    owner.write_all(line).await?;
    owner.flush().await
}

fn with_line_end(mut line: Vec<u8>) -> Vec<u8> {
    if !line.ends_with(b"\n") {
        line.push(b'\n');
    }
    line
}

/// A call that is not answered yet.
struct Call {
    line: Vec<u8>,
    /// Name of the call, as shown to people.
    name: String,
    may_be_repeated: bool,
}

/// Earlier messages to repeat to a new holder of the home.
#[derive(Default)]
struct ReplayState {
    /// The client's `initialize` request, with its id.
    initialize: Option<(String, Vec<u8>)>,
    /// True if the client has the answer to its `initialize`.
    is_initialized: bool,
    /// The client's message `notifications/initialized`.
    initialized: Option<Vec<u8>>,
    /// The id of a repeated call whose answer the client has already; the second answer is dropped.
    swallowed: Option<String>,
    /// Open calls by their id as JSON, in the order of ids.
    pending: BTreeMap<String, Call>,
}

impl ReplayState {
    fn is_over(&self) -> bool {
        self.pending.is_empty()
    }

    fn read_client_line(&mut self, line: &[u8]) {
        let Ok(message) = serde_json::from_slice::<Value>(line) else { return };
        let method = message["method"].as_str().unwrap_or_default();
        let Some(id) = message.get("id").filter(|id| !id.is_null()).map(Value::to_string) else {
            if method == "notifications/initialized" {
                self.initialized = Some(line.to_vec());
            }
            return;
        };
        if method.is_empty() {
            return;
        }
        let name = message["params"]["name"].as_str().filter(|_| method == "tools/call");
        if method == "initialize" {
            self.initialize = Some((id.clone(), line.to_vec()));
        }
        let may_be_repeated =
            name.is_none_or(|name| server::mcp::names_that_may_be_repeated().contains(&name));
        let call = Call { line: line.to_vec(), name: name.unwrap_or(method).to_owned(), may_be_repeated };
        self.pending.insert(id, call);
    }

    /// Handles a line of the server; true if it should be passed on to the client.
    fn on_host_line(&mut self, line: &[u8]) -> bool {
        let Ok(message) = serde_json::from_slice::<Value>(line) else { return true };
        let Some(id) = message.get("id").filter(|_| message.get("method").is_none()) else { return true };
        let id = id.to_string();
        if self.swallowed.as_ref() == Some(&id) {
            self.swallowed = None;
            return false;
        }
        if self.initialize.as_ref().is_some_and(|(asked, _)| *asked == id) {
            self.is_initialized = true;
        }
        self.pending.remove(&id);
        true
    }

    /// Messages for a new owner, and answers to the client about calls whose result is unknown.
    fn resume_on_new_host(&mut self) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
        let mut again = Vec::new();
        self.swallowed = None;
        if let Some((id, line)) = self.initialize.as_ref().filter(|_| self.is_initialized) {
            again.push(line.clone());
            again.extend(self.initialized.clone());
            self.swallowed = Some(id.clone());
        }
        let (looks, acts): (BTreeMap<_, _>, BTreeMap<_, _>) =
            std::mem::take(&mut self.pending).into_iter().partition(|(_, call)| call.may_be_repeated);
        again.extend(looks.values().map(|call| call.line.clone()));
        self.pending = looks;
        let unknown = acts.iter().map(|(id, call)| unknown_result(id, &call.name)).collect();
        (again, unknown)
    }
}

/// The answer to a call whose result is unknown, because the connection broke.
fn unknown_result(id: &str, name: &str) -> Vec<u8> {
    let id: Value = serde_json::from_str(id).unwrap_or_default();
    let text = format!(
        "The EchoVessel that hosted the memory ended before it answered, so it is unknown if {name} was \
            done. Check, and call it again if it was not. Everything answered before is saved."
    );
    let result = json!({"content": [{"type": "text", "text": text}], "isError": true});
    with_line_end(json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json_line(value: Value) -> Vec<u8> {
        with_line_end(value.to_string().into_bytes())
    }

    fn call(id: u32, name: &str) -> Vec<u8> {
        json_line(json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name}}))
    }

    #[test]
    fn a_new_owner_gets_the_handshake_and_repeatable_calls() {
        let mut conversation = ReplayState::default();
        let initialize = json_line(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize"}));
        let initialized = json_line(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        conversation.read_client_line(&initialize);
        assert!(conversation.on_host_line(&json_line(json!({"jsonrpc": "2.0", "id": 0, "result": {}}))));
        conversation.read_client_line(&initialized);
        for (id, name) in [(1, "memory_search"), (2, "memory_create"), (3, "memory_list")] {
            conversation.read_client_line(&call(id, name));
        }
        assert!(conversation.on_host_line(&json_line(json!({"jsonrpc": "2.0", "id": 3, "result": {}}))));
        let (again, unknown) = conversation.resume_on_new_host();
        assert_eq!(again, [initialize.clone(), initialized.clone(), call(1, "memory_search")]);
        assert_eq!(unknown.len(), 1);
        let answer: Value = serde_json::from_slice(&unknown[0]).unwrap();
        assert_eq!((answer["id"].clone(), answer["result"]["isError"].clone()), (json!(2), json!(true)));
        let second_greeting = json_line(json!({"jsonrpc": "2.0", "id": 0, "result": {}}));
        assert!(!conversation.on_host_line(&second_greeting), "the client has it already");
        assert!(!conversation.is_over());
        assert!(conversation.on_host_line(&json_line(json!({"jsonrpc": "2.0", "id": 1, "result": {}}))));
        assert!(conversation.is_over());
    }

    #[tokio::test]
    async fn answers_arrive_after_the_client_has_closed_its_input() {
        let (mut owner, theirs) = tokio::io::duplex(1_024);
        let asked = call(7, "memory_search");
        let mut client = Client::new(std::io::Cursor::new(asked.clone()), Vec::new());
        let answer = json_line(json!({"jsonrpc": "2.0", "id": 7, "result": {}}));
        let (reader, writer) = tokio::io::split(theirs);
        let owning = async {
            let mut heard = Vec::new();
            let mut lines = BufReader::new(&mut owner);
            lines.read_until(b'\n', &mut heard).await.unwrap();
            owner.write_all(&answer).await.unwrap();
            heard
        };
        let (ended, heard) = tokio::join!(client.relay(reader, writer), owning);
        assert_eq!((ended.unwrap(), heard), (ConnectionEnd::Client, asked));
        assert_eq!(client.output, answer);
    }
}
