//! `echovessel chat`: talk in the terminal, with the running daemon or, if none runs, with the home itself.

use std::io::{IsTerminal as _, Write as _};
use std::sync::Arc;

use anyhow::{Context as _, bail};
use memory::{Scope, UserId};
use runtime::{IncomingMessage, Runtime, TurnEvent};
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines, Stdin};

use crate::cli::{Chat, Shared};
use crate::client::{Daemon, NoDaemon};
use crate::config::Config;
use crate::home::Home;
use crate::system::{SystemClock, SystemIdGenerator};
use crate::wiring::wire;

/// The channel of a terminal that holds the home itself.
const CHANNEL: &str = "terminal";

/// For whom the talk is printed.
#[derive(Clone, Copy)]
enum Listener {
    /// A person: the words as they come.
    Person,
    /// A program: a line of JSON for each event, under the names of the event stream.
    Program,
}

pub(crate) async fn chat(shared: &Shared, config: &Config, home: &Home, asked: &Chat) -> anyhow::Result<()> {
    let listener = if shared.json { Listener::Program } else { Listener::Person };
    match Daemon::find(home) {
        Ok(daemon) => with_daemon(&daemon, asked, listener).await,
        Err(error) if error.is::<NoDaemon>() => alone(config, home, asked, listener).await,
        Err(error) => Err(error),
    }
}

async fn with_daemon(daemon: &Daemon, asked: &Chat, listener: Listener) -> anyhow::Result<()> {
    listener.greet(&format!("Talking with the daemon at {}.", daemon.run.url));
    let mut lines = lines();
    while let Some(text) = listener.next_line(&mut lines).await? {
        let mut whole = String::new();
        let said = daemon.say(&asked.user, &text, |piece| {
            whole.push_str(piece);
            listener.token(piece);
        });
        // One failed reply does not end the talk: the words are safe and the next may work.
        match said.await {
            Ok(incomplete) => listener.done(&whole, incomplete),
            Err(error) => listener.failed(&error),
        }
    }
    Ok(())
}

async fn alone(config: &Config, home: &Home, asked: &Chat, listener: Listener) -> anyhow::Result<()> {
    let _lock = home.lock()?;
    let wired = wire(config, home, Arc::new(SystemClock), Arc::new(SystemIdGenerator::default())).await?;
    wired.runtime.start().await?;
    let model = wired.model_state();
    listener.greet(&model.notice().unwrap_or_else(|| format!("Talking with {}.", model.model)));
    let scope = wired.runtime.scope(None, UserId::new(asked.user.clone())?);
    let mut lines = lines();
    while let Some(text) = listener.next_line(&mut lines).await? {
        if let Err(error) = one_turn(&wired.runtime, &scope, text, listener).await {
            listener.failed(&error);
        }
    }
    wired.runtime.stop().await;
    wired.close().await
}

async fn one_turn(runtime: &Runtime, scope: &Scope, text: String, listener: Listener) -> anyhow::Result<()> {
    let incoming = IncomingMessage {
        scope: scope.clone(),
        channel_id: CHANNEL.to_owned(),
        content: text,
        external_ref: None,
    };
    let (_, mut turn) = runtime.accept_and_subscribe(incoming).await?;
    while let Some(event) = turn.recv().await {
        match event {
            TurnEvent::Started => {}
            TurnEvent::Delta(piece) => listener.token(&piece),
            TurnEvent::Done { message, incomplete, .. } => {
                listener.done(&message.content, incomplete);
                return Ok(());
            }
            TurnEvent::Failed { reason, .. } | TurnEvent::Withdrawn { reason } => bail!(reason),
        }
    }
    bail!("the turn ended without an answer; what you said is safe")
}

impl Listener {
    fn greet(self, line: &str) {
        if matches!(self, Self::Person) && std::io::stdin().is_terminal() {
            println!("{line}\nAn empty line or Ctrl-D ends the talk.\n");
        }
    }

    fn token(self, piece: &str) {
        match self {
            Self::Person => show(piece),
            Self::Program => println!("{}", json!({"event": "chat.message.token", "delta": piece})),
        }
    }

    fn done(self, content: &str, incomplete: bool) {
        match self {
            Self::Person => println!("{}", if incomplete { " …" } else { "" }),
            Self::Program => {
                let event = "chat.message.done";
                println!("{}", json!({"event": event, "content": content, "incomplete": incomplete}));
            }
        }
    }

    fn failed(self, error: &anyhow::Error) {
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

    async fn next_line(self, lines: &mut Lines<BufReader<Stdin>>) -> anyhow::Result<Option<String>> {
        if matches!(self, Self::Person) && std::io::stdin().is_terminal() {
            show("> ");
        }
        let line = lines.next_line().await.context("the terminal can't be read")?;
        Ok(line.map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()))
    }
}

fn show(piece: &str) {
    print!("{piece}");
    // A terminal that went away is noticed at the next read.
    let _ = std::io::stdout().flush();
}

fn lines() -> Lines<BufReader<Stdin>> {
    BufReader::new(tokio::io::stdin()).lines()
}
