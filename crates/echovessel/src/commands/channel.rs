//! `echovessel channel`: the channels of the running daemon, and codes that link accounts to users.

use anyhow::Context as _;
use reqwest::Method;
use serde_json::{Value, json};

use crate::cli::{ChannelCommand, Shared};
use crate::client::Daemon;
use crate::home::Home;

pub(crate) async fn channel(shared: &Shared, home: &Home, command: &ChannelCommand) -> anyhow::Result<()> {
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
            let code = answer["code"].as_str().context("the daemon's answer holds no code")?;
            println!("{code}");
            println!(
                "Send this code to the bot within ten minutes; the account that sends it is {user} from then on."
            );
        }
    }
    Ok(())
}

fn print_channel(channel: &Value) {
    let text = |field: &str| channel[field].as_str().unwrap_or_default().to_owned();
    let error = channel["error"].as_str().map(|error| format!("  {error}")).unwrap_or_default();
    println!("{:<10} {:<12} linked: {}{error}", text("channel_id"), text("state"), channel["linked"]);
}
