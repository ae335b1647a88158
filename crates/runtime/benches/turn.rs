//! Prints what a turn costs beside the model, over a real SQLite file: `cargo bench -p runtime`. Each figure stands
//! beside its aim (design: budgets). Nothing here passes or fails by the clock.

use std::fs;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use memory::capture::{Line, Recorder};
use memory::identifiers::{NodeId, TurnId};
use memory::messages::Role;
use memory::nodes::{Evidence, NewNode, NodeKind, RelationalTag, Subject};
use memory::ports::{
    Clock, EmbedError, Embedder, Embedding, ExtractionCommit, Ids, MessageStore, NewEntity, PersonaStore,
    SessionStore,
};
use memory::recall::{RecallRequest, RecallSettings, Recalled, recall};
use memory::sessions::{CloseTrigger, SessionPolicy};
use memory::text::index_terms;
use memory::vector_index::VectorIndex;
use memory::{PersonaId, Scope, UserId};
use store::{SqliteStore, StoreOptions};
use testkit::{SequentialIds, SimulatedClock};

type Failed = Box<dyn std::error::Error>;

const DIMENSION: usize = 384;
const ROUNDS: usize = 60;
/// Nodes of one commit.
const BATCH: usize = 1_000;

const WORDS: [&str; 40] = [
    "cat", "garden", "sister", "violin", "Lisbon", "coffee", "deadline", "marathon", "pasta", "thunder",
    "piano", "mountain", "bicycle", "exam", "hospital", "birthday", "museum", "train", "balcony", "novel",
    "guitar", "harbour", "winter", "lantern", "recipe", "friend", "office", "river", "painting", "dog",
    "小黑", "妹妹", "大学", "咖啡", "上海", "钢琴", "生日", "地铁", "医院", "搬家",
];
/// Words that a person uses; the first are [`WORDS`], the others are made up.
const VOCABULARY: f64 = 8_000.0;
const QUESTIONS: [&str; 4] = [
    "Do you remember what my sister said about the marathon in Lisbon?",
    "你还记得我妹妹上大学的事吗",
    "cat",
    "What was the deadline for the painting, and did the exam go well?",
];

/// Numbers that depend on nothing but a seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn vector(&mut self) -> Vec<f32> {
        let raw: Vec<f32> = (0..DIMENSION).map(|_| (self.roll() >> 40) as f32 / 8_388_608.0 - 1.0).collect();
        let length = raw.iter().map(|c| c * c).sum::<f32>().sqrt();
        raw.into_iter().map(|c| c / length).collect()
    }

    /// Nine words, each as frequent as its rank is low (Zipf), as in people's talk.
    fn text(&mut self) -> String {
        let words: Vec<String> = (0..9).map(|_| self.word()).collect();
        format!("The user talked of {}, number {}", words.join(" "), self.roll() % 100_000)
    }

    fn word(&mut self) -> String {
        let uniform = (self.roll() >> 11) as f64 / (1u64 << 53) as f64;
        let rank = VOCABULARY.powf(uniform) as usize - 1;
        WORDS.get(rank).map_or_else(|| format!("term{rank}"), |word| (*word).to_owned())
    }
}

/// A model that has its answer ready: what is measured is everything else.
struct Ready(Vec<f32>);

#[async_trait]
impl Embedder for Ready {
    fn dimension(&self) -> usize {
        DIMENSION
    }

    fn fingerprint(&self) -> &str {
        "bench"
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Embedding>, EmbedError> {
        Ok(texts.iter().map(|_| Embedding { vector: self.0.clone(), readability: 1.0 }).collect())
    }
}

struct Bench {
    _folder: tempfile::TempDir,
    store: SqliteStore,
    clock: SimulatedClock,
    ids: SequentialIds,
    index: VectorIndex,
    settings: RecallSettings,
    scope: Scope,
    dice: Dice,
}

fn main() -> Result<(), Failed> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        println!(
            "{:<44} {:>9} {:>9} {:>9}   aim (p50)",
            "recall, embedding apart", "p50 ms", "p95 ms", "cold ms"
        );
        let sizes = [(1_000, "1 ms"), (10_000, "2 ms"), (100_000, "12 ms")];
        for (nodes, aim) in sizes {
            let mut bench = Bench::open().await?;
            bench.remember(nodes).await?;
            bench.report(&format!("{nodes} nodes"), aim).await?;
            if nodes == 100_000 {
                bench.talk(100_000).await?;
                bench.report("100000 nodes and 100000 messages", "15 ms").await?;
                println!("{:<44} {:>9}", "resident memory then, MB", resident());
            }
        }
        Ok(())
    })
}

impl Bench {
    async fn open() -> Result<Self, Failed> {
        let folder = tempfile::tempdir()?;
        let store = SqliteStore::open(&folder.path().join("bench.db"), StoreOptions::default())?;
        let start: Timestamp = "2026-01-01T00:00:00Z".parse()?;
        let scope = Scope::new(PersonaId::new("default")?, UserId::new("self")?);
        store.ensure_persona(&scope.persona, "Echo", start).await?;
        store.ensure_user(&scope.user, start).await?;
        Ok(Self {
            _folder: folder,
            store,
            clock: SimulatedClock::new(start),
            ids: SequentialIds::new(1),
            index: VectorIndex::default(),
            settings: RecallSettings::default(),
            scope,
            dice: Dice(0x1234_5678_9abc_def1),
        })
    }

    /// Events through the product's own commits, a thousand at a time.
    async fn remember(&mut self, nodes: usize) -> Result<(), Failed> {
        for batch in 0..nodes / BATCH {
            let captured = self.say(Role::User, "我养了只白猫,叫小黑").await?;
            self.store.end_session(captured.session_id, CloseTrigger::Explicit).await?;
            self.store.claim_closing_session(self.clock.now()).await?.ok_or("nothing to claim")?;
            let evidence = Evidence { message_id: captured.id, quote: "白猫".to_owned(), start: 4, end: 6 };
            let commit = self.commit(captured.session_id, batch, &evidence);
            self.store.commit_extraction(commit).await?;
            self.store.finish_session(captured.session_id, self.clock.now()).await?;
            self.clock.set(self.clock.now() + SignedDuration::from_hours(2));
        }
        Ok(())
    }

    fn commit(
        &mut self,
        session_id: memory::identifiers::SessionId,
        batch: usize,
        evidence: &Evidence,
    ) -> ExtractionCommit {
        let at = self.clock.now();
        let cat = memory::identifiers::EntityId(self.ids.next(at));
        let nodes: Vec<NewNode> = (0..BATCH).map(|_| self.node(at, evidence)).collect();
        let named = batch == 0;
        ExtractionCommit {
            session_id,
            scope: self.scope.clone(),
            at,
            fingerprint: Some("bench".to_owned()),
            trivial: false,
            links: if named {
                nodes.iter().take(20).map(|node| (node.id, cat)).collect()
            } else {
                Vec::new()
            },
            nodes,
            rejected: Vec::new(),
            entities: if named {
                vec![NewEntity::settled(cat, "小黑", memory::entities::EntityKind::Pet)]
            } else {
                Vec::new()
            },
            aliases: if named { vec![(cat, "小黑".to_owned(), "小黑".to_owned())] } else { Vec::new() },
            identities: Vec::new(),
            mentions: Vec::new(),
            supersessions: Vec::new(),
            mood: None,
            summary: Some("They talked.".to_owned()),
        }
    }

    fn node(&mut self, at: Timestamp, evidence: &Evidence) -> NewNode {
        let description = self.dice.text();
        let impact = i8::try_from(self.dice.roll() % 21).unwrap_or(0) - 10;
        NewNode {
            id: NodeId(self.ids.next(at)),
            kind: NodeKind::Event,
            terms: index_terms(&description),
            description,
            emotional_impact: impact,
            emotion_tags: vec!["calm".to_owned()],
            relational_tags: if impact > 7 { vec![RelationalTag::TurningPoint] } else { Vec::new() },
            subject: Subject::User,
            event_time: None,
            evidence: vec![evidence.clone()],
            filling: Vec::new(),
            embedding: Some(Embedding { vector: self.dice.vector(), readability: 1.0 }),
        }
    }

    async fn talk(&mut self, messages: usize) -> Result<(), Failed> {
        for _ in 0..messages / BATCH {
            let texts: Vec<String> = (0..BATCH).map(|_| self.dice.text()).collect();
            let role = |number: usize| if number.is_multiple_of(2) { Role::User } else { Role::Persona };
            // Together, so that they share the disk's flushes.
            let saying = texts.iter().enumerate().map(|(number, text)| self.say(role(number), text));
            let said = futures_util::future::try_join_all(saying).await?;
            let embedding = |dice: &mut Dice| Embedding { vector: dice.vector(), readability: 1.0 };
            let vectors = said.iter().map(|message| (message.id, embedding(&mut self.dice))).collect();
            self.store.put_message_vectors("bench", vectors).await?;
        }
        Ok(())
    }

    async fn say(&self, role: Role, text: &str) -> Result<memory::messages::Message, Failed> {
        let policy =
            SessionPolicy { max_messages: u32::MAX, max_tokens: u64::MAX, ..SessionPolicy::default() };
        let recorder = Recorder { store: &self.store, clock: &self.clock, ids: &self.ids, policy };
        let line = Line {
            scope: self.scope.clone(),
            channel_id: "bench".to_owned(),
            turn_id: Some(TurnId(self.ids.next(self.clock.now()))),
            role,
            content: text.to_owned(),
            incomplete: false,
        };
        Ok(recorder.capture(line, &TimeZone::UTC, None).await?.message)
    }

    async fn recall(&mut self, text: &str) -> Result<Recalled, Failed> {
        let embedder = Ready(self.dice.vector());
        let request = RecallRequest {
            scope: self.scope.clone(),
            text: text.to_owned(),
            now: self.clock.now(),
            zone: TimeZone::UTC,
            window: Vec::new(),
        };
        Ok(recall(&self.store, &self.index, Some(&embedder), &self.settings, request).await?)
    }

    async fn report(&mut self, what: &str, aim: &str) -> Result<(), Failed> {
        self.index = VectorIndex::default();
        let started = Instant::now();
        self.recall(QUESTIONS[0]).await?;
        let cold = started.elapsed();
        let mut times: Vec<Duration> = Vec::with_capacity(ROUNDS);
        for round in 0..ROUNDS {
            let started = Instant::now();
            let recalled = self.recall(QUESTIONS[round % QUESTIONS.len()]).await?;
            times.push(started.elapsed());
            assert!(!recalled.candidates.is_empty(), "a recall that finds nothing measures nothing");
        }
        times.sort();
        let ms = |duration: Duration| format!("{:.2}", duration.as_secs_f64() * 1_000.0);
        let (p50, p95) = (times[ROUNDS / 2], times[ROUNDS * 95 / 100]);
        println!("{what:<44} {:>9} {:>9} {:>9}   {aim}", ms(p50), ms(p95), ms(cold));
        Ok(())
    }
}

/// Megabytes of this process that are in memory.
fn resident() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.map_or_else(|| "not known here".to_owned(), |kib| (kib / 1_024).to_string())
}
