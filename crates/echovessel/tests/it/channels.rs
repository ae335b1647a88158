//! A channel beyond the program, through the program: started, linked by a command, killed and started again.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::telegram::TelegramServer;

use crate::daemon::{Daemon, Home, PATIENCE, Settings, command, pause};

const TOKEN: &str = "123:abc";

fn settings(platform: &TelegramServer) -> Settings {
    Settings::offline()
        .key("channels.telegram.enabled", true)
        .key("channels.telegram.debounce", "0ms")
        .key("channels.telegram.api_base", platform.api_base())
        .variable("ECHOVESSEL_TELEGRAM_TOKEN", TOKEN)
}

async fn until_sent(platform: &TelegramServer, count: usize) {
    let began = Instant::now();
    while platform.sent().len() < count {
        assert!(began.elapsed() < PATIENCE, "only {:?} came", platform.sent());
        pause(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn an_account_is_linked_by_a_command_and_talks_over_a_kill() {
    let platform = TelegramServer::start(TOKEN).await.unwrap();
    let (home, settings) = (Home::new(), settings(&platform));
    let daemon = Daemon::start(&home, &settings).await;
    let mut link = command(&home, &settings, &["channel", "link", "telegram", "--json"]);
    let printed = tokio::task::spawn_blocking(move || link.output().unwrap()).await.unwrap();
    let code: Value = serde_json::from_slice(&printed.stdout).unwrap();
    platform.write(7, code["code"].as_str().unwrap());
    until_sent(&platform, 1).await;
    platform.write(7, "hello");
    until_sent(&platform, 2).await;
    let listed = daemon.get("/api/admin/channels").await;
    let telegram = listed.as_array().unwrap().iter().find(|one| one["channel_id"] == "telegram").unwrap();
    assert_eq!((&telegram["state"], &telegram["linked"]), (&json!("ready"), &json!(1)));
    drop(daemon);
    platform.write(7, "are you there?");
    let daemon = Daemon::start(&home, &settings).await;
    until_sent(&platform, 3).await;
    let history = daemon.get("/api/chat/history").await;
    let said = history["messages"].as_array().unwrap();
    assert_eq!(said.len(), 4, "{history}");
    assert!(said.iter().all(|message| message["source_channel_id"] == "telegram"));
}

#[tokio::test]
async fn a_channel_that_cannot_work_is_an_error_at_start() {
    let home = Home::new();
    let settings = Settings::offline().key("channels.telegram.enabled", true);
    let refused = |settings: &Settings| {
        let output = command(&home, settings, &["run", "--port", "0", "--no-open"]).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(refused(&settings).contains("ECHOVESSEL_TELEGRAM_TOKEN does not hold the bot's token"));
    let open = settings
        .variable("ECHOVESSEL_TELEGRAM_TOKEN", TOKEN)
        .key("channels.telegram.api_base", "http://telegram.example");
    let message = refused(&open);
    assert!(message.contains("https://") && !message.contains(TOKEN), "{message}");
}
