//! A year of three users, generated from a seed: they write, answer or not, travel, stop answering; promises become
//! due by day and by night; the model fails, writes nothing, or writes; a channel fails for days. Everything that was
//! sent is then checked against every rule.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use llm::{Completion, LlmError, ModelTier, Provider, Request, StreamEvent};
use memory::identifiers::{CycleId, NodeId, SessionId};
use memory::ledger::TokenUsage;
use memory::messages::{Message, Role};
use memory::nodes::{EventTime, NewNode, NodeKind, Subject};
use memory::ports::{
    Clock as _, IdGenerator as _, MessageStore as _, NodeStore as _, ProactiveStore as _, SlowCycleCommit,
    SlowCycleStore as _, UserStore as _,
};
use memory::proactive::{ListedDecision, ProactiveGate, ProactiveOutcome};
use memory::text::index_terms;
use memory::vector_index::VectorIndex;
use mind::{LanguageMind, Prompts};
use offline::OfflineProvider;
use runtime::{
    Broadcast, IncomingMessage, Ledger, Metrics, OptionalParts, OutboundChannels, ProactiveSettings, Runtime,
    RuntimeCore, RuntimeParts, RuntimeSettings,
};
use serde_json::json;
use store::{HomeStore, StoreOptions};
use testkit::{SequentialIds, SimulatedClock};

use crate::persona_year::Dice;
use crate::phone::{PHONE, Phone};
use crate::world::{HOUR, MINUTE, WEB, scope, settings, soon};

const DAYS: u32 = 365;
/// Interval of the loop, and of the steps of the clock.
const TICK: Duration = Duration::from_secs(2 * 3_600);
/// Loops that sleep while idle: idle sessions, consolidation, proactive messages.
const LOOPS: usize = 3;
const USERS: [&str; 3] = ["ann", "bo", "cy"];
const ZONES: [&str; 5] =
    ["Europe/Oslo", "Asia/Shanghai", "America/New_York", "Pacific/Auckland", "America/Sao_Paulo"];
const CAP: usize = 3;
const WINDOW: SignedDuration = SignedDuration::from_hours(6);

/// The offline provider, which also writes proactive messages; every tenth request fails, every tenth has an empty
/// answer.
struct Moody {
    calls: AtomicU64,
    seed: u64,
}

#[async_trait]
impl Provider for Moody {
    fn name(&self) -> &'static str {
        "moody"
    }

    fn model(&self, _: ModelTier) -> String {
        "moody".to_owned()
    }

    async fn complete(&self, request: Request) -> Result<Completion, LlmError> {
        if request.task != "proactive" {
            return OfflineProvider.complete(request).await;
        }
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        let message = match Dice::new(self.seed ^ call).below(10) {
            0 => return Err(LlmError::Transient { message: "tired".to_owned() }),
            1 => json!({"message": null, "reason": "nothing"}),
            _ => json!({"message": format!("thinking of you, {call}"), "reason": "due"}),
        };
        let whole = OfflineProvider.complete(Request { task: "reflection".to_owned(), ..request }).await;
        let model = "moody".to_owned();
        let usage = whole.map(|whole| whole.usage).unwrap_or_default();
        let (provider, latency) = (model.clone(), Duration::ZERO);
        Ok(Completion { text: message.to_string(), usage, model, provider, latency })
    }

    async fn stream(
        &self,
        request: Request,
    ) -> Result<BoxStream<'static, Result<StreamEvent, LlmError>>, LlmError> {
        OfflineProvider.stream(request).await
    }
}

struct Year {
    clock: SimulatedClock,
    store: Arc<HomeStore>,
    runtime: Runtime,
    dice: Dice,
    ids: SequentialIds,
    /// The time zones of each user, with their start.
    zones: HashMap<&'static str, Vec<(Timestamp, TimeZone)>>,
    /// Promises with their due time, by id.
    promises: BTreeMap<NodeId, (usize, Timestamp)>,
    /// An event that promises may cite.
    event: HashMap<&'static str, (NodeId, SessionId)>,
    phone: Arc<Phone>,
    _folder: tempfile::TempDir,
}

impl Year {
    async fn begin(seed: u64) -> Self {
        let folder = match Path::new("/dev/shm") {
            shared if shared.is_dir() => tempfile::tempdir_in(shared),
            _ => tempfile::tempdir(),
        };
        let folder = folder.unwrap();
        let path = folder.path().join("home.db");
        let store = Arc::new(HomeStore::open(&path, StoreOptions::default()).unwrap());
        let clock = SimulatedClock::new("2026-01-01T08:00:00Z".parse().unwrap());
        let ledger = Ledger::start(store.clone());
        let provider = Arc::new(Moody { calls: AtomicU64::new(0), seed });
        let shared = Arc::new(clock.clone());
        let mind = LanguageMind::new(provider, shared.clone(), ledger, Prompts::load(None).unwrap());
        let proactive = ProactiveSettings { enabled: true, tick: TICK, ..ProactiveSettings::default() };
        let settings =
            RuntimeSettings { proactive, scan_every: 12 * HOUR, poll_every: 12 * HOUR, ..settings() };
        let phone = Phone::new(store.clone(), clock.now());
        let core = RuntimeCore::new(RuntimeParts {
            store: store.clone(),
            proactive: store.clone(),
            embedder: None,
            index: Arc::new(VectorIndex::default()),
            mind: Arc::new(mind),
            clock: shared,
            ids: Arc::new(SequentialIds::new(1)),
            broadcast: Broadcast::new("year"),
            metrics: Metrics::default(),
            settings,
        });
        let channels: Option<Arc<dyn OutboundChannels>> = Some(phone.clone());
        let runtime = Runtime::new(core, OptionalParts { channels, ..OptionalParts::default() });
        runtime.start().await.unwrap();
        let (zones, promises, event) = (HashMap::new(), BTreeMap::new(), HashMap::new());
        let dice = Dice::new(seed);
        let ids = SequentialIds::new(2);
        let mut year =
            Self { clock, store, runtime, dice, ids, zones, promises, event, phone, _folder: folder };
        for user in USERS {
            year.travel(user).await;
            year.say(user, WEB, "My father died yesterday and I can't stop crying, I am so sad").await;
        }
        year.pass(13 * HOUR).await;
        for user in USERS {
            let events = year.store.nodes_before(&scope(user), &[NodeKind::Event], None, 1).await.unwrap();
            year.event.insert(user, (events[0].id, events[0].source_session_id.unwrap()));
        }
        year
    }

    async fn travel(&mut self, user: &'static str) {
        let name = *self.dice.pick(&ZONES);
        let now = self.clock.now();
        self.store.ensure_user(&scope(user).user, now).await.unwrap();
        self.store.set_user_timezone(&scope(user).user, Some(name.to_owned())).await.unwrap();
        self.zones.entry(user).or_default().push((now, TimeZone::get(name).unwrap()));
    }

    async fn say(&self, user: &str, channel_id: &str, text: &str) {
        let mut turn = if channel_id == PHONE {
            let (external, receipt) = self.phone.receipt(user);
            let accepted = self.runtime.turns().accept_from_channel(
                PHONE,
                scope(user),
                text.to_owned(),
                &external,
                receipt,
            );
            accepted.await.unwrap().1
        } else {
            let incoming = IncomingMessage {
                scope: scope(user),
                channel_id: channel_id.to_owned(),
                content: text.to_owned(),
                external_ref: None,
            };
            self.runtime.turns().accept_and_subscribe(incoming).await.unwrap().1
        };
        self.clock.advance(Duration::from_secs(2)).await;
        soon("the reply", async { while turn.recv().await.is_some() {} }).await;
    }

    async fn pass(&self, duration: Duration) {
        let mut left = duration;
        while !left.is_zero() {
            let step = left.min(TICK);
            self.clock.advance(step).await;
            soon("the loops to rest", self.clock.wait_for_sleepers(LOOPS)).await;
            left -= step;
        }
    }

    async fn promise(&mut self, number: usize) {
        let user = USERS[number];
        let now = self.clock.now();
        let hours = 1 + i64::try_from(self.dice.below(96)).unwrap();
        let start = now + SignedDuration::from_hours(hours);
        // Some are due at a time, some on a day, which is mentioned in its evening.
        let end = self.dice.chance(40).then(|| start + SignedDuration::from_hours(24));
        let due = if end.is_some() { start + SignedDuration::from_hours(18) } else { start };
        let (event, session) = self.event[user];
        let kind = if self.dice.chance(70) { NodeKind::Intention } else { NodeKind::Expectation };
        let description = format!("I will ask about day {hours} of {}", self.promises.len());
        let id = NodeId(self.ids.next(now));
        let node = NewNode {
            id,
            kind,
            terms: index_terms(&description),
            description,
            emotional_impact: 2,
            emotion_tags: Vec::new(),
            relational_tags: Vec::new(),
            subject: Subject::Persona,
            event_time: Some(EventTime { start, end }),
            evidence: Vec::new(),
            filling: vec![event],
            embedding: None,
        };
        let commit = SlowCycleCommit {
            id: CycleId(self.ids.next(now)),
            scope: scope(user),
            session_id: session,
            at: now,
            nodes: vec![node],
            fingerprint: None,
            descriptions: Vec::new(),
            salient_questions: Vec::new(),
            read: vec![event],
            usage: TokenUsage::default(),
            outcome: "ok".to_owned(),
            transcript: None,
            tombstones: 0,
        };
        assert_eq!(self.store.commit_slow_cycle(commit).await.unwrap().nodes, [id]);
        self.promises.insert(id, (number, due));
    }

    async fn day(&mut self, day: u32) {
        if self.dice.chance(20) {
            let works = self.dice.chance(60);
            self.phone.change(self.clock.now(), works);
        }
        for number in 0..USERS.len() {
            if self.dice.chance(3) {
                self.travel(USERS[number]).await;
            }
            if self.dice.chance(35) {
                self.promise(number).await;
            }
            // The third user stops answering for the whole summer.
            let is_away = number == 2 && (120..240).contains(&day);
            let writes = [70, 25, 50][number];
            if !is_away && self.dice.chance(writes) {
                let minutes = u32::try_from(self.dice.below(300)).unwrap();
                self.pass(MINUTE * minutes).await;
                let channel_id = if self.dice.chance(50) { PHONE } else { WEB };
                self.say(USERS[number], channel_id, "I went for a walk by the sea today").await;
            }
        }
        let next = self.clock.now().to_zoned(TimeZone::UTC).tomorrow().unwrap().start_of_day().unwrap();
        let rest = next.timestamp().duration_since(self.clock.now());
        self.pass(Duration::try_from(rest).unwrap_or_default()).await;
    }

    async fn messages(&self, user: &str) -> Vec<Message> {
        let mut messages = self.store.messages_before(&scope(user), None, 100_000).await.unwrap();
        messages.reverse();
        messages
    }

    async fn decisions(&self, user: &str) -> Vec<ListedDecision> {
        let user = scope(user).user;
        let mut all = self.store.decisions(Some(&user), None, 100_000).await.unwrap();
        all.reverse();
        all
    }

    fn zone_at(&self, user: &str, at: Timestamp) -> TimeZone {
        let zones = &self.zones[user];
        zones.iter().rev().find(|(from, _)| *from <= at).unwrap().1.clone()
    }
}

async fn holds_every_rule(seed: u64) -> usize {
    let mut year = Year::begin(seed).await;
    for day in 0..DAYS {
        year.day(day).await;
    }
    let mut all = 0;
    for (number, user) in USERS.into_iter().enumerate() {
        let decisions = year.decisions(user).await;
        let messages = year.messages(user).await;
        all += was_sent_by_the_rules(&year, user, &decisions, &messages, seed);
        for (id, (owner, due)) in &year.promises {
            let is_over = year.clock.now().duration_since(*due) > SignedDuration::from_hours(60);
            if *owner != number || !is_over {
                continue;
            }
            let about = |one: &&ListedDecision| {
                one.decision.trigger.as_ref().is_some_and(|trigger| trigger.node == Some(*id))
            };
            let explained = decisions.iter().filter(about).any(|one| {
                matches!(one.decision.outcome, Some(ProactiveOutcome::Sent | ProactiveOutcome::NothingToSay))
                    || one.decision.gate == Some(ProactiveGate::TooLate)
            });
            assert!(
                explained,
                "seed {seed}: {user}: the promise due at {due} was neither kept nor explained"
            );
        }
    }
    let mut on_phone = 0;
    for user in USERS {
        let messages = year.messages(user).await.into_iter();
        on_phone +=
            messages.filter(|one| one.channel_id == PHONE && one.role == Role::Persona).count() as u64;
    }
    assert_eq!(year.phone.waiting().await, on_phone, "seed {seed}: each is on its way, none twice");
    year.runtime.stop().await;
    all
}

fn was_sent_by_the_rules(
    year: &Year,
    user: &str,
    decisions: &[ListedDecision],
    messages: &[Message],
    seed: u64,
) -> usize {
    let sent: Vec<_> =
        decisions.iter().filter(|one| one.decision.outcome == Some(ProactiveOutcome::Sent)).collect();
    let unasked = messages.iter().filter(|message| message.turn_id.is_none());
    assert_eq!(unasked.count(), sent.len(), "seed {seed}: {user}: each message once");
    let mut keys: Vec<_> = sent.iter().map(|one| one.decision.trigger.clone().unwrap().key).collect();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), sent.len(), "seed {seed}: {user}: each trigger once");
    // In the order of the log: the clock does not advance, so two messages may have the same time.
    let number = |one: &ListedDecision| {
        messages.iter().find(|message| Some(message.id) == one.decision.message_id).unwrap().seq
    };
    let spoke = |after: i64, before: i64, until: Timestamp| {
        messages.iter().any(|message| {
            let is_between = message.seq > after && message.seq < before && message.created_at <= until;
            message.role == Role::User && is_between
        })
    };
    for (place, one) in sent.iter().enumerate() {
        let at = one.decision.at;
        let said = messages.iter().rev().filter(|message| message.role == Role::User);
        let last = said.into_iter().find(|message| message.seq < number(one)).unwrap();
        let reached = if last.channel_id == PHONE && year.phone.worked(at) { PHONE } else { WEB };
        assert_eq!(one.decision.channel_id.as_deref(), Some(reached), "seed {seed}: {user} at {at}");
        let hour = at.to_zoned(year.zone_at(user, at)).hour();
        assert!((7..23).contains(&hour), "seed {seed}: {user} got a message at {hour}");
        let day = at - SignedDuration::from_hours(24);
        let lately = sent.iter().filter(|other| other.decision.at > day && other.decision.at <= at);
        assert!(lately.count() <= CAP, "seed {seed}: {user} got too many at {at}");
        if place >= 2 {
            let (before, now) = (&sent[place - 2..place], number(one));
            let unanswered = before.iter().all(|sent| {
                let until = sent.decision.at + WINDOW;
                until < at && !spoke(number(sent), now, until)
            });
            let is_cold = unanswered && !spoke(number(before[1]), now, at);
            assert!(!is_cold, "seed {seed}: {user} was cold at {at}");
        }
    }
    sent.len()
}

macro_rules! years {
    ($($name:ident: $seed:literal)*) => {$(
        #[tokio::test]
        async fn $name() {
            let sent = holds_every_rule($seed).await;
            assert!(sent > 100, "a year with few messages shows little: {sent}");
        }
    )*};
}

// One test for each seed, so that they run concurrently. `make soak` runs fifty.
years! {
    year_01: 1 year_02: 2 year_03: 3
}

/// Further years with `ECHOVESSEL_YEARS=1000..1050`.
#[tokio::test]
async fn years_of_more_seeds() {
    let Ok(asked) = std::env::var("ECHOVESSEL_YEARS") else { return };
    let (from, to) = asked.split_once("..").expect("two seeds");
    let (from, to): (u64, u64) = (from.parse().expect("a seed"), to.parse().expect("a seed"));
    for seed in from..to {
        holds_every_rule(seed).await;
    }
}
