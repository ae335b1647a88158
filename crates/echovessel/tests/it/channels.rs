//! External channels through the whole program: started, linked by a command, killed and started again.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use jiff::Timestamp;
use reqwest::Method;
use runtime::VOICE_MESSAGE;
use serde_json::{Value, json};
use testkit::discord::{DiscordFault, DiscordServer, GatewayFault};
use testkit::telegram::TelegramServer;
use voice::Sound;

use crate::command_line::run;
use crate::daemon::{Daemon, Home, Settings, command, eventually, pause};
use crate::import::is_anywhere;
use crate::model_setup::Page;
use crate::owner_api::answer;

const TOKEN: &str = "123:abc";
/// Number of kills of the daemon while both platforms are busy. [`KILLS_VARIABLE`] sets another number; `make soak`
/// uses 200.
const KILLS: u64 = 6;
const KILLS_VARIABLE: &str = "ECHOVESSEL_TEST_KILLS";

/// Mock servers of both platforms.
struct Platforms {
    telegram: TelegramServer,
    discord: DiscordServer,
}

impl Platforms {
    async fn start() -> Self {
        let heartbeat = Duration::from_secs(5);
        Self {
            telegram: TelegramServer::start(TOKEN).await.unwrap(),
            discord: DiscordServer::start(TOKEN, heartbeat, now).await.unwrap(),
        }
    }

    fn settings(&self) -> Settings {
        Settings::offline()
            .key("channels.telegram.enabled", true)
            .key("channels.telegram.debounce", "0ms")
            .key("channels.telegram.api_base", self.telegram.api_base())
            .variable("ECHOVESSEL_TELEGRAM_TOKEN", TOKEN)
            .key("channels.discord.enabled", true)
            .key("channels.discord.debounce", "0ms")
            .key("channels.discord.api_base", self.discord.api_base())
            .variable("ECHOVESSEL_DISCORD_TOKEN", TOKEN)
    }
}

#[expect(clippy::disallowed_methods, reason = "the process under test runs in real time")]
fn now() -> Timestamp {
    Timestamp::now()
}

async fn code(home: &Home, settings: &Settings, channel: &str) -> String {
    let mut link = command(home, settings, &["channel", "link", channel, "--json"]);
    let printed = tokio::task::spawn_blocking(move || link.output().unwrap()).await.unwrap();
    let answer: Value = serde_json::from_slice(&printed.stdout).unwrap();
    answer["code"].as_str().unwrap().to_owned()
}

async fn status(daemon: &Daemon, channel: &str) -> Value {
    let listed = daemon.get("/api/admin/channels").await;
    let found = listed.as_array().unwrap().iter().find(|one| one["channel_id"] == channel);
    found.unwrap().clone()
}

/// Whether no reply waits for delivery to any platform.
async fn is_delivered(daemon: &Daemon) -> bool {
    for channel in ["discord", "telegram"] {
        if status(daemon, channel).await["waiting"] != json!(0) {
            return false;
        }
    }
    true
}

async fn until_ready(daemon: &Daemon, channel: &str) {
    eventually("the channel is ready", async || {
        (status(daemon, channel).await["state"] == "ready").then_some(())
    })
    .await;
}

async fn until_sent_on_telegram(platforms: &Platforms, count: usize) {
    eventually("messages on Telegram", async || (platforms.telegram.sent().len() >= count).then_some(()))
        .await;
}

async fn until_sent_on_discord(platforms: &Platforms, count: usize) {
    eventually("messages on Discord", async || (platforms.discord.sent().len() >= count).then_some(())).await;
}

#[tokio::test]
async fn an_account_is_linked_by_a_command_and_talks_over_a_kill() {
    let platforms = Platforms::start().await;
    let (home, settings) = (Home::new(), platforms.settings());
    let daemon = Daemon::start(&home, &settings).await;
    platforms.telegram.write(7, &code(&home, &settings, "telegram").await);
    until_sent_on_telegram(&platforms, 1).await;
    platforms.telegram.write(7, "hello");
    until_sent_on_telegram(&platforms, 2).await;
    let telegram = status(&daemon, "telegram").await;
    assert_eq!((&telegram["state"], &telegram["linked"]), (&json!("ready"), &json!(1)));
    drop(daemon);
    platforms.telegram.write(7, "are you there?");
    let daemon = Daemon::start(&home, &settings).await;
    until_sent_on_telegram(&platforms, 3).await;
    let history = daemon.get("/api/chat/history").await;
    let said = history["messages"].as_array().unwrap();
    assert_eq!(said.len(), 4, "{history}");
    assert!(said.iter().all(|message| message["source_channel_id"] == "telegram"));

    let unlink = ["channel", "unlink", "telegram", "--account"];
    let other = run(&home, &settings, &[&unlink[..], &["8"]].concat()).await;
    assert_eq!(other.code, 1, "{}", other.err);
    assert!(other.err.contains("no account of telegram is linked to self"), "{}", other.err);
    let printed = run(&home, &settings, &[&unlink[..], &["7"]].concat()).await.well();
    assert_eq!(printed, "telegram account 7 is no longer linked to self.\n");
    platforms.telegram.write(7, "is anyone there?");
    until_sent_on_telegram(&platforms, 4).await;
    assert!(platforms.telegram.sent()[3].1.starts_with("This assistant is private."));
    assert_eq!(daemon.get("/api/chat/history").await["messages"].as_array().unwrap().len(), 4);
}

#[tokio::test]
async fn bot_is_set_up_in_the_page_talks_at_once_and_is_switched_off() {
    let platforms = Platforms::start().await;
    let settings = Settings::offline()
        .key("channels.telegram.debounce", "0ms")
        .key("channels.telegram.api_base", platforms.telegram.api_base())
        .key("channels.discord.api_base", platforms.discord.api_base());
    let home = Home::new();
    let daemon = Daemon::start(&home, &settings).await;
    let page = Page::open(&daemon).await;
    let path = "/api/admin/channels/telegram";
    let off = status(&daemon, "telegram").await;
    assert_eq!((&off["state"], &off["token"]["source"]), (&json!("off"), &json!("none")));
    assert!(status(&daemon, "web").await["token"].is_null());

    for (wrong, hint) in [
        (json!({"token": "999:wrong-token"}), "rejects the bot's token"),
        (json!({"token": "two\nlines"}), "one line"),
        (json!({}), "enter the bot's token"),
    ] {
        let refused = page.send(Method::PUT, path, &wrong).await;
        assert_eq!((refused.status, refused.body["code"].as_str()), (422, Some("channel_token")));
        assert!(refused.body["detail"].as_str().unwrap().contains(hint), "{}", refused.body);
        assert!(!refused.body.to_string().contains("wrong-token"), "{}", refused.body);
    }
    let nowhere = page.send(Method::PUT, "/api/admin/channels/web", &json!({"token": TOKEN})).await;
    assert_eq!(nowhere.status, 404, "{}", nowhere.body);
    for method in [Method::PUT, Method::DELETE] {
        let by_token = answer(daemon.request(method, path).json(&json!({"token": TOKEN}))).await.unwrap();
        assert_eq!(by_token.status, 403, "{}", by_token.body);
    }
    assert!(!home.file("secrets.toml").exists() && status(&daemon, "telegram").await["state"] == "off");

    let connected = page.send(Method::PUT, path, &json!({"token": format!(" {TOKEN}\n")})).await;
    assert_eq!(connected.body, json!({"account": "@echo_bot"}));
    until_ready(&daemon, "telegram").await;
    platforms.telegram.write(7, &code(&home, &settings, "telegram").await);
    until_sent_on_telegram(&platforms, 1).await;
    platforms.telegram.write(7, "hello");
    until_sent_on_telegram(&platforms, 2).await;
    let secrets = std::fs::read(home.file("secrets.toml")).unwrap();
    std::fs::remove_file(home.file("secrets.toml")).unwrap();
    assert!(!is_anywhere(&home, TOKEN), "the token is also elsewhere in the home");
    std::fs::write(home.file("secrets.toml"), secrets).unwrap();
    drop(daemon);

    let daemon = Daemon::start(&home, &settings).await;
    let page = Page::open(&daemon).await;
    until_ready(&daemon, "telegram").await;
    assert_eq!(status(&daemon, "telegram").await["token"]["source"], "entered");
    let again = page.send(Method::PUT, path, &json!({})).await;
    assert_eq!(again.body, json!({"account": "@echo_bot"}), "the known token is used");
    until_ready(&daemon, "telegram").await;
    platforms.telegram.write(7, "still there?");
    until_sent_on_telegram(&platforms, 3).await;
    let off = page.send(Method::DELETE, path, &json!({})).await;
    assert_eq!(off.body, json!({"enabled": false}));
    assert_eq!(status(&daemon, "telegram").await["state"], "off");
    assert!(!home.file("secrets.toml").exists());
    let polls = platforms.telegram.call_count("getUpdates");
    platforms.telegram.write(7, "and now?");
    daemon.get("/api/state").await;
    assert_eq!(platforms.telegram.call_count("getUpdates"), polls, "a channel that is off does not poll");
    let unknown = page.send(Method::PUT, path, &json!({})).await;
    assert_eq!(unknown.status, 422, "{}", unknown.body);
}

#[tokio::test]
async fn token_of_the_environment_comes_before_the_page() {
    let platforms = Platforms::start().await;
    let home = Home::new();
    let settings = platforms.settings();
    let daemon = Daemon::start(&home, &settings).await;
    let page = Page::open(&daemon).await;
    let token = status(&daemon, "telegram").await["token"].clone();
    assert_eq!(token, json!({"source": "environment", "variable": "ECHOVESSEL_TELEGRAM_TOKEN", "end": ""}));
    let path = "/api/admin/channels/telegram";
    let refused = page.send(Method::PUT, path, &json!({"token": "999:another"})).await;
    assert_eq!(refused.status, 422);
    assert!(
        refused.body["detail"].as_str().unwrap().contains("ECHOVESSEL_TELEGRAM_TOKEN"),
        "{}",
        refused.body
    );
    let connected = page.send(Method::PUT, path, &json!({})).await;
    assert_eq!(connected.body, json!({"account": "@echo_bot"}));
    until_ready(&daemon, "telegram").await;
    assert!(!home.file("secrets.toml").exists());
    let fixed = page.send(Method::DELETE, path, &json!({})).await;
    assert_eq!(fixed.status, 500, "{}", fixed.body);
    assert!(fixed.body["detail"].as_str().unwrap().contains("channels.telegram.enabled"), "{}", fixed.body);
    until_ready(&daemon, "telegram").await;
}

#[tokio::test]
async fn one_persona_is_reached_on_discord_telegram_and_the_page() {
    let platforms = Platforms::start().await;
    let (home, settings) = (Home::new(), platforms.settings());
    let daemon = Daemon::start(&home, &settings).await;
    until_ready(&daemon, "discord").await;
    platforms.discord.write(7, &code(&home, &settings, "discord").await);
    platforms.telegram.write(7, &code(&home, &settings, "telegram").await);
    until_sent_on_discord(&platforms, 1).await;
    until_sent_on_telegram(&platforms, 1).await;
    for (channel, account) in [("discord", "echo"), ("telegram", "@echo_bot")] {
        let tested = daemon.post(&format!("/api/admin/channels/{channel}/test"), &json!({})).await;
        assert_eq!(tested, json!({"ok": true, "account": account, "error": null}));
    }
    platforms.discord.fail("GET @me", DiscordFault::Unauthorized);
    let tested = daemon.post("/api/admin/channels/discord/test", &json!({})).await;
    assert_eq!(tested["ok"], json!(false));
    assert!(tested["error"].as_str().unwrap().contains("rejects the bot's token"), "{tested}");
    platforms.discord.write(7, "my cat is called Tom");
    until_sent_on_discord(&platforms, 2).await;
    platforms.telegram.write(7, "did I tell you of my cat?");
    until_sent_on_telegram(&platforms, 2).await;
    platforms.discord.inject_fault(GatewayFault::Cut);
    platforms.discord.write(7, "and here I am again");
    until_sent_on_discord(&platforms, 3).await;
    drop(daemon);
    platforms.discord.write(7, "are you there?");
    let daemon = Daemon::start(&home, &settings).await;
    until_sent_on_discord(&platforms, 4).await;
    let history = daemon.get("/api/chat/history").await;
    let said = history["messages"].as_array().unwrap();
    assert_eq!(said.len(), 8, "{history}");
    let channels: HashSet<&str> =
        said.iter().map(|message| message["source_channel_id"].as_str().unwrap()).collect();
    assert_eq!(channels, HashSet::from(["discord", "telegram"]));
}

#[tokio::test]
async fn a_channel_that_cannot_work_is_an_error_at_start() {
    let home = Home::new();
    let refused = |settings: &Settings| {
        let output = command(&home, settings, &["run", "--port", "0", "--no-open"]).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    for (channel, variable, address) in [
        ("telegram", "ECHOVESSEL_TELEGRAM_TOKEN", "api_base"),
        ("discord", "ECHOVESSEL_DISCORD_TOKEN", "api_base"),
        ("discord", "ECHOVESSEL_DISCORD_TOKEN", "gateway_url"),
    ] {
        let settings = Settings::offline().key(&format!("channels.{channel}.enabled"), true);
        let message = refused(&settings);
        assert!(
            message.contains(&format!("the bot's token is missing: set the environment variable {variable}")),
            "{message}"
        );
        let open = settings
            .variable(variable, TOKEN)
            .key(&format!("channels.{channel}.{address}"), "http://platform.example");
        let message = refused(&open);
        assert!(
            message.contains("https://") && message.contains(address) && !message.contains(TOKEN),
            "{message}"
        );
    }
}

#[tokio::test]
async fn the_start_line_names_the_hosts_of_the_channels() {
    let platforms = Platforms::start().await;
    let (home, settings) = (Home::new(), platforms.settings());
    let mut started = command(&home, &settings, &["run", "--port", "0", "--no-open"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let output = std::io::BufReader::new(started.stdout.take().unwrap());
    let reading = tokio::task::spawn_blocking(move || {
        let lines = std::io::BufRead::lines(output).map_while(Result::ok);
        lines.into_iter().find(|line| line.contains("network"))
    });
    let line = reading.await.unwrap().unwrap();
    started.kill().unwrap();
    started.wait().unwrap();
    assert!(line.contains("127.0.0.1 for Discord, 127.0.0.1 for Telegram; no other connections"), "{line}");
}

/// A pseudo-random number that is the same in every run.
fn scattered(seed: u64) -> u64 {
    let mixed = (seed ^ (seed >> 31)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 33
}

fn kills() -> u64 {
    std::env::var(KILLS_VARIABLE).map_or(KILLS, |kills| kills.parse().unwrap())
}

/// A voice message, and a home whose transcription returns `spoken words` for each one.
fn voice_message(home: &Home) -> Vec<u8> {
    std::fs::create_dir_all(home.path()).unwrap();
    // The path of the file comes next and is not printed.
    let listens = "[voice]\nenabled = true\nstt_provider = \"command\"\nstt_command = [\"printf\", \"spoken words%.0s\"]\n";
    std::fs::write(home.file("config.toml"), listens).unwrap();
    let tone = (0..16_000_i16).map(|sample| if sample % 80 < 40 { 6_000 } else { -6_000 }).collect();
    Sound::new(tone, 16_000).to_ogg_opus().unwrap()
}

#[tokio::test]
async fn killed_under_load_it_answers_every_line_once_and_delivers_no_reply_twice() {
    let platforms = Platforms::start().await;
    let (home, settings) = (Home::new(), platforms.settings());
    let recording = voice_message(&home);
    let daemon = Daemon::start(&home, &settings).await;
    until_ready(&daemon, "discord").await;
    platforms.discord.write(7, &code(&home, &settings, "discord").await);
    platforms.telegram.write(7, &code(&home, &settings, "telegram").await);
    until_sent_on_discord(&platforms, 1).await;
    until_sent_on_telegram(&platforms, 1).await;
    let mut daemon = Some(daemon);
    let (mut on_discord, mut on_telegram) = (Vec::new(), Vec::new());
    for kill in 0..kills() {
        for line in 0..3 {
            on_discord.push(format!("discord {kill}.{line}"));
            platforms.discord.write(7, on_discord.last().unwrap());
            on_telegram.push(format!("telegram {kill}.{line}"));
            platforms.telegram.write(7, on_telegram.last().unwrap());
            pause(Duration::from_millis(scattered(kill * 3 + line) % 60)).await;
        }
        for on_channel in [&mut on_discord, &mut on_telegram] {
            on_channel.push("spoken words".to_owned());
        }
        platforms.discord.speak(7, &recording);
        platforms.telegram.speak(7, &recording, "");
        pause(Duration::from_millis(scattered(kill + 7_000) % 200)).await;
        daemon.take().unwrap().kill();
        daemon = Some(Daemon::start(&home, &settings).await);
    }
    let daemon = daemon.unwrap();
    let said = eventually("every line is answered and delivered", async || {
        let said = daemon.history("self").await;
        let of_user = said.iter().filter(|message| message["role"] == "user").count();
        let turns_of = |is_user: bool| -> HashSet<&str> {
            let found = said.iter().filter(|message| (message["role"] == "user") == is_user);
            found.map(|message| message["turn_id"].as_str().unwrap()).collect()
        };
        // The turns of one channel are answered while those of the other channel wait.
        let is_answered = turns_of(true) == turns_of(false);
        let is_heard = said.iter().all(|message| message["content"] != VOICE_MESSAGE);
        if !(is_heard && of_user >= on_discord.len() + on_telegram.len() && is_answered) {
            return None;
        }
        // The outbox is checked last, since a reply that is stored during these checks waits there.
        is_delivered(&daemon).await.then_some(said)
    })
    .await;
    let of = |channel: &str, role: &str| -> Vec<String> {
        let found = said.iter().filter(|m| m["source_channel_id"] == channel && m["role"] == role);
        found.map(|message| message["content"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(of("discord", "user"), on_discord, "every line once, in order");
    assert_eq!(of("telegram", "user"), on_telegram, "every line once, in order");
    let mut replies: HashMap<&str, usize> = HashMap::new();
    let turns: HashSet<&str> = said.iter().map(|message| message["turn_id"].as_str().unwrap()).collect();
    for message in said.iter().filter(|message| message["role"] != "user") {
        *replies.entry(message["turn_id"].as_str().unwrap()).or_default() += 1;
    }
    assert!(turns.iter().all(|turn| replies.get(turn) == Some(&1)), "every burst has one reply: {replies:?}");
    assert_eq!(
        platforms.discord.sent_to(7)[1..],
        of("discord", "persona"),
        "every reply is there, none twice"
    );
    // Telegram can't report whether it has received a message. A message that was being sent at a kill may be
    // missing, but it is never sent twice.
    let sent: Vec<String> = platforms.telegram.sent().into_iter().skip(1).map(|(_, text)| text).collect();
    let stored = of("telegram", "persona");
    assert!(
        sent.len() <= stored.len() && sent.len() + kills() as usize >= stored.len(),
        "{sent:?} {stored:?}"
    );
}
