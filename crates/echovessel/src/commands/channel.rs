//! `echovessel channel`: lists the channels of the running daemon, and creates codes that link accounts to users.

use anyhow::{Context as _, bail};
use reqwest::Method;
use serde_json::{Value, json};

use super::memory::encode_query;
use crate::cli::{ChannelCommand, SharedOptions};
use crate::client::Daemon;
use crate::home::Home;

pub(crate) async fn channel(
    shared: &SharedOptions,
    home: &Home,
    command: &ChannelCommand,
) -> anyhow::Result<()> {
    let daemon = Daemon::find(home)?;
    match command {
        ChannelCommand::List => {
            let channels = daemon.ask(Method::GET, "/api/admin/channels", None).await?;
            if shared.json {
                println!("{channels}");
            } else {
                channels.as_array().into_iter().flatten().for_each(print_channel);
            }
        }
        ChannelCommand::Link { channel, user } => {
            let path = format!("/api/admin/channels/{channel}/link-code");
            let answer = daemon.ask(Method::POST, &path, Some(json!({"user_id": user}))).await?;
            if shared.json {
                println!("{answer}");
                return Ok(());
            }
            let code = answer["code"].as_str().context("the daemon's answer contains no code")?;
            println!("{code}");
            println!(
                "Send this code to the bot within ten minutes. The account that sends it is linked to {user}."
            );
        }
        ChannelCommand::Unlink { channel, user, account } => {
            let unlinked = unlink(&daemon, channel, user, account.as_deref()).await?;
            if shared.json {
                println!("{}", json!({"channel_id": channel, "user_id": user, "unlinked": unlinked}));
                return Ok(());
            }
            for account in unlinked {
                println!("{channel} account {account} is no longer linked to {user}.");
            }
        }
    }
    Ok(())
}

/// Removes the links of a user's accounts on a channel, or of one of them; returns the accounts.
async fn unlink(
    daemon: &Daemon,
    channel: &str,
    user: &str,
    account: Option<&str>,
) -> anyhow::Result<Vec<String>> {
    let path = format!("/api/admin/users/{}/identities", encode_query(user));
    let known = daemon.ask(Method::GET, &path, None).await?;
    let of_channel = known["identities"].as_array().into_iter().flatten();
    let of_channel = of_channel.filter(|identity| identity["channel_id"] == channel);
    let accounts = of_channel.filter_map(|identity| identity["external_id"].as_str());
    let accounts: Vec<String> =
        accounts.filter(|known| account.is_none_or(|one| one == *known)).map(str::to_owned).collect();
    if accounts.is_empty() {
        bail!("no account of {channel} is linked to {user}; `echovessel channel list` shows the channels");
    }
    for account in &accounts {
        let path =
            format!("{path}?channel_id={}&external_id={}", encode_query(channel), encode_query(account));
        daemon.ask(Method::DELETE, &path, None).await?;
    }
    Ok(accounts)
}

fn print_channel(channel: &Value) {
    let text = |field: &str| channel[field].as_str().unwrap_or_default().to_owned();
    let error = channel["error"].as_str().map(|error| format!("  {error}")).unwrap_or_default();
    println!("{:<10} {:<12} linked: {}{error}", text("channel_id"), text("state"), channel["linked"]);
}
