//! Prints the cost of storage on this machine, each figure beside its aim: `cargo bench -p store`.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use jiff::Timestamp;
use jiff::civil::date;
use memory::identifiers::{MessageId, NodeId, SessionId};
use memory::messages::{Message, Role};
use memory::nodes::{Evidence, NewNode, NodeKind, Subject};
use memory::ports::{
    CaptureStore, ConsolidationStore, Corpus, Embedding, EmbeddingStore, ExtractionCommit, MessageStore,
    NewMessage, PersonaStore, Phrase, RecallStore, SessionStore, StoreError, UserStore, VectorIndexStore,
};
use memory::sessions::{CloseTrigger, SessionPolicy};
use memory::{PersonaId, Scope, UserId};
use store::{HomeStore, ServerAddress, StoreOptions};
use tempfile::TempDir;
use testkit::postgres::fresh_database;
use uuid::Uuid;

const MESSAGES: usize = 100_000;
const MESSAGES_ON_SERVER: usize = 10_000;
const NODES: usize = 100_000;
const TASKS: usize = 64;
const MODEL: &str = "bench";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(run())
}

async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let bench = Arc::new(Bench::open().await?);
    println!("{:<58} {:>12}   60 MB", "resident memory after opening", resident());
    print(
        "fsync of 4 KiB on this disk, p50",
        median(100, || async { flush(&bench) }).await?,
        "(the floor of a capture)",
    );
    print("capture, one caller, p50", median(400, || bench.capture(bench.line(0))).await?, "1 ms");

    let (seconds, commits) = bench.talk(MESSAGES / TASKS).await?;
    let all = MESSAGES / TASKS * TASKS;
    println!(
        "{:<58} {:>10.0}/s   5000/s",
        format!("capture, {TASKS} callers, {commits} commits for {all}"),
        all as f64 / seconds
    );

    capture_on_server().await?;

    let scope = &bench.scope;
    for (name, terms) in [("commonest word", "every"), ("word of 1 in 10", "tenth3"), ("rare word", "line77")]
    {
        let phrases = [Phrase(vec![terms.to_owned()])];
        let hits = bench.store.phrase_hits(scope, Corpus::Messages, &phrases, 200).await?;
        let time = median(50, || bench.store.phrase_hits(scope, Corpus::Messages, &phrases, 200)).await?;
        print(
            &format!("phrase_hits, {name} ({}), {all} messages", hits.1[0].document_frequency),
            time,
            "3 ms",
        );
    }
    let phrases = [Phrase(vec!["every".to_owned(), "message".to_owned()])];
    let time = median(50, || bench.store.phrase_hits(scope, Corpus::Messages, &phrases, 200)).await?;
    print("phrase_hits, two terms that always stand together", time, "");
    let time = median(100, || bench.store.messages_before(scope, None, 40)).await?;
    print("messages_before, 40 rows", time, "");
    let time = median(50, || bench.store.messages_without_vector(MODEL, 32)).await?;
    print("messages_without_vector, 32 rows", time, "");

    let seconds = bench.remember(NODES).await?;
    println!("{:<58} {:>10.0}/s", format!("commit of events with vectors, {NODES}"), NODES as f64 / seconds);
    let seqs: Vec<i64> = (0..300).map(|number| (number * 7_919 % NODES as i64) + 1).collect();
    print(
        "nodes_numbered, 300 rows of 100000",
        median(50, || bench.store.nodes_numbered(scope, &seqs)).await?,
        "",
    );
    let time = median(50, || bench.store.vectors_numbered(scope, Corpus::Nodes, MODEL, &seqs)).await?;
    print("vectors_numbered, 300 rows of 100000", time, "");
    let newest =
        bench.store.vectors_after(scope, Corpus::Nodes, MODEL, NODES as i64 - 1, 9).await?[0].revision;
    let time = median(100, || bench.store.vectors_after(scope, Corpus::Nodes, MODEL, newest, 1_000)).await?;
    print("vectors_after, nothing new", time, "");
    let time = median(50, || bench.store.nodes_without_vector(MODEL, 32)).await?;
    print("nodes_without_vector, none", time, "");

    bench.store.checkpoint().await?;
    let size = std::fs::metadata(bench.folder.path().join("home.db"))?.len();
    println!("{:<58} {:>9.0} MB", "file", size as f64 / 1e6);
    println!("{:<58} {:>12}   60 MB", "resident memory with full caches", resident());
    let time = median(3, || bench.store.vectors_after(scope, Corpus::Nodes, MODEL, 0, u32::MAX)).await?;
    print("vectors_after, all 100000 at once", time, "");
    Ok(())
}

/// Prints the captures per second on a server, if `ECHOVESSEL_TEST_POSTGRES` names one.
async fn capture_on_server() -> Result<(), Box<dyn std::error::Error>> {
    let Some(database) = fresh_database()? else { return Ok(()) };
    let store = HomeStore::open_on_server(&ServerAddress::parse(&database, None)?, StoreOptions::default())?;
    let on_server = Arc::new(Bench::with(store).await?);
    let (seconds, _) = on_server.talk(MESSAGES_ON_SERVER / TASKS).await?;
    let all = MESSAGES_ON_SERVER / TASKS * TASKS;
    let trips = on_server.store.round_trips() as f64 / all as f64;
    println!(
        "{:<58} {:>10.0}/s   1500/s",
        format!("capture on a server, {TASKS} callers, {trips:.2} round trips each"),
        all as f64 / seconds
    );
    Ok(on_server.store.close().await?)
}

struct Bench {
    folder: TempDir,
    store: HomeStore,
    scope: Scope,
    made: AtomicU64,
}

impl Bench {
    async fn open() -> Result<Self, Box<dyn std::error::Error>> {
        let folder = TempDir::new()?;
        let store = HomeStore::open(&folder.path().join("home.db"), StoreOptions::default())?;
        Ok(Self { folder, ..Self::with(store).await? })
    }

    async fn with(store: HomeStore) -> Result<Self, Box<dyn std::error::Error>> {
        let folder = TempDir::new()?;
        let scope = Scope::new(PersonaId::new("luna")?, UserId::new("self")?);
        store.ensure_persona(&scope.persona, "Luna", at(0)).await?;
        store.ensure_user(&scope.user, at(0)).await?;
        Ok(Self { folder, store, scope, made: AtomicU64::new(1) })
    }

    /// A message of about twelve words, as people write them.
    fn line(&self, channel: usize) -> NewMessage {
        let number = self.made.fetch_add(2, Ordering::Relaxed);
        // Distributed like real ids, which begin with the time.
        let id = |number: u64| {
            Uuid::from_u128(u128::from(number) << 64 | u128::from(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
        };
        let content = format!(
            "every message has words number{number} tenth{} and line{} about the thing that was said{}",
            number % 20,
            number % 997,
            number % 4_999
        );
        NewMessage {
            id: MessageId(id(number)),
            session_id_if_new: SessionId(id(number + 1)),
            scope: self.scope.clone(),
            channel_id: format!("channel {channel}"),
            turn_id: None,
            role: Role::User,
            speaker: None,
            token_count: 15,
            terms: content.clone(),
            content,
            day: date(2024, 10, 4),
            created_at: at(i64::try_from(number / 10).unwrap_or(0)),
            incomplete: false,
            external_ref: None,
            channel_write: None,
        }
    }

    async fn capture(&self, line: NewMessage) -> Result<Message, StoreError> {
        Ok(self.store.capture(line, SessionPolicy::default(), None).await?.message)
    }

    /// Seconds, and the number of commits.
    async fn talk(self: &Arc<Self>, lines: usize) -> Result<(f64, u64), Box<dyn std::error::Error>> {
        let (started, before) = (Instant::now(), self.store.commits());
        let talker = |task| {
            let bench = Arc::clone(self);
            tokio::spawn(async move {
                for _ in 0..lines {
                    bench.capture(bench.line(task)).await?;
                }
                Ok::<_, StoreError>(())
            })
        };
        for task in join_all((0..TASKS).map(talker)).await {
            task??;
        }
        Ok((started.elapsed().as_secs_f64(), self.store.commits() - before))
    }

    /// Fills the scope with events, those of many sessions in each commit.
    async fn remember(&self, count: usize) -> Result<f64, Box<dyn std::error::Error>> {
        let mut seconds = 0.0;
        for part in 0..count / 500 {
            // Older than all others, so that it is claimed first.
            let line = NewMessage { created_at: at(i64::try_from(part)? - 9_999_999), ..self.line(TASKS) };
            let message = self.capture(line).await?;
            self.store.end_session(message.session_id, CloseTrigger::Explicit).await?;
            let session = self.store.claim_closing_session(at(0)).await?.ok_or("no session to claim")?;
            let commit = ExtractionCommit {
                nodes: (0..500).map(|_| self.event(&message)).collect(),
                fingerprint: Some(MODEL.to_owned()),
                ..ExtractionCommit::empty(session.id, self.scope.clone(), at(i64::try_from(part)?))
            };
            let started = Instant::now();
            self.store.commit_extraction(commit).await?;
            seconds += started.elapsed().as_secs_f64();
        }
        Ok(seconds)
    }

    fn event(&self, message: &Message) -> NewNode {
        let line = self.line(0);
        NewNode {
            id: NodeId(line.id.0),
            kind: NodeKind::Event,
            description: line.content,
            emotional_impact: 3,
            emotion_tags: vec!["joy".to_owned(), "relief".to_owned()],
            relational_tags: Vec::new(),
            subject: Subject::User,
            event_time: None,
            evidence: vec![Evidence {
                message_id: message.id,
                quote: "every message".to_owned(),
                start: 0,
                end: 13,
            }],
            filling: Vec::new(),
            terms: line.terms,
            embedding: Some(Embedding { vector: vec![0.051; 384], readability: 1.0 }),
        }
    }
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + seconds).unwrap_or(Timestamp::UNIX_EPOCH)
}

async fn median<T, E, F>(times: usize, mut work: impl FnMut() -> F) -> Result<Duration, E>
where
    F: Future<Output = Result<T, E>>,
{
    let mut taken = Vec::with_capacity(times);
    for _ in 0..times {
        let started = Instant::now();
        work().await?;
        taken.push(started.elapsed());
    }
    taken.sort_unstable();
    Ok(taken[times / 2])
}

/// Cost of one durable write on this disk, without a database.
fn flush(bench: &Bench) -> std::io::Result<()> {
    use std::io::Write;

    let mut file =
        std::fs::OpenOptions::new().create(true).append(true).open(bench.folder.path().join("probe"))?;
    file.write_all(&[1; 4_096])?;
    file.sync_data()
}

fn print(what: &str, time: Duration, aim: &str) {
    println!("{what:<58} {:>9.3} ms   {aim}", time.as_secs_f64() * 1e3);
}

/// Resident memory as reported by Linux.
fn resident() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib: Option<f64> = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
    kib.map_or_else(|| "unknown".to_owned(), |kib| format!("{:.0} MB", kib / 1_024.0))
}
