//! `echovessel chat`: a conversation in the terminal, with the running daemon, or with a private one if none runs.

use std::io::{IsTerminal as _, Write as _};

use anyhow::Context as _;
use memory::identifiers::NodeId;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines, Stdin};

use super::memory::{ERASE_PATH, encode_query, erasure_body, is_nothing_found, print_erasure, print_list};
use super::recall::shorten;
use super::run::AnyDaemon;
use crate::cli::{Chat, SharedOptions};
use crate::client::Daemon;
use crate::config::Config;
use crate::home::Home;

/// Memories that `/memory` and `/why` show. They fit into a terminal of 24 lines.
const SHOWN_MAX: usize = 10;
/// Maximum characters of a memory on one line. With the date before it, the line fits into a terminal of 100 columns.
const LINE_LENGTH: usize = 90;

const HELP: &str = "\
/why               show the memories used for the last reply
/memory            show the newest memories
/forget TEXT|ID    erase everything that contains a text, or one memory, after a preview
/quiet [1 h]       pause proactive messages
/help              show this list
/quit              leave the chat (or press Ctrl-D, or enter an empty line)
Commands are not saved. All other lines are sent to the persona.";

/// The reader of the conversation: a person at a terminal, or a program.
#[derive(Clone, Copy)]
enum Listener {
    /// A person, who sees the reply while it is written.
    Person,
    /// A program: a line of JSON for each event, under the names of the event stream.
    Program,
}

/// A line typed into the terminal: a message for the persona, or a command.
#[derive(Debug, PartialEq, Eq)]
enum TypedLine<'a> {
    Words(&'a str),
    Why,
    Memory,
    Forget(&'a str),
    Help,
    Quit,
    /// A command that does not exist.
    Unknown(&'a str),
}

impl<'a> TypedLine<'a> {
    fn from_line(line: &'a str) -> Self {
        let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        match name {
            "/why" => Self::Why,
            "/memory" => Self::Memory,
            "/forget" => Self::Forget(rest.trim()),
            "/help" | "/?" => Self::Help,
            "/quit" | "/exit" | "/bye" => Self::Quit,
            // The client's locale is also the persona's, as on all channels.
            "/quiet" => Self::Words(line),
            _ => match name.strip_prefix('/') {
                Some(word) if !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase()) => {
                    Self::Unknown(name)
                }
                _ => Self::Words(line),
            },
        }
    }
}

pub(crate) async fn chat(
    shared: &SharedOptions,
    config: &Config,
    home: &Home,
    asked: &Chat,
) -> anyhow::Result<()> {
    let daemon = AnyDaemon::open(config, home).await?;
    daemon.start_work().await?;
    let talked = Talk::new(daemon.daemon(), asked, shared).await;
    let talked = match talked {
        Ok(mut talk) => talk.run().await,
        Err(error) => Err(error),
    };
    daemon.close().await?;
    talked
}

/// A conversation in the terminal.
struct Talk<'a> {
    daemon: &'a Daemon,
    user: &'a str,
    listener: Listener,
    lines: Lines<BufReader<Stdin>>,
    /// Display name of the persona, for the prompt.
    name: String,
    /// The turn of the last reply.
    last_turn: Option<String>,
}

impl<'a> Talk<'a> {
    async fn new(daemon: &'a Daemon, asked: &'a Chat, shared: &SharedOptions) -> anyhow::Result<Self> {
        let state = daemon.ask(Method::GET, "/api/state", None).await?;
        let name = state["persona"]["display_name"].as_str().unwrap_or("persona").to_owned();
        let listener = if shared.json { Listener::Program } else { Listener::Person };
        let model =
            || format!("Chatting with {name} ({}).", state["llm"]["model"].as_str().unwrap_or("no model"));
        listener.greet(&state["llm"]["notice"].as_str().map_or_else(model, str::to_owned));
        let lines = BufReader::new(tokio::io::stdin()).lines();
        Ok(Self { daemon, user: &asked.user, listener, lines, name, last_turn: None })
    }

    async fn run(&mut self) -> anyhow::Result<()> {
        while let Some(line) = self.next_line(&format!("{}> ", self.name)).await? {
            // A failed reply does not end the conversation: the message is stored and the next reply may succeed.
            let done = match TypedLine::from_line(&line) {
                TypedLine::Quit => return Ok(()),
                TypedLine::Help => {
                    println!("{HELP}");
                    Ok(())
                }
                TypedLine::Words(words) => self.say(words).await,
                TypedLine::Why => self.explain().await,
                TypedLine::Memory => self.list_memories().await,
                TypedLine::Forget(what) => self.forget(what).await,
                TypedLine::Unknown(name) => {
                    println!("Unknown command {name}; nothing was sent. /help lists the commands.");
                    Ok(())
                }
            };
            if let Err(error) = done {
                self.listener.show_failure(&error);
            }
        }
        Ok(())
    }

    async fn say(&mut self, words: &str) -> anyhow::Result<()> {
        let (mut whole, listener) = (String::new(), self.listener);
        let said = self.daemon.say(self.user, words, |piece| {
            whole.push_str(piece);
            listener.token(piece);
        });
        let reply = said.await?;
        self.last_turn = reply.turn;
        listener.finish_reply(&whole, reply.is_incomplete);
        Ok(())
    }

    async fn explain(&self) -> anyhow::Result<()> {
        let Some(turn) = &self.last_turn else {
            println!("No reply in this chat yet.");
            return Ok(());
        };
        let path = format!("/api/chat/turns/{turn}/receipt");
        let receipt = self.daemon.ask(Method::GET, &path, None).await?;
        let used: Vec<&Value> = receipt["used"].as_array().into_iter().flatten().collect();
        if used.is_empty() {
            println!(
                "No memories were used; the reply is based on the conversation and the persona's texts."
            );
        }
        for memory in used.into_iter().take(SHOWN_MAX) {
            let text = |field: &str| memory[field].as_str().unwrap_or_default();
            let day = text("created_at").get(..10).unwrap_or_default();
            println!("{day}  {:<8}  {}", text("type"), shorten(text("text"), LINE_LENGTH));
        }
        Ok(())
    }

    async fn list_memories(&self) -> anyhow::Result<()> {
        let path = format!("/api/admin/memory/events?limit={SHOWN_MAX}&user_id={}", encode_query(self.user));
        let answer = self.daemon.ask(Method::GET, &path, None).await?;
        print_list(answer["items"].as_array().context("the daemon's answer contains no list")?);
        Ok(())
    }

    async fn forget(&mut self, what: &str) -> anyhow::Result<()> {
        if what.is_empty() {
            println!("Usage: /forget TEXT, or /forget ID with an id from /memory.");
            return Ok(());
        }
        let ids = if what.parse::<NodeId>().is_ok() { vec![what.to_owned()] } else { Vec::new() };
        let text = ids.is_empty().then_some(what);
        let mut body = erasure_body(self.user, &ids, text, true, false);
        body["dry_run"] = json!(true);
        let shown = self.daemon.ask(Method::POST, ERASE_PATH, Some(body.clone())).await?;
        print_erasure(&shown, "would be erased")?;
        if is_nothing_found(&shown) {
            return Ok(());
        }
        println!("Erase permanently? Type yes:");
        let answer = self.next_line("").await?;
        if !answer.is_some_and(|answer| answer.eq_ignore_ascii_case("yes")) {
            println!("Nothing was erased.");
            return Ok(());
        }
        body["dry_run"] = json!(false);
        body["confirm"] = shown["id"].clone();
        let receipt = self.daemon.ask(Method::POST, ERASE_PATH, Some(body)).await?;
        print_erasure(&receipt, "erased permanently")
    }

    async fn next_line(&mut self, prompt: &str) -> anyhow::Result<Option<String>> {
        if matches!(self.listener, Listener::Person) && std::io::stdin().is_terminal() {
            show(prompt);
        }
        let line = self.lines.next_line().await.context("the terminal can't be read")?;
        Ok(line.map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()))
    }
}

impl Listener {
    fn greet(self, line: &str) {
        if matches!(self, Self::Person) && std::io::stdin().is_terminal() {
            println!("{line}\n/help lists the commands; an empty line leaves the chat.\n");
        }
    }

    fn token(self, piece: &str) {
        match self {
            Self::Person => show(piece),
            Self::Program => println!("{}", json!({"event": "chat.message.token", "delta": piece})),
        }
    }

    fn finish_reply(self, content: &str, incomplete: bool) {
        match self {
            Self::Person => println!("{}", if incomplete { " …" } else { "" }),
            Self::Program => {
                let event = "chat.message.done";
                println!("{}", json!({"event": event, "content": content, "incomplete": incomplete}));
            }
        }
    }

    fn show_failure(self, error: &anyhow::Error) {
        match self {
            Self::Person => {
                println!();
                eprintln!("! {error:#}");
            }
            Self::Program => {
                println!("{}", json!({"event": "chat.message.failed", "reason": format!("{error:#}")}));
            }
        }
    }
}

fn show(piece: &str) {
    print!("{piece}");
    // A closed terminal is noticed at the next read.
    let _ = std::io::stdout().flush();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_commands_are_not_sent() {
        for (line, read) in [
            ("/why", TypedLine::Why),
            ("/memory", TypedLine::Memory),
            ("/forget  my blue bike ", TypedLine::Forget("my blue bike")),
            ("/help", TypedLine::Help),
            ("/quit", TypedLine::Quit),
            ("/quiet 2 h", TypedLine::Words("/quiet 2 h")),
            ("/forgett my bike", TypedLine::Unknown("/forgett")),
            ("/etc/hosts is broken", TypedLine::Words("/etc/hosts is broken")),
            ("/ what", TypedLine::Words("/ what")),
            ("what does /why do?", TypedLine::Words("what does /why do?")),
        ] {
            assert_eq!(TypedLine::from_line(line), read, "{line}");
        }
    }
}
