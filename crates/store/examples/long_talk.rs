//! Writes the database of a home with a long conversation: `long_talk FILE COUNT`. Browser tests of the page use it,
//! so that years of messages are there in seconds.

use std::path::Path;

use futures_util::future::try_join_all;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use memory::capture::{MessageInput, Recorder};
use memory::identifiers::{SessionId, TurnId};
use memory::ledger::{ReplyReceipt, TokenUsage};
use memory::messages::Role;
use memory::ports::{ConsolidationStore, IdGenerator, PersonaStore, SessionStore, UserStore};
use memory::sessions::{CloseTrigger, SessionPolicy};
use memory::{PersonaId, Scope, UserId};
use store::{HomeStore, StoreOptions};
use testkit::{SequentialIds, SimulatedClock};

type Failed = Box<dyn std::error::Error>;

/// Turns of one session.
const TURNS: usize = 50;
/// Time between two sessions.
const PAUSE: SignedDuration = SignedDuration::from_hours(20);
/// Messages of every length and in both scripts, some with Markdown.
const SAID: [&str; 5] = [
    "今天又下雨了，我在家里看书。",
    "Do you remember the fig tree behind the house?",
    "好。",
    "I walked along the river for an hour, and then I called my sister; we talked about the summer when we painted the boat.",
    "晚上想吃什么？我买了番茄和鸡蛋，还有一点豆腐。",
];
const ANSWERED: [&str; 5] = [
    "我记得。**那本书**你上周才开始读，讲的是一条河。",
    "The one whose branches came in through the window. You said that it smelled of green milk.\n\n- the window\n- the boat",
    "嗯。",
    "An hour is long when it rains. What did she say about the boat? You have not spoken of it since the spring, and then only in passing, as of something that belongs to others.",
    "番茄炒蛋吧，`豆腐`留到明天做汤。",
];

fn main() -> Result<(), Failed> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(write())
}

async fn write() -> Result<(), Failed> {
    let mut arguments = std::env::args().skip(1);
    let (Some(file), Some(count)) = (arguments.next(), arguments.next()) else {
        return Err("long_talk FILE COUNT".into());
    };
    let mut talk = Talk::begin(Path::new(&file)).await?;
    let sessions = count.parse::<usize>()?.div_ceil(2 * TURNS);
    for session in 0..sessions {
        talk.session(session * TURNS).await?;
    }
    talk.store.close().await?;
    println!("{} messages", sessions * TURNS * 2);
    Ok(())
}

struct Talk {
    store: HomeStore,
    ids: SequentialIds,
    now: Timestamp,
    scope: Scope,
}

impl Talk {
    async fn begin(path: &Path) -> Result<Self, Failed> {
        let store = HomeStore::open(path, StoreOptions::default())?;
        let start: Timestamp = "2024-03-01T08:00:00Z".parse()?;
        let scope = Scope::new(PersonaId::new("default")?, UserId::new("self")?);
        store.ensure_persona(&scope.persona, "Echo", start).await?;
        store.ensure_user(&scope.user, start).await?;
        Ok(Self { store, ids: SequentialIds::new(1), now: start, scope })
    }

    /// One session; each message is half a minute after the one before.
    async fn session(&mut self, first: usize) -> Result<(), Failed> {
        let turns = first..first + TURNS;
        let named: Vec<(usize, TurnId)> =
            turns.map(|number| (number, TurnId(self.ids.next(self.now)))).collect();
        let lines = named
            .iter()
            .flat_map(|(number, turn)| [(*number, *turn, Role::User), (*number, *turn, Role::Persona)]);
        // Concurrently and in order, so that they share the flushes to the disk.
        let saying = lines.enumerate().map(|(line, (number, turn, role))| {
            let at = self.now + SignedDuration::from_secs(30) * i32::try_from(line).unwrap_or(0);
            self.say(number, turn, role, at)
        });
        let sessions = try_join_all(saying).await?;
        self.now += PAUSE;
        let Some(&session) = sessions.first() else { return Ok(()) };
        self.store.end_session(session, CloseTrigger::Idle).await?;
        if let Some(claimed) = self.store.claim_closing_session(self.now).await? {
            self.store.finish_session(claimed.id, self.now).await?;
        }
        Ok(())
    }

    async fn say(&self, number: usize, turn: TurnId, role: Role, at: Timestamp) -> Result<SessionId, Failed> {
        let clock = SimulatedClock::new(at);
        let policy = SessionPolicy { max_tokens: u64::MAX, ..SessionPolicy::default() };
        let recorder = Recorder { store: &self.store, clock: &clock, ids: &self.ids, policy };
        let texts = if role == Role::User { SAID } else { ANSWERED };
        let line = MessageInput {
            id: None,
            scope: self.scope.clone(),
            channel_id: "web".to_owned(),
            turn_id: Some(turn),
            role,
            content: format!("{} ({number})", texts[number % texts.len()]),
            incomplete: false,
            external_ref: None,
            channel_write: None,
        };
        // The receipt ends the turn.
        let receipt = (role == Role::Persona).then(|| ReplyReceipt {
            turn_id: turn,
            created_at: at,
            model: "none".to_owned(),
            usage: TokenUsage::default(),
            prompt_hash: String::new(),
            used: Vec::new(),
            documents: Vec::new(),
            conversation: 0,
            pinned: Vec::new(),
            cut: Vec::new(),
            held_back: Vec::new(),
        });
        Ok(recorder.capture(line, &TimeZone::UTC, receipt).await?.message.session_id)
    }
}
