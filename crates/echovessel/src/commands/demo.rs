//! `echovessel demo`: one sentence becomes a memory, on a temporary home, with a fast clock and no model. Each layer is
//! printed as it is written, read back from the database.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use memory::core_blocks::CoreBlockLabel;
use memory::identifiers::TurnId;
use memory::messages::Role;
use memory::nodes::NodeKind;
use memory::ports::{Clock as _, Store};
use memory::{Scope, UserId};
use runtime::{Delivery, IncomingMessage, Runtime, Subscription, TurnEvent};

use super::{demo_channels, recall};
use crate::cli::Demo;
use crate::config::Config;
use crate::home::Home;
use crate::system::{SkippableClock, SystemIdGenerator, random_bytes};
use crate::wiring::wire;

const SENTENCE: &str = "我养了只白猫,叫小黑。他超调皮,老在半夜跳到我脸上。";
const QUESTION: &str = "你还记得我的猫吗";
/// Messages that have nothing to do with the cat: more than the recent window holds.
const CHATTER: [&str; 11] = [
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
/// Longer than the session's idle time.
const SILENCE: Duration = Duration::from_secs(31 * 60);
const PATIENCE: Duration = Duration::from_secs(20);

struct Story {
    runtime: Runtime,
    clock: Arc<SkippableClock>,
    scope: Scope,
    events: Subscription,
}

pub(crate) async fn demo(args: &Demo) -> anyhow::Result<()> {
    let suffix = hex::encode(&random_bytes()[..6]);
    let folder = std::env::temp_dir().join(format!("echovessel-demo-{suffix}"));
    let outcome =
        if args.channels { demo_channels::run(folder.clone()).await } else { on(folder.clone()).await };
    // The scratch home has served; an error here is not worth a word.
    let _ = std::fs::remove_dir_all(&folder);
    outcome
}

async fn on(folder: PathBuf) -> anyhow::Result<()> {
    let home = Home::locate(Some(folder))?;
    home.create()?;
    let mut config = Config::default();
    config.llm.provider = "offline".to_owned();
    // The story happens on several channels, and nobody adds to a message.
    let channels = &mut config.channels;
    for debounce in
        [&mut channels.web.debounce, &mut channels.discord.debounce, &mut channels.telegram.debounce]
    {
        debounce.0 = Duration::ZERO;
    }
    let clock = Arc::new(SkippableClock::new());
    let wired = wire(&config, &home, clock.clone(), Arc::new(SystemIdGenerator::default())).await?;
    wired.runtime.start().await?;
    let scope = wired.runtime.scope(None, UserId::owner());
    wired.runtime.ensure_known(&scope).await?;
    let events = wired.runtime.broadcast().subscribe();
    let mut story = Story { runtime: wired.runtime.clone(), clock, scope, events };
    println!("A temporary home, a fast clock, no language model. Watch the six memory layers.\n");
    story.author().await?;
    story.tell().await?;
    story.fall_silent().await?;
    story.talk_of_other_things().await?;
    story.ask().await?;
    wired.runtime.stop().await;
    wired.close().await?;
    println!("\nOne sentence became a memory. `echovessel run` starts your own persona.");
    Ok(())
}

impl Story {
    fn store(&self) -> &dyn Store {
        self.runtime.store()
    }

    async fn author(&self) -> anyhow::Result<()> {
        let now = self.clock.now();
        let blocks = [
            (CoreBlockLabel::Persona, "安静、好奇,记得住小事。"),
            (CoreBlockLabel::User, "住在海边的软件工程师。"),
            (CoreBlockLabel::Style, "说话简短,不客套。"),
        ];
        for (label, text) in blocks {
            self.store().write_core_block(&self.scope, label, text, "demo", now).await?;
        }
        let read = self.store().core_blocks(&self.scope).await?;
        light("L1", "core blocks", "written by a person, read in every turn, changed by people only");
        println!("     persona: {}\n     user:    {}\n     style:   {}", read.persona, read.user, read.style);
        Ok(())
    }

    async fn tell(&self) -> anyhow::Result<()> {
        println!("\n  on one channel, the user says:\n     “{SENTENCE}”");
        let (turn_id, reply) = self.say("discord", SENTENCE).await?;
        let rows = self.store().turn_messages(turn_id).await?;
        light("L2", "verbatim log", "both sides verbatim, stored before the model is asked");
        for row in rows {
            let who = if row.role == Role::User { "them" } else { "me  " };
            println!("     {who} {}", row.content);
        }
        if reply.is_empty() {
            bail!("the offline provider said nothing");
        }
        Ok(())
    }

    async fn fall_silent(&mut self) -> anyhow::Result<()> {
        println!("\n  … 31 minutes of silence; the session ends and is consolidated …");
        self.clock.leap(SILENCE);
        self.wait_for("chat.session.boundary", |data| !data["closed_session_id"].is_null()).await?;
        let events = self.store().nodes_before(&self.scope, &[NodeKind::Event], None, 10).await?;
        let event = events.first().context("no event was formed")?;
        light("L3", "event", "what happened, with a signed impact and the user's own words as evidence");
        println!("     {:+}  {}", event.emotional_impact, event.description);
        if let Some(known) = self.store().node(event.id).await? {
            for evidence in known.evidence {
                println!("         evidence: “{}”", evidence.quote);
            }
        }
        light("L5", "entities", "people and things with all their names");
        for entity in self.store().entities(&self.scope, 10).await? {
            println!(
                "     {} ({}) — {}",
                entity.canonical_name,
                entity.kind.as_str(),
                entity.aliases.join(", ")
            );
        }
        if let Some(mood) = self.store().mood(&self.scope).await? {
            light("L6", "mood", "how the persona feels; neutral again after twelve hours");
            println!("     {} · energy {}/10", mood.mood, mood.energy);
        }
        let thoughts = self.store().nodes_before(&self.scope, &[NodeKind::Thought], None, 10).await?;
        light("L4", "thought", "a conclusion; it must cite events");
        for thought in thoughts {
            println!("     {}", thought.description);
            if let Some(known) = self.store().node(thought.id).await? {
                println!("         cites {} event(s)", known.filling.len());
            }
        }
        Ok(())
    }

    async fn talk_of_other_things(&mut self) -> anyhow::Result<()> {
        for line in CHATTER {
            self.say("telegram", line).await?;
        }
        println!(
            "\n  … {} messages about other things; the cat has left the recent window …",
            CHATTER.len() * 2
        );
        self.clock.leap(SILENCE);
        self.wait_for("chat.session.boundary", |data| !data["closed_session_id"].is_null()).await
    }

    async fn ask(&self) -> anyhow::Result<()> {
        println!("\n  on another channel, the user asks:\n     “{QUESTION}”");
        let (turn_id, reply) = self.say("web", QUESTION).await?;
        println!("     {reply}");
        let receipt = self.store().receipt(turn_id).await?.context("the reply has no receipt")?;
        println!("\n  why it replied so (the reply receipt):");
        recall::print(&receipt.used, true);
        let found = receipt.used.iter().any(|candidate| candidate.text.contains("小黑"));
        if found { Ok(()) } else { bail!("the cat was not remembered") }
    }

    async fn say(&self, channel: &str, text: &str) -> anyhow::Result<(TurnId, String)> {
        let incoming = IncomingMessage {
            scope: self.scope.clone(),
            channel_id: channel.to_owned(),
            content: text.to_owned(),
            external_ref: None,
        };
        let (accepted, mut turn) = self.runtime.accept_and_subscribe(incoming).await?;
        while let Some(event) = turn.recv().await {
            match event {
                TurnEvent::Done { message, .. } => return Ok((accepted.turn_id, message.content)),
                TurnEvent::Failed { reason, .. } | TurnEvent::Withdrawn { reason } => bail!(reason),
                TurnEvent::Started | TurnEvent::Delta(_) => {}
            }
        }
        bail!("the turn ended without an answer")
    }

    async fn wait_for(
        &mut self,
        name: &str,
        fits: impl Fn(&serde_json::Value) -> bool,
    ) -> anyhow::Result<()> {
        let heard = async {
            while let Some(delivery) = self.events.next().await {
                if let Delivery::Event(_, told) = delivery
                    && told.name == name
                    && fits(&told.data)
                {
                    return Ok(());
                }
            }
            bail!("the broadcast ended")
        };
        tokio::time::timeout(PATIENCE, heard).await.with_context(|| format!("{name} did not come"))?
    }
}

fn light(layer: &str, name: &str, what: &str) {
    println!("\n{layer} ● {name} — {what}");
}
