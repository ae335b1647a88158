//! A past generated from a seed: words with Zipf's frequencies, random vectors (the worst case for thinning), thoughts that
//! depend on events.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use memory::capture::{MessageInput, Recorder};
use memory::entities::EntityKind;
use memory::identifiers::{EntityId, NodeId, ReflectionId, SessionId, TurnId};
use memory::messages::{Message, Role};
use memory::nodes::{Evidence, NewNode, NodeKind, RelationalTag, Subject};
use memory::ports::{
    Clock, ConsolidationStore, Embedding, EmbeddingStore, ExtractionCommit, IdGenerator, NewEntity,
    PersonaStore, ReflectionCommit, SessionStore, UserStore,
};
use memory::sessions::{CloseTrigger, SessionPolicy};
use memory::text::index_terms;
use memory::{PersonaId, Scope, UserId};
use store::{CopySettings, HomeDatabase, HomeStore, ServerAddress, StoreOptions, copy_home};
use testkit::postgres::fresh_database;
use testkit::{SequentialIds, SimulatedClock};

use crate::Failed;

pub(crate) const DIMENSION: usize = 384;
/// Nodes of one commit; messages that are captured together.
const BATCH: usize = 1_000;
/// Thoughts among the nodes of one commit. Each depends on some of its events.
const THOUGHTS: usize = 20;
const EVENTS_OF_A_THOUGHT: usize = 5;
/// The newest messages, which have vectors. Twice as many as are compared.
const WITH_VECTORS: usize = 200_000;
/// Changes with the generator, so that files of an earlier one are not used.
const MAKING: u32 = 2;

const WORDS: [&str; 40] = [
    "cat", "garden", "sister", "violin", "Lisbon", "coffee", "deadline", "marathon", "pasta", "thunder",
    "piano", "mountain", "bicycle", "exam", "hospital", "birthday", "museum", "train", "balcony", "novel",
    "guitar", "harbour", "winter", "lantern", "recipe", "friend", "office", "river", "painting", "dog",
    "小黑", "妹妹", "大学", "咖啡", "上海", "钢琴", "生日", "地铁", "医院", "搬家",
];
/// Words of the user; the first ones are [`WORDS`], the others are generated.
const VOCABULARY: f64 = 8_000.0;

/// The size of a benchmark's memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Past {
    pub(crate) nodes: usize,
    pub(crate) messages: usize,
}

impl Past {
    pub(crate) fn name(self) -> String {
        match self {
            Self { nodes, messages: 0 } => format!("{nodes} nodes"),
            Self { nodes: 0, messages } => format!("{messages} messages"),
            Self { nodes, messages } => format!("{nodes} nodes and {messages} messages"),
        }
    }
}

/// Numbers that depend only on a seed.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new() -> Self {
        Self(0x1234_5678_9abc_def1)
    }

    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn vector(&mut self) -> Vec<f32> {
        let raw: Vec<f32> = (0..DIMENSION).map(|_| (self.roll() >> 40) as f32 / 8_388_608.0 - 1.0).collect();
        let length = raw.iter().map(|c| c * c).sum::<f32>().sqrt();
        raw.into_iter().map(|c| c / length).collect()
    }

    /// Nine words whose frequency falls with their rank (Zipf), as in real messages.
    pub(crate) fn text(&mut self) -> String {
        let words: Vec<String> = (0..9).map(|_| self.word()).collect();
        format!("The user talked of {}, number {}", words.join(" "), self.roll() % 100_000)
    }

    fn word(&mut self) -> String {
        let uniform = (self.roll() >> 11) as f64 / (1u64 << 53) as f64;
        let rank = VOCABULARY.powf(uniform) as usize - 1;
        WORDS.get(rank).map_or_else(|| format!("term{rank}"), |word| (*word).to_owned())
    }
}

/// A database with a past, and the time after it.
pub(crate) struct Home {
    pub(crate) store: HomeStore,
    pub(crate) clock: SimulatedClock,
    pub(crate) ids: SequentialIds,
    pub(crate) scope: Scope,
    dice: Dice,
    _copy: Option<tempfile::TempDir>,
}

/// Maximum reading connections of a daemon with the default setting of `storage.pool`.
const SERVER_READERS: usize = 15;

impl Home {
    /// The past, generated if it does not exist. It is only read.
    pub(crate) async fn open(past: Past) -> Result<Self, Failed> {
        let path = made(past).await?;
        Self::at(&path, past, 2).await
    }

    /// A copy that can be written to.
    pub(crate) async fn copy(past: Past) -> Result<Self, Failed> {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        let path = folder.path().join("home.db");
        fs::copy(made(past).await?, &path)?;
        Ok(Self { _copy: Some(folder), ..Self::at(&path, past, 2).await? })
    }

    /// A copy on the server that the environment names; `None` without one.
    pub(crate) async fn on_server(past: Past) -> Result<Option<Self>, Failed> {
        let Some(database) = fresh_database()? else { return Ok(None) };
        let address = ServerAddress::parse(&database, None)?;
        let (from, to) = (HomeDatabase::File(made(past).await?), HomeDatabase::Server(address.clone()));
        let copy = move || copy_home(&from, &to, CopySettings::default(), &mut |_| {});
        tokio::task::spawn_blocking(copy).await??;
        let options = StoreOptions { readers: SERVER_READERS, ..StoreOptions::default() };
        Ok(Some(Self::of(HomeStore::open_on_server(&address, options)?, past, 2)?))
    }

    async fn at(path: &Path, past: Past, seed: u64) -> Result<Self, Failed> {
        Self::of(HomeStore::open(path, StoreOptions::default())?, past, seed)
    }

    fn of(store: HomeStore, past: Past, seed: u64) -> Result<Self, Failed> {
        let start: Timestamp = "2020-01-01T00:00:00Z".parse()?;
        let hours = (past.nodes + past.messages).div_ceil(BATCH) + 1;
        let scope = Scope::new(PersonaId::new("default")?, UserId::new("self")?);
        let clock = SimulatedClock::new(start + SignedDuration::from_hours(i64::try_from(hours)?));
        let ids = SequentialIds::new(seed);
        Ok(Self { store, clock, ids, scope, dice: Dice::new(), _copy: None })
    }

    pub(crate) async fn close(self) -> Result<(), Failed> {
        Ok(self.store.close().await?)
    }

    pub(crate) fn pass(&self, hours: i64) {
        self.clock.set(self.clock.now() + SignedDuration::from_hours(hours));
    }

    pub(crate) async fn say(&self, role: Role, text: &str) -> Result<Message, Failed> {
        let policy = SessionPolicy { max_tokens: u64::MAX, ..SessionPolicy::default() };
        let recorder = Recorder { store: &self.store, clock: &self.clock, ids: &self.ids, policy };
        let line = MessageInput {
            id: None,
            scope: self.scope.clone(),
            channel_id: "bench".to_owned(),
            turn_id: Some(TurnId(self.ids.next(self.clock.now()))),
            role,
            content: text.to_owned(),
            incomplete: false,
            external_ref: None,
            channel_write: None,
        };
        Ok(recorder.capture(line, &TimeZone::UTC, None).await?.message)
    }

    async fn make(&mut self, past: Past) -> Result<(), Failed> {
        let now = self.clock.now();
        self.store.ensure_persona(&self.scope.persona, "Echo", now).await?;
        self.store.ensure_user(&self.scope.user, now).await?;
        for batch in 0..past.nodes / BATCH {
            self.remember(batch == 0).await?;
            self.pass(1);
        }
        for batch in 0..past.messages / BATCH {
            self.talk(past.messages - batch * BATCH <= WITH_VECTORS).await?;
            self.pass(1);
        }
        Ok(())
    }

    /// Events and thoughts through the product's own commits.
    async fn remember(&mut self, named: bool) -> Result<(), Failed> {
        let at = self.clock.now();
        let captured = self.say(Role::User, "我养了只白猫,叫小黑").await?;
        let session_id = captured.session_id;
        self.store.end_session(session_id, CloseTrigger::Explicit).await?;
        self.store.claim_closing_session(at).await?.ok_or("nothing to claim")?;
        let evidence = Evidence { message_id: captured.id, quote: "白猫".to_owned(), start: 4, end: 6 };
        let events: Vec<NewNode> = (0..BATCH - THOUGHTS)
            .map(|_| NewNode { evidence: vec![evidence.clone()], ..self.node(NodeKind::Event) })
            .collect();
        let thoughts: Vec<NewNode> = (0..THOUGHTS)
            .map(|_| {
                let mut event = || events[self.dice.roll() as usize % events.len()].id;
                let filling = (0..EVENTS_OF_A_THOUGHT).map(|_| event()).collect();
                NewNode { filling, ..self.node(NodeKind::Thought) }
            })
            .collect();
        self.store.commit_extraction(self.extraction(session_id, events, named)).await?;
        let reflection = ReflectionCommit {
            session_id,
            scope: self.scope.clone(),
            id: ReflectionId(self.ids.next(at)),
            at,
            thoughts,
            fingerprint: Some("bench".to_owned()),
        };
        self.store.commit_reflection(reflection).await?;
        self.store.finish_session(session_id, at).await?;
        Ok(())
    }

    fn extraction(&self, session_id: SessionId, nodes: Vec<NewNode>, named: bool) -> ExtractionCommit {
        let at = self.clock.now();
        let cat = named.then(|| EntityId(self.ids.next(at)));
        let name = "小黑".to_owned();
        ExtractionCommit {
            fingerprint: Some("bench".to_owned()),
            links: cat.iter().flat_map(|cat| nodes.iter().take(20).map(|node| (node.id, *cat))).collect(),
            nodes,
            entities: cat.iter().map(|&id| NewEntity::settled(id, name.clone(), EntityKind::Pet)).collect(),
            aliases: cat.iter().map(|&id| (id, name.clone(), name.clone())).collect(),
            summary: Some("They talked.".to_owned()),
            ..ExtractionCommit::empty(session_id, self.scope.clone(), at)
        }
    }

    fn node(&mut self, kind: NodeKind) -> NewNode {
        let description = self.dice.text();
        let impact = i8::try_from(self.dice.roll() % 21).unwrap_or(0) - 10;
        NewNode {
            id: NodeId(self.ids.next(self.clock.now())),
            kind,
            terms: index_terms(&description),
            description,
            emotional_impact: impact,
            emotion_tags: vec!["calm".to_owned()],
            relational_tags: if impact > 7 { vec![RelationalTag::TurningPoint] } else { Vec::new() },
            subject: Subject::User,
            event_time: None,
            evidence: Vec::new(),
            filling: Vec::new(),
            embedding: Some(Embedding { vector: self.dice.vector(), readability: 1.0 }),
        }
    }

    async fn talk(&mut self, with_vectors: bool) -> Result<(), Failed> {
        let texts: Vec<String> = (0..BATCH).map(|_| self.dice.text()).collect();
        let role = |number: usize| if number.is_multiple_of(2) { Role::User } else { Role::Persona };
        // Concurrently, so that they share the flushes to the disk.
        let saying = texts.iter().enumerate().map(|(number, text)| self.say(role(number), text));
        let said = futures_util::future::try_join_all(saying).await?;
        if with_vectors {
            let embedding = |dice: &mut Dice| Embedding { vector: dice.vector(), readability: 1.0 };
            let vectors = said.iter().map(|message| (message.id, embedding(&mut self.dice))).collect();
            self.store.put_message_vectors("bench", vectors).await?;
        }
        Ok(())
    }
}

/// The file with this past. An unfinished one has another name.
async fn made(past: Past) -> Result<PathBuf, Failed> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("past-{MAKING}"));
    fs::create_dir_all(&folder)?;
    let path = folder.join(format!("{}-{}.db", past.nodes, past.messages));
    if path.exists() {
        // Opening it brings an older schema up to date, which copying to a server does not.
        Home::at(&path, past, 2).await?.close().await?;
    } else {
        eprintln!("making a past of {}", past.name());
        let unfinished = folder.join("unfinished.db");
        for file in ["unfinished.db", "unfinished.db-wal", "unfinished.db-shm"] {
            match fs::remove_file(folder.join(file)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            }
        }
        let mut home = Home::at(&unfinished, Past { nodes: 0, messages: 0 }, 1).await?;
        home.make(past).await?;
        home.close().await?;
        fs::rename(&unfinished, &path)?;
    }
    Ok(path)
}
