//! `echovessel demo --channels`: shows one persona on Discord and Telegram, on a temporary home, without an account.
//! Simulated servers on this machine use the platforms' protocols, with faults.

use llm::ProviderKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use memory::messages::Role;
use memory::ports::Clock as _;
use memory::text::Language;
use memory::{Scope, UserId};
use platforms::discord::{DiscordServer, GatewayFault};
use platforms::telegram::TelegramServer;
use runtime::OutboundChannels;
use secrecy::SecretString;

use crate::config::Config;
use crate::home::Home;
use crate::outbound;
use crate::system::{SkippableClock, SystemClock, SystemIdGenerator};
use crate::wiring::{Services, wire};

/// The bot's token on both platforms, which are on this machine.
const TOKEN: &str = "demo";
/// The platform's id of the account that writes to the bot.
const PERSON: u64 = 7;
/// Heartbeat interval of Discord's gateway, so that the mock behaves like it.
const HEARTBEAT: Duration = Duration::from_millis(41_250);
const HOUR: Duration = Duration::from_secs(3_600);
/// Simulated time between two checks of a condition: short beside all waits of the channels.
const CHECK_INTERVAL: Duration = Duration::from_millis(200);
/// Real time between two checks. The other tasks of the demo run meanwhile.
const CHECK_PAUSE: Duration = Duration::from_millis(10);
/// Most checks before the demo gives up. With the pause between them they take 20 seconds.
const CHECKS_MAX: usize = 2_000;

struct ChannelStory {
    language: Language,
    services: Services,
    clock: Arc<SkippableClock>,
    scope: Scope,
    discord: DiscordServer,
    telegram: TelegramServer,
}

pub(super) async fn run(folder: PathBuf, language: Language) -> anyhow::Result<()> {
    let home = Home::locate(Some(folder))?;
    home.create()?;
    let clock = Arc::new(SkippableClock::new());
    let time = clock.clone();
    let telegram = TelegramServer::start(TOKEN).await?;
    let discord = DiscordServer::start(TOKEN, HEARTBEAT, move || time.now()).await?;
    let mut config = Config::default();
    config.llm.provider = ProviderKind::Offline;
    config.channels.discord.enabled = true;
    config.channels.discord.api_base = discord.api_base();
    config.channels.discord.debounce.0 = Duration::ZERO;
    config.channels.telegram.enabled = true;
    config.channels.telegram.api_base = telegram.api_base();
    config.channels.telegram.debounce.0 = Duration::ZERO;
    let services = wire(&config, &home, clock.clone(), Arc::new(SystemIdGenerator::default())).await?;
    outbound::add_channels_with_tokens(&config, &services, &|_| Ok(SecretString::from(TOKEN)))?;
    services.runtime.start().await?;
    services.channels.start(&services.runtime);
    let scope = services.runtime.scope(None, UserId::owner());
    let story = ChannelStory { language, services, clock, scope, discord, telegram };
    println!(
        "A temporary home with a fast clock, without a language model or accounts: Discord and Telegram are \
            simulated on this machine."
    );
    story.link_account().await?;
    story.talk().await?;
    story.lose_the_gateway().await?;
    story.delete().await?;
    story.services.channels.stop().await;
    story.services.runtime.stop().await;
    story.services.close().await?;
    println!(
        "\nOne persona on every channel. docs/book/discord.md and docs/book/telegram.md show how to connect your own bot."
    );
    Ok(())
}

impl ChannelStory {
    fn channels(&self) -> anyhow::Result<&Arc<dyn OutboundChannels>> {
        self.services.runtime.channels().context("no channel is connected")
    }

    fn telegram_texts(&self) -> Vec<String> {
        self.telegram.sent().into_iter().map(|(_, text)| text).collect()
    }

    async fn link_account(&self) -> anyhow::Result<()> {
        println!("\n1. Accounts are linked by a code that only the owner sees.");
        for channel in ["discord", "telegram"] {
            self.wait_until("the connection", || Ok(self.channels()?.can_deliver(channel))).await?;
            let code = self.channels()?.link_code(channel, self.scope.user.clone());
            let code = code.context("no code")?.code;
            println!("     $ echovessel channel link {channel}\n     {code}");
            self.say_on_channel(channel, &code).await?;
        }
        Ok(())
    }

    async fn talk(&self) -> anyhow::Result<()> {
        println!("\n2. One persona on both channels. They share one memory.");
        let language = self.language;
        let cat_message = language.choose("我养了只白猫,叫小黑。", "I have a white cat called Pepper.");
        self.say_on_channel("discord", cat_message).await?;
        self.say_on_channel("telegram", language.choose("我的猫叫什么名字?", "What is my cat called?")).await
    }

    async fn lose_the_gateway(&self) -> anyhow::Result<()> {
        println!("\n3. Discord's gateway closes the connection. The session resumes.");
        self.discord.inject_fault(GatewayFault::Cut);
        let found = self.language.choose("我在里斯本找到房子了。", "I found a flat in Lisbon.");
        self.say_on_channel("discord", found).await?;
        println!("\n4. The gateway is down for an hour while you continue to write.");
        self.discord.set_away(true);
        self.wait_until("the loss", || Ok(!self.channels()?.can_deliver("discord"))).await?;
        let before = self.discord.sent_to(PERSON).len();
        let missed = self.language.choose(
            ["火车晚点了。", "我九点到家。", "我先去买菜。"],
            ["The train is late.", "I will be home at nine.", "I am buying bread on the way."],
        );
        for text in missed {
            print_line("you", "discord", text);
            self.discord.write(PERSON, text);
            self.clock.advance(HOUR / 3);
        }
        println!(
            "     … connected again; the missed messages are read from the history, once and in order …"
        );
        self.discord.set_away(false);
        self.wait_until("the answers", || Ok(self.discord.sent_to(PERSON).len() > before)).await?;
        self.wait_until_delivered("discord").await?;
        for text in &self.discord.sent_to(PERSON)[before..] {
            print_line("Echo", "discord", text);
        }
        for text in missed {
            let count = self.count_stored(text).await?;
            if count != 1 {
                bail!("a message from the gap was stored {count} times: {text}");
            }
        }
        Ok(())
    }

    async fn delete(&self) -> anyhow::Result<()> {
        println!("\n5. A message deleted on Discord is deleted from memory.");
        let before = self.discord.sent_to(PERSON).len();
        let secret = self.language.choose("这话我不该说。", "I should not have said this.");
        let id = self.discord.write(PERSON, secret);
        self.wait_until("the answer", || Ok(self.discord.sent_to(PERSON).len() > before)).await?;
        print_line("you", "discord", secret);
        println!("     … deleted …");
        self.discord.delete(PERSON, &id);
        for _ in 0..CHECKS_MAX {
            if self.count_stored(secret).await? == 0 {
                println!("     the message is no longer in memory");
                return Ok(());
            }
            self.pause_between_checks().await;
        }
        bail!("the deletion did not reach memory")
    }

    /// Writes a message on a channel, waits for the reply, and prints both.
    async fn say_on_channel(&self, channel: &str, text: &str) -> anyhow::Result<()> {
        let sent = || if channel == "discord" { self.discord.sent_to(PERSON) } else { self.telegram_texts() };
        let before = sent().len();
        if channel == "discord" {
            self.discord.write(PERSON, text);
        } else {
            self.telegram.write(i64::try_from(PERSON)?, text);
        }
        print_line("you", channel, text);
        self.wait_until("an answer", || Ok(sent().len() > before)).await?;
        for text in &sent()[before..] {
            print_line("Echo", channel, text);
        }
        Ok(())
    }

    /// True once this many messages of the user have this text.
    async fn count_stored(&self, text: &str) -> anyhow::Result<usize> {
        let messages = self.services.runtime.store().messages_before(&self.scope, None, 100).await?;
        Ok(messages.iter().filter(|one| one.role == Role::User && one.content == text).count())
    }

    async fn wait_until(&self, what: &str, holds: impl Fn() -> anyhow::Result<bool>) -> anyhow::Result<()> {
        for _ in 0..CHECKS_MAX {
            if holds()? {
                return Ok(());
            }
            self.pause_between_checks().await;
        }
        bail!("{what} did not arrive in time")
    }

    /// Waits until a channel's outbox is empty.
    async fn wait_until_delivered(&self, channel: &str) -> anyhow::Result<()> {
        for _ in 0..CHECKS_MAX {
            let statuses = self.channels()?.statuses().await?;
            if statuses.iter().any(|status| status.channel_id == channel && status.waiting == 0) {
                return Ok(());
            }
            self.pause_between_checks().await;
        }
        bail!("{channel} has replies that were not delivered in time")
    }

    async fn pause_between_checks(&self) {
        self.clock.advance(CHECK_INTERVAL);
        SystemClock.sleep(CHECK_PAUSE).await;
    }
}

fn print_line(who: &str, channel: &str, text: &str) {
    println!("     {who:<4} {:<10} {text}", format!("({channel})"));
}
