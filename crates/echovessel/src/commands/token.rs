//! `echovessel token`: the owner's token, or a new one-time link to the page.

use anyhow::Context as _;
use reqwest::Method;

use crate::cli::{Shared, TokenCommand};
use crate::client::Daemon;
use crate::home::Home;
use crate::world::random_bytes;

pub(crate) async fn token(shared: &Shared, home: &Home, command: Option<TokenCommand>) -> anyhow::Result<()> {
    match command.unwrap_or(TokenCommand::Show) {
        TokenCommand::Show => {
            home.create()?;
            let token = home.token(random_bytes)?;
            if shared.json {
                println!("{}", serde_json::json!({"token": token}))
            } else {
                println!("{token}")
            }
        }
        TokenCommand::Link => {
            let daemon = Daemon::find(home)?;
            let answer = daemon.ask(Method::POST, "/api/admin/login-code", None).await?;
            let url = answer["url"].as_str().context("the daemon's answer holds no link")?;
            if shared.json { println!("{answer}") } else { println!("{url}") }
        }
    }
    Ok(())
}
