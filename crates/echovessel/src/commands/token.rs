//! `echovessel token`: prints the owner's token, creates one-time links to the web UI, and manages named tokens.

use anyhow::{Context as _, bail};
use memory::UserId;
use memory::access::{AuditEntry, NamedToken};
use memory::ports::{AccessStore, Clock as _};
use reqwest::Method;
use serde_json::{Value, json};
use server::{NewToken, make_token};
use store::HomeStore;

use crate::cli::{SharedOptions, TokenCommand};
use crate::client::{Daemon, NoDaemon};
use crate::config;
use crate::database::open_database;
use crate::home::Home;
use crate::owner::token_hash;
use crate::system::{SystemClock, random_bytes};

pub(crate) async fn token(
    shared: &SharedOptions,
    home: &Home,
    command: Option<TokenCommand>,
) -> anyhow::Result<()> {
    match command.unwrap_or(TokenCommand::Show) {
        TokenCommand::Show => show(shared, home),
        TokenCommand::Link => link(shared, home).await,
        TokenCommand::Create { scopes, name, user, valid_for, streams, users } => {
            let user = user.map(UserId::new).transpose().context("--user")?;
            let expires_at =
                valid_for.map(|time| SystemClock.now().checked_add(time.0)).transpose().context("--for")?;
            let new = NewToken { scopes, name, user, expires_at, streams_max: streams, users_max: users };
            create(shared, home, new).await
        }
        TokenCommand::Hash => {
            print_hash(shared);
            Ok(())
        }
        TokenCommand::List => list(shared, home).await,
        TokenCommand::Revoke { name } => revoke(shared, home, &name).await,
    }
}

fn show(shared: &SharedOptions, home: &Home) -> anyhow::Result<()> {
    home.create()?;
    let token = home.token(random_bytes)?;
    if shared.json {
        println!("{}", json!({"token": token}));
    } else {
        println!("{token}");
    }
    Ok(())
}

fn print_hash(shared: &SharedOptions) {
    let token = hex::encode(random_bytes());
    let hash = token_hash(&token);
    if shared.json {
        println!("{}", json!({"token": token, "hash": hash}));
    } else {
        println!("token {token}");
        println!("hash  {hash}");
        eprintln!(
            "Start the daemon with ECHOVESSEL_TOKEN_HASH set to the hash. Give the token only to its \
                clients. Nothing was stored."
        );
    }
}

async fn link(shared: &SharedOptions, home: &Home) -> anyhow::Result<()> {
    let daemon = Daemon::find(home)?;
    let answer = daemon.ask(Method::POST, "/api/admin/login-code", None).await?;
    let url = answer["url"].as_str().context("the daemon's answer contains no link")?;
    if shared.json {
        println!("{answer}")
    } else {
        println!("{url}")
    }
    Ok(())
}

async fn create(shared: &SharedOptions, home: &Home, new: NewToken) -> anyhow::Result<()> {
    let answer = match running_daemon(home)? {
        Some(daemon) => {
            let body = json!({
                "scopes": new.scopes, "name": new.name, "user_id": new.user, "expires_at": new.expires_at,
                "streams_max": new.streams_max, "users_max": new.users_max,
            });
            daemon.ask(Method::POST, "/api/admin/tokens", Some(body)).await?
        }
        None => {
            let database = DatabaseWithoutDaemon::from_home(home)?;
            let made = make_token(&database.store, &random_bytes, SystemClock.now(), new).await;
            let (token, text) = made?;
            database.record_act("POST /api/admin/tokens", &format!("token {}", token.name), 201).await?;
            let mut answer = token_json(&token);
            answer["token"] = json!(text);
            answer
        }
    };
    if shared.json {
        println!("{answer}");
    } else {
        let said = |field: &str| answer[field].as_str().unwrap_or_default().to_owned();
        println!("{}", said("token"));
        eprintln!(
            "This is the token `{}`. It is not shown again. `echovessel token revoke {}` revokes it.",
            said("name"),
            said("name")
        );
    }
    Ok(())
}

async fn list(shared: &SharedOptions, home: &Home) -> anyhow::Result<()> {
    let answer = match running_daemon(home)? {
        Some(daemon) => daemon.ask(Method::GET, "/api/admin/tokens", None).await?,
        None => {
            let tokens = DatabaseWithoutDaemon::from_home(home)?.store.tokens().await?;
            json!({"tokens": tokens.iter().map(token_json).collect::<Vec<_>>()})
        }
    };
    if shared.json {
        println!("{answer}");
        return Ok(());
    }
    let tokens = answer["tokens"].as_array().map(Vec::as_slice).unwrap_or_default();
    if tokens.is_empty() {
        println!("No tokens other than the owner's. Create one with `echovessel token create --scope chat`.");
    }
    for token in tokens {
        let text = |field: &str| token[field].as_str().unwrap_or("-").to_owned();
        let scopes = token["scopes"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let scopes = scopes.collect::<Vec<_>>().join(",");
        println!(
            "{:<24} {}…  {scopes}  user {}  used {}  ends {}",
            text("name"),
            text("prefix"),
            text("user_id"),
            text("last_used_at"),
            text("expires_at")
        );
    }
    Ok(())
}

async fn revoke(shared: &SharedOptions, home: &Home, name: &str) -> anyhow::Result<()> {
    match running_daemon(home)? {
        Some(daemon) => {
            daemon.ask(Method::DELETE, &format!("/api/admin/tokens/{name}"), None).await?;
        }
        None => {
            let database = DatabaseWithoutDaemon::from_home(home)?;
            if database.store.revoke_token(name).await?.is_none() {
                bail!("unknown token `{name}`; `echovessel token list` lists all tokens");
            }
            database.record_act("DELETE /api/admin/tokens/{name}", &format!("token {name}"), 200).await?;
        }
    }
    if shared.json {
        println!("{}", json!({"deleted": true, "name": name}));
    } else {
        println!("Token `{name}` revoked.");
    }
    Ok(())
}

/// The daemon of this home; `None` if it is not running.
pub(super) fn running_daemon(home: &Home) -> anyhow::Result<Option<Daemon>> {
    match Daemon::find(home) {
        Ok(daemon) => Ok(Some(daemon)),
        Err(error) if error.is::<NoDaemon>() => Ok(None),
        Err(error) => Err(error),
    }
}

/// The database of a home that no daemon holds.
pub(super) struct DatabaseWithoutDaemon {
    pub(super) store: HomeStore,
    _lock: crate::home::HomeLock,
}

impl DatabaseWithoutDaemon {
    pub(super) fn from_home(home: &Home) -> anyhow::Result<Self> {
        let lock = home.lock_home()?;
        let config = config::load(&home.config(), std::env::vars())?;
        Ok(Self { store: open_database(&config, home)?, _lock: lock })
    }

    pub(super) async fn record_act(&self, act: &str, object: &str, status: u16) -> anyhow::Result<()> {
        let (at, token) = (SystemClock.now(), "owner".to_owned());
        let act = AuditEntry { at, token, act: act.to_owned(), object: object.to_owned(), status };
        Ok(self.store.record_act(act).await?)
    }
}

fn token_json(token: &NamedToken) -> Value {
    json!({
        "name": token.name, "prefix": format!("ev_{}", token.prefix), "scopes": token.scopes,
        "user_id": token.user, "created_at": token.created_at, "last_used_at": token.last_used_at, "expires_at": token.expires_at,
        "streams_max": token.streams_max, "users_max": token.users_max,
    })
}
