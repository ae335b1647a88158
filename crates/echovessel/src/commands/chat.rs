//! `echovessel chat`: talk in the terminal, with the running daemon or, if none runs, with the home itself.

use std::io::{IsTerminal as _, Write as _};
use std::sync::Arc;

use anyhow::{Context as _, bail};
use memory::{Scope, UserId};
use runtime::{Incoming, Runtime, TurnEvent};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines, Stdin};

use crate::cli::Chat;
use crate::client::{Daemon, NoDaemon};
use crate::config::Config;
use crate::home::Home;
use crate::wiring::wire;
use crate::world::{SystemClock, SystemIds};

/// The channel of a terminal that holds the home itself.
const CHANNEL: &str = "terminal";

pub(crate) async fn chat(config: &Config, home: &Home, asked: &Chat) -> anyhow::Result<()> {
    match Daemon::find(home) {
        Ok(daemon) => with_daemon(&daemon, asked).await,
        Err(error) if error.is::<NoDaemon>() => alone(config, home, asked).await,
        Err(error) => Err(error),
    }
}

async fn with_daemon(daemon: &Daemon, asked: &Chat) -> anyhow::Result<()> {
    greet(&format!("Talking with the daemon at {}.", daemon.run.url));
    let mut lines = lines();
    while let Some(text) = next_line(&mut lines).await? {
        let said = daemon.say(&asked.user, &text, show).await;
        println!();
        // One failed reply does not end the talk: the words are safe and the next may work.
        if let Err(error) = said {
            eprintln!("! {error:#}");
        }
    }
    Ok(())
}

async fn alone(config: &Config, home: &Home, asked: &Chat) -> anyhow::Result<()> {
    let _lock = home.lock()?;
    let wired = wire(config, home, Arc::new(SystemClock), Arc::new(SystemIds::default())).await?;
    wired.runtime.start().await?;
    let model = wired.model_state();
    greet(&model.notice().unwrap_or_else(|| format!("Talking with {}.", model.model)));
    let scope = wired.runtime.scope(None, UserId::new(asked.user.clone())?);
    let mut lines = lines();
    while let Some(text) = next_line(&mut lines).await? {
        if let Err(error) = one_turn(&wired.runtime, &scope, text).await {
            eprintln!("! {error:#}");
        }
    }
    wired.runtime.stop().await;
    wired.database.close().await.context("the database could not be closed; nothing is lost")
}

async fn one_turn(runtime: &Runtime, scope: &Scope, text: String) -> anyhow::Result<()> {
    let incoming =
        Incoming { scope: scope.clone(), channel_id: CHANNEL.to_owned(), content: text, external_ref: None };
    let (_, mut turn) = runtime.accept_and_watch(incoming).await?;
    while let Some(event) = turn.recv().await {
        match event {
            TurnEvent::Started => {}
            TurnEvent::Delta(piece) => show(&piece),
            TurnEvent::Done { incomplete, .. } => {
                println!("{}", if incomplete { " …" } else { "" });
                return Ok(());
            }
            TurnEvent::Failed { reason, .. } => {
                println!();
                bail!(reason);
            }
        }
    }
    bail!("the turn ended without an answer; what you said is safe")
}

fn greet(line: &str) {
    if std::io::stdin().is_terminal() {
        println!("{line}\nAn empty line or Ctrl-D ends the talk.\n");
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

async fn next_line(lines: &mut Lines<BufReader<Stdin>>) -> anyhow::Result<Option<String>> {
    if std::io::stdin().is_terminal() {
        show("> ");
    }
    let line = lines.next_line().await.context("the terminal can't be read")?;
    Ok(line.map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()))
}
