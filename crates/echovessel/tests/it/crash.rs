//! `kill -9` at random moments under load: each acknowledged message is stored exactly once, and each session is
//! extracted exactly once.
//!
//! `ECHOVESSEL_SOAK_ROUNDS` sets the number of kills; without it, as many as fit. `ECHOVESSEL_SOAK_SEED` repeats a
//! run's random choices.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Arc, Mutex, RwLock};
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::daemon::{Daemon, Home, Settings, command, pause, within};
use crate::owner_api::{Door, answer, completion};
use crate::scripts;

/// Duration of the kills if no number of rounds is set. `make soak` sets 200.
const KILLING: Duration = Duration::from_secs(20);
/// Time within which all sessions must be finished afterwards.
const SETTLING: Duration = Duration::from_secs(120);
const CLIENTS: usize = 6;

/// A client's record of the messages that it sent.
#[derive(Default)]
pub(crate) struct Sent {
    /// Messages that were acknowledged with a 202 or a complete reply.
    pub(crate) acknowledged: BTreeSet<String>,
    /// All messages that were sent.
    all: BTreeSet<String>,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_acknowledged_is_lost_and_nothing_is_doubled() {
    let model = scripts::remembering_model().await;
    let home = Home::new();
    let settings = Settings::talking_to(&model).key("session.idle", "300ms");
    let seed = variable("ECHOVESSEL_SOAK_SEED").unwrap_or(7);
    let mut random = StdRng::seed_from_u64(seed);

    let mut daemon = Daemon::start(&home, &settings).await;
    let door = Arc::new(RwLock::new(daemon.door()));
    let enough = CancellationToken::new();
    let clients: Vec<Client> = (0..CLIENTS).map(|n| Client::start(n, seed, &door, &enough)).collect();
    let (began, asked_for) = (Instant::now(), variable("ECHOVESSEL_SOAK_ROUNDS"));
    let mut rounds = 0;
    while asked_for.map_or(began.elapsed() < KILLING, |asked_for| rounds < asked_for) {
        pause(Duration::from_millis(random.random_range(20..1_500))).await;
        daemon.kill();
        daemon = Daemon::start(&home, &settings).await;
        *door.write().unwrap() = daemon.door();
        rounds += 1;
    }
    enough.cancel();
    let mut sent = Vec::new();
    for client in clients {
        sent.push((client.user.clone(), client.end().await));
    }
    let acknowledged: usize = sent.iter().map(|(_, sent)| sent.acknowledged.len()).sum();
    println!("seed {seed}: {rounds} kills, {acknowledged} messages acknowledged");
    assert!(rounds > 3 && acknowledged > 50, "{rounds} kills and {acknowledged} messages prove nothing");

    for (user, sent) in &sent {
        all_work_finishes(&daemon, user).await;
        let history = daemon.history(user).await;
        every_message_is_there_once(sent, &history);
        every_turn_is_answered_once(&history);
        every_session_is_remembered_once(&daemon, user, &history).await;
    }
    daemon.post("/api/admin/stop", &json!({})).await;
    assert!(daemon.ended().await);
    nothing_is_orphaned(&home, &settings);
}

/// Speed and persona of a client.
#[derive(Clone)]
pub(crate) struct Pace {
    /// The client's persona.
    pub(crate) persona: String,
    /// Milliseconds between two messages.
    pub(crate) between: Range<u64>,
    /// Share of the messages after which the client pauses long enough to end the session.
    pub(crate) silences: f64,
    /// Length of such a pause, in milliseconds.
    pub(crate) silence: u64,
}

/// A client that sends messages until it is stopped, also while the daemon is down.
pub(crate) struct Client {
    pub(crate) user: String,
    sent: Arc<Mutex<Sent>>,
    talking: JoinHandle<()>,
}

impl Client {
    fn start(number: usize, seed: u64, door: &Arc<RwLock<Door>>, enough: &CancellationToken) -> Self {
        let pace = Pace { persona: "default".to_owned(), between: 5..80, silences: 0.2, silence: 500 };
        Self::start_with(number, seed, pace, door, enough)
    }

    pub(crate) fn start_with(
        number: usize,
        seed: u64,
        pace: Pace,
        door: &Arc<RwLock<Door>>,
        enough: &CancellationToken,
    ) -> Self {
        let (user, sent) = (format!("user-{number}"), Arc::<Mutex<Sent>>::default());
        let talk = talk(number, seed, pace, door.clone(), enough.clone(), sent.clone());
        Self { user, sent, talking: tokio::spawn(talk) }
    }

    pub(crate) async fn end(self) -> Sent {
        self.talking.await.unwrap();
        std::mem::take(&mut *self.sent.lock().unwrap())
    }
}

async fn talk(
    number: usize,
    seed: u64,
    pace: Pace,
    door: Arc<RwLock<Door>>,
    enough: CancellationToken,
    sent: Arc<Mutex<Sent>>,
) {
    let mut random = StdRng::seed_from_u64(seed ^ (number as u64 + 1));
    let user = format!("user-{number}");
    for line in 0.. {
        if enough.is_cancelled() {
            return;
        }
        let text = format!("I have a thing named {user}-{line}");
        sent.lock().unwrap().all.insert(text.clone());
        let door = door.read().unwrap().clone();
        // Every third client uses the OpenAI interface.
        let (path, body) = if number.is_multiple_of(3) {
            let mut body = completion(&user, &text);
            body["model"] = json!(pace.persona);
            ("/v1/chat/completions", body)
        } else {
            ("/api/chat/send", json!({"content": text, "user_id": user, "persona_id": pace.persona}))
        };
        let answered = answer(door.request(Method::POST, path).json(&body)).await;
        if answered.is_ok_and(|answer| matches!(answer.status, 200 | 202)) {
            sent.lock().unwrap().acknowledged.insert(text);
        }
        // Sometimes pauses long enough to end the session.
        let is_silence = random.random_bool(pace.silences);
        let silence = if is_silence { pace.silence } else { random.random_range(pace.between.clone()) };
        pause(Duration::from_millis(silence)).await;
    }
}

/// Waits until this user has no unfinished session, and fails if one has failed.
pub(crate) async fn all_work_finishes(door: &Door, user: &str) {
    within(SETTLING, "all sessions are closed", async || {
        let mut left = 0;
        for status in ["open", "closing", "consolidating"] {
            left += door.sessions(user, status).await.len();
        }
        (left == 0).then_some(())
    })
    .await;
    assert_eq!(door.sessions(user, "failed").await, [] as [Value; 0]);
}

pub(crate) fn every_message_is_there_once(sent: &Sent, history: &[Value]) {
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    for message in history.iter().filter(|message| message["role"] == "user") {
        *times.entry(message["content"].as_str().unwrap()).or_default() += 1;
    }
    for text in &sent.acknowledged {
        assert_eq!(times.get(text.as_str()), Some(&1), "{text} was acknowledged");
    }
    for (text, count) in times {
        assert!(count == 1 && sent.all.contains(text), "{text} is there {count} times");
    }
    let ids: BTreeSet<&str> = history.iter().map(|message| message["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), history.len(), "the history shows a message twice");
}

pub(crate) fn every_turn_is_answered_once(history: &[Value]) {
    let mut replies: BTreeMap<&str, usize> = BTreeMap::new();
    for message in history {
        let replies = replies.entry(message["turn_id"].as_str().unwrap()).or_default();
        *replies += usize::from(message["role"] == "persona");
    }
    let wrong: Vec<_> = replies.iter().filter(|(_, count)| **count != 1).collect();
    assert!(wrong.is_empty(), "turns with their number of replies: {wrong:?}");
}

pub(crate) async fn every_session_is_remembered_once(door: &Door, user: &str, history: &[Value]) {
    let of = |role: &str| -> BTreeSet<&str> {
        let messages = history.iter().filter(|message| role.is_empty() || message["role"] == role);
        messages.map(|message| message["session_id"].as_str().unwrap()).collect()
    };
    let events = door.events(user).await;
    let sources: Vec<&str> =
        events.iter().map(|event| event["source_session_id"].as_str().unwrap()).collect();
    let distinct: BTreeSet<&str> = sources.iter().copied().collect();
    assert_eq!(distinct.len(), sources.len(), "a session was remembered twice");
    assert_eq!(distinct, of("user"), "sessions remembered, and sessions in which {user} spoke");
    let descriptions: BTreeSet<&str> =
        events.iter().map(|event| event["description"].as_str().unwrap()).collect();
    assert_eq!(descriptions.len(), events.len(), "an event is there twice");
}

/// Checks that each row belongs to an existing one, and that all texts and counters are right.
pub(crate) fn nothing_is_orphaned(home: &Home, settings: &Settings) {
    let output = command(home, settings, &["doctor", "--json"]).output().unwrap();
    let findings: Value = serde_json::from_slice(&output.stdout).unwrap();
    let database = findings.as_array().unwrap().iter().find(|finding| finding["what"] == "database").unwrap();
    assert_eq!(database["ok"], true, "{findings}");
    // Another daemon on this machine may use the default port.
    let mut others = findings.as_array().unwrap().iter().filter(|finding| finding["what"] != "port");
    assert!(others.all(|finding| finding["ok"] == true), "{findings}");
}

pub(crate) fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().unwrap())
}
