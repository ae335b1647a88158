//! `echovessel demo`: shows one sentence becoming a memory, on a temporary home, with a fast clock and without a
//! model. Each layer is read back from the database and printed as it is written.

use llm::ProviderKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use memory::core_blocks::CoreBlockLabel;
use memory::identifiers::TurnId;
use memory::messages::Role;
use memory::nodes::NodeKind;
use memory::ports::{Clock as _, Store};
use memory::text::Language;
use memory::{Scope, UserId};
use runtime::{Delivery, IncomingMessage, Runtime, Subscription, TurnEvent};

use super::{demo_channels, recall};
use crate::cli::Demo;
use crate::config::Config;
use crate::home::Home;
use crate::system::{SkippableClock, SystemIdGenerator, random_bytes};
use crate::wiring::wire;

const SENTENCE: [&str; 2] = [
    "我养了只白猫,叫小黑。他超调皮,老在半夜跳到我脸上。",
    "I have a white cat called Pepper. He is cheeky and jumps on my face at midnight.",
];
const QUESTION: [&str; 2] = ["你还记得我的猫吗", "Do you remember my cat?"];
/// The name in [`SENTENCE`] that the reply's receipt must hold.
const CAT_NAME: [&str; 2] = ["小黑", "Pepper"];
/// Messages that have nothing to do with the cat: more than the recent window holds.
const CHATTER_CHINESE: [&str; 11] = [
    "今天外面风好大",
    "晚饭吃了番茄面",
    "地铁又晚点了",
    "我在听一张老唱片",
    "周末打算去爬山",
    "咖啡豆快用完了",
    "邻居在装修,好吵",
    "刚看完一部纪录片",
    "手机电池越来越不行",
    "外卖送错了地址",
    "明早要开会",
];
const CHATTER_ENGLISH: [&str; 11] = [
    "It is windy today.",
    "I cooked noodles with tomatoes.",
    "The train was late again.",
    "I am listening to an old record.",
    "We want to go hiking at the weekend.",
    "The coffee is nearly gone.",
    "The neighbours are renovating, so loud.",
    "I just watched a documentary.",
    "My phone does not last a day any more.",
    "The parcel came to the wrong address.",
    "There is a meeting tomorrow morning.",
];
/// Longer than the default of a session's idle time, so that the session ends.
const IDLE_TIME: Duration = Duration::from_secs(31 * 60);
/// Time that a reply of the offline provider may take. It takes milliseconds, so a demo that waits longer has failed.
const REPLY_LIMIT: Duration = Duration::from_secs(20);

/// The language of the machine's locale, in which the demo talks and prints.
fn language_of_locale() -> Language {
    let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].into_iter().filter_map(|name| std::env::var(name).ok());
    let locale = locale.into_iter().find(|locale| !locale.is_empty()).unwrap_or_default();
    if locale.starts_with("zh") { Language::Chinese } else { Language::English }
}

struct DemoStory {
    language: Language,
    runtime: Runtime,
    clock: Arc<SkippableClock>,
    scope: Scope,
    events: Subscription,
}

pub(crate) async fn demo(args: &Demo) -> anyhow::Result<()> {
    let suffix = hex::encode(&random_bytes()[..6]);
    let folder = std::env::temp_dir().join(format!("echovessel-demo-{suffix}"));
    let language = language_of_locale();
    let outcome = if args.channels {
        demo_channels::run(folder.clone(), language).await
    } else {
        run_demo(folder.clone(), language).await
    };
    // The temporary home is no longer needed, so an error here does not matter.
    let _ = std::fs::remove_dir_all(&folder);
    outcome
}

async fn run_demo(folder: PathBuf, language: Language) -> anyhow::Result<()> {
    let home = Home::locate(Some(folder))?;
    home.create()?;
    let mut config = Config::default();
    config.llm.provider = ProviderKind::Offline;
    // The demo uses several channels, where no messages are grouped.
    let channels = &mut config.channels;
    for debounce in
        [&mut channels.web.debounce, &mut channels.discord.debounce, &mut channels.telegram.debounce]
    {
        debounce.0 = Duration::ZERO;
    }
    let clock = Arc::new(SkippableClock::new());
    let services = wire(&config, &home, clock.clone(), Arc::new(SystemIdGenerator::default())).await?;
    services.runtime.start().await?;
    let scope = services.runtime.scope(None, UserId::owner());
    services.runtime.ensure_scope_exists(&scope).await?;
    let events = services.runtime.broadcast().subscribe();
    let mut story = DemoStory { language, runtime: services.runtime.clone(), clock, scope, events };
    println!(
        "{}\n",
        language.choose(
            "一个临时的家,一只快钟,没有语言模型。请看六层记忆。",
            "A temporary home with a fast clock and no language model. Watch the six memory layers."
        )
    );
    story.write_documents().await?;
    story.tell_story().await?;
    story.advance_past_idle_time().await?;
    story.talk_of_other_things().await?;
    story.ask_about_cat().await?;
    services.runtime.stop().await;
    services.close().await?;
    println!(
        "\n{}",
        language.choose(
            "一句话成了记忆。`echovessel run` 会启动你自己的伙伴。",
            "One sentence became a memory. `echovessel run` starts your own persona."
        )
    );
    Ok(())
}

impl DemoStory {
    fn store(&self) -> &dyn Store {
        self.runtime.store()
    }

    /// The Chinese or the English text.
    fn pick_language(&self, [chinese, english]: [&'static str; 2]) -> &'static str {
        self.language.choose(chinese, english)
    }

    fn show_layer(&self, layer: &str, name: [&'static str; 2], what: [&'static str; 2]) {
        println!("\n{layer} ● {} — {}", self.pick_language(name), self.pick_language(what));
    }

    async fn write_documents(&self) -> anyhow::Result<()> {
        let now = self.clock.now();
        let blocks = [
            (CoreBlockLabel::Persona, "安静、好奇,记得住小事。", "Quiet, curious, remembers small things."),
            (CoreBlockLabel::User, "住在海边的软件工程师。", "A software engineer who lives by the sea."),
            (CoreBlockLabel::Style, "说话简短,不客套。", "Short sentences, no small talk."),
        ];
        for (label, chinese, english) in blocks {
            let text = self.language.choose(chinese, english);
            self.store().write_core_block(&self.scope, label, text, "demo", now).await?;
        }
        let read = self.store().core_blocks(&self.scope).await?;
        self.show_layer(
            "L1",
            ["核心设定", "core blocks"],
            ["由人书写,每一轮都读,也只由人修改", "written and changed only by people, read in every turn"],
        );
        println!("     persona: {}\n     user:    {}\n     style:   {}", read.persona, read.user, read.style);
        Ok(())
    }

    async fn tell_story(&self) -> anyhow::Result<()> {
        let sentence = self.pick_language(SENTENCE);
        println!(
            "\n  {}\n     “{sentence}”",
            self.pick_language(["用户在一个渠道上说:", "on one channel, the user says:"])
        );
        let (turn_id, reply) = self.send_message("discord", sentence).await?;
        let rows = self.store().turn_messages(turn_id).await?;
        self.show_layer(
            "L2",
            ["原话", "verbatim log"],
            ["双方的原话,在询问模型之前就已存好", "both sides verbatim, stored before the model is called"],
        );
        for row in rows {
            let who = if row.role == Role::User { ["对方", "them"] } else { ["我  ", "me  "] };
            let who = self.pick_language(who);
            println!("     {who} {}", row.content);
        }
        if reply.is_empty() {
            bail!("the offline provider did not reply");
        }
        Ok(())
    }

    async fn advance_past_idle_time(&mut self) -> anyhow::Result<()> {
        println!(
            "\n  … {} …",
            self.pick_language([
                "沉默三十一分钟;会话结束,被整理成记忆",
                "31 minutes of silence; the session ends and is consolidated"
            ])
        );
        self.clock.advance(IDLE_TIME);
        self.wait_for("chat.session.boundary", |data| !data["closed_session_id"].is_null()).await?;
        let events = self.store().nodes_before(&self.scope, &[NodeKind::Event], None, 10).await?;
        let event = events.first().context("no event was formed")?;
        self.show_layer(
            "L3",
            ["事件", "event"],
            [
                "发生了什么,带正负的影响,以用户的原话为证",
                "what happened, with a signed impact and a quote of the user as evidence",
            ],
        );
        println!("     {:+}  {}", event.emotional_impact, event.description);
        if let Some(known) = self.store().node(event.id).await? {
            for evidence in known.evidence {
                println!("         {} “{}”", self.pick_language(["证据:", "evidence:"]), evidence.quote);
            }
        }
        self.show_layer(
            "L5",
            ["人与物", "entities"],
            ["人、地、物,以及他们的所有名字", "people and things with all their names and aliases"],
        );
        for entity in self.store().entities(&self.scope, 10).await? {
            println!(
                "     {} ({}) — {}",
                entity.canonical_name,
                entity.kind.as_str(),
                entity.aliases.join(", ")
            );
        }
        if let Some(mood) = self.store().mood(&self.scope).await? {
            self.show_layer(
                "L6",
                ["心情", "mood"],
                ["此刻的心情;十二小时后回到平静", "the persona's mood; neutral again after twelve hours"],
            );
            println!("     {} · {} {}/10", mood.mood, self.pick_language(["精力", "energy"]), mood.energy);
        }
        let thoughts = self.store().nodes_before(&self.scope, &[NodeKind::Thought], None, 10).await?;
        self.show_layer(
            "L4",
            ["想法", "thought"],
            ["一个结论;必须以事件为依据", "a conclusion that cites events"],
        );
        for thought in thoughts {
            println!("     {}", thought.description);
            if let Some(known) = self.store().node(thought.id).await? {
                println!(
                    "         {} {}",
                    self.pick_language(["依据的事件:", "events cited:"]),
                    known.filling.len()
                );
            }
        }
        Ok(())
    }

    async fn talk_of_other_things(&mut self) -> anyhow::Result<()> {
        for line in self.language.choose(CHATTER_CHINESE, CHATTER_ENGLISH) {
            self.send_message("telegram", line).await?;
        }
        let messages = CHATTER_CHINESE.len() * 2;
        match self.language {
            Language::Chinese => println!("\n  … {messages} 条别的消息;猫已不在最近的对话里 …"),
            Language::English => {
                println!(
                    "\n  … {messages} messages about other things; the cat is no longer in the recent \
                        messages …"
                );
            }
        }
        self.clock.advance(IDLE_TIME);
        self.wait_for("chat.session.boundary", |data| !data["closed_session_id"].is_null()).await
    }

    async fn ask_about_cat(&self) -> anyhow::Result<()> {
        let question = self.pick_language(QUESTION);
        println!(
            "\n  {}\n     “{question}”",
            self.pick_language(["用户在另一个渠道上问:", "on another channel, the user asks:"])
        );
        let (turn_id, reply) = self.send_message("web", question).await?;
        println!("     {reply}");
        let receipt = self.store().receipt(turn_id).await?.context("the reply has no receipt")?;
        println!("\n  {}", self.pick_language(["为什么这样回答(回复的凭据):", "the reply receipt:"]));
        recall::print(&receipt.used, true);
        let found =
            receipt.used.iter().any(|candidate| candidate.text.contains(self.pick_language(CAT_NAME)));
        if found { Ok(()) } else { bail!("the cat was not remembered") }
    }

    async fn send_message(&self, channel: &str, text: &str) -> anyhow::Result<(TurnId, String)> {
        let incoming = IncomingMessage {
            scope: self.scope.clone(),
            channel_id: channel.to_owned(),
            content: text.to_owned(),
            external_ref: None,
        };
        let (accepted, mut turn) = self.runtime.turns().accept_and_subscribe(incoming).await?;
        while let Some(event) = turn.recv().await {
            match event {
                TurnEvent::Done { message, .. } => return Ok((accepted.turn_id, message.content)),
                TurnEvent::Failed { reason, .. } | TurnEvent::Withdrawn { reason } => bail!(reason),
                TurnEvent::Started | TurnEvent::Delta(_) => {}
            }
        }
        bail!("the turn ended without a reply")
    }

    async fn wait_for(
        &mut self,
        name: &str,
        fits: impl Fn(&serde_json::Value) -> bool,
    ) -> anyhow::Result<()> {
        let heard = async {
            while let Some(delivery) = self.events.next().await {
                if let Delivery::Event(_, wire_event) = delivery
                    && wire_event.name == name
                    && fits(&wire_event.data)
                {
                    return Ok(());
                }
            }
            bail!("the event stream ended")
        };
        tokio::time::timeout(REPLY_LIMIT, heard).await.with_context(|| {
            format!(
                "the event {name} did not \
            arrive"
            )
        })?
    }
}
