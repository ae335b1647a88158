//! A connection to the server that is cut or stalls: each acknowledged message is stored once.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use memory::identifiers::{MessageId, SessionId};
use memory::messages::Role;
use memory::ports::{CaptureStore as _, NewMessage, PersonaStore as _, StoreError, UserStore as _};
use memory::sessions::SessionPolicy;
use memory::{PersonaId, Scope, UserId};
use store::{HomeStore, ServerAddress, StoreOptions};
use tempfile::TempDir;
use testkit::postgres::{at_socket, fresh_home, query};
use uuid::Uuid;

use super::Outcome;

/// A moment at which the next writing connection is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// The server receives the commit, and the program never receives the answer.
    AfterCommit,
    /// The commit does not reach the server.
    BeforeCommit,
    /// This many messages of the program reach the server after the beginning of a transaction.
    AfterMessages(usize),
    /// No bytes are forwarded any more, without an error.
    Silence,
}

/// A proxy socket in front of the server's socket.
struct Proxy {
    folder: TempDir,
    next: Arc<Mutex<Option<Fault>>>,
    happened: Arc<AtomicUsize>,
}

impl Proxy {
    fn start() -> Outcome<Self> {
        let server = format!("{}/.s.PGSQL.5432", std::env::var("ECHOVESSEL_TEST_POSTGRES")?);
        let folder = TempDir::new()?;
        let listener = UnixListener::bind(folder.path().join(".s.PGSQL.5432"))?;
        let (next, happened) = (Arc::default(), Arc::new(AtomicUsize::new(0)));
        let proxy = Self { folder, next: Arc::clone(&next), happened: Arc::clone(&happened) };
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (next, happened) = (Arc::clone(&next), Arc::clone(&happened));
                let Ok(server) = UnixStream::connect(&server) else { continue };
                thread::spawn(move || forward(&client, &server, &next, &happened));
            }
        });
        Ok(proxy)
    }

    fn address(&self, database: &str) -> Outcome<ServerAddress> {
        Ok(ServerAddress::parse(&at_socket(database, self.folder.path()), None)?)
    }

    fn plan(&self, fault: Fault) {
        *self.next.lock().unwrap() = Some(fault);
    }
}

/// Forwards all bytes until the planned fault: it waits for the next transaction that records its number.
fn forward(
    client: &UnixStream,
    server: &UnixStream,
    next: &Mutex<Option<Fault>>,
    happened: &AtomicUsize,
) -> Option<()> {
    let (mut answers, mut to_client) = (server.try_clone().ok()?, client.try_clone().ok()?);
    let is_silent = Arc::new(AtomicUsize::new(0));
    let silent = Arc::clone(&is_silent);
    thread::spawn(move || {
        let mut bytes = [0; 16 * 1024];
        while let Ok(read @ 1..) = answers.read(&mut bytes) {
            if silent.load(Ordering::SeqCst) == 0 && to_client.write_all(&bytes[..read]).is_err() {
                break;
            }
        }
        let _ended = to_client.shutdown(Shutdown::Both);
    });
    let (mut from_client, mut to_server) = (client, server);
    let mut bytes = [0; 16 * 1024];
    let mut in_transaction: Option<usize> = None;
    while let Ok(read @ 1..) = from_client.read(&mut bytes) {
        let sent = &bytes[..read];
        let has = |words: &[u8]| sent.windows(words.len()).any(|window| window == words);
        let planned = *next.lock().unwrap();
        if has(b"BEGIN\0") {
            in_transaction = planned.is_some().then_some(0);
        }
        let count = in_transaction.as_mut().map(|count| {
            *count += 1;
            *count - 1
        });
        let cut = match (planned, count) {
            (Some(Fault::AfterCommit), Some(_)) if has(b"COMMIT") => {
                is_silent.store(1, Ordering::SeqCst);
                to_server.write_all(sent).ok()?;
                // The server does it before it notices that the connection is closed.
                thread::park_timeout(Duration::from_millis(100));
                true
            }
            (Some(Fault::BeforeCommit), Some(_)) => has(b"COMMIT"),
            (Some(Fault::AfterMessages(wanted)), Some(count)) => count >= wanted,
            (Some(Fault::Silence), Some(1..)) => {
                is_silent.store(1, Ordering::SeqCst);
                *next.lock().unwrap() = None;
                happened.fetch_add(1, Ordering::SeqCst);
                continue;
            }
            _ => false,
        };
        if cut {
            *next.lock().unwrap() = None;
            happened.fetch_add(1, Ordering::SeqCst);
            let _cut = (client.shutdown(Shutdown::Both), server.shutdown(Shutdown::Both));
            return None;
        }
        if is_silent.load(Ordering::SeqCst) == 0 {
            to_server.write_all(sent).ok()?;
        }
    }
    let _ended = server.shutdown(Shutdown::Both);
    None
}

pub(super) async fn open(address: &ServerAddress, options: StoreOptions) -> Outcome<(HomeStore, Scope)> {
    let store = HomeStore::open_on_server(address, options)?;
    let scope = Scope::new(PersonaId::new("luna")?, UserId::new("self")?);
    store.ensure_persona(&scope.persona, "Luna", Timestamp::UNIX_EPOCH).await?;
    store.ensure_user(&scope.user, Timestamp::UNIX_EPOCH).await?;
    Ok((store, scope))
}

/// A second one would be refused, because its id exists.
pub(super) fn message(scope: &Scope, number: u128) -> NewMessage {
    let at = Timestamp::from_second(1_700_000_000).unwrap_or_default();
    NewMessage {
        id: MessageId(Uuid::from_u128(number)),
        session_id_if_new: SessionId(Uuid::from_u128(1_000_000 + number)),
        scope: scope.clone(),
        channel_id: "web".to_owned(),
        turn_id: None,
        role: Role::User,
        speaker: None,
        content: format!("message {number}"),
        token_count: 1,
        terms: format!("message {number}"),
        day: jiff::civil::date(2024, 10, 4),
        created_at: at,
        incomplete: false,
        external_ref: None,
        channel_write: None,
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a PostgreSQL server: scripts/with-postgres"]
async fn acknowledged_writes_are_stored_once_wherever_the_connection_is_cut() -> Outcome {
    let database = fresh_home()?.ok_or("run this test by scripts/with-postgres")?;
    let proxy = Proxy::start()?;
    let (store, scope) = open(&proxy.address(&database)?, StoreOptions::default()).await?;
    let faults = [Fault::AfterCommit, Fault::BeforeCommit].into_iter();
    let faults: Vec<Fault> = faults.chain((0..16).map(Fault::AfterMessages)).collect();
    // A message of the persona takes other steps than one of the user.
    let cases = faults.iter().flat_map(|fault| [(fault, Role::User), (fault, Role::Persona)]);
    for (number, (fault, role)) in (1_u128..).zip(cases) {
        proxy.plan(*fault);
        let message = NewMessage { role, ..message(&scope, number) };
        let stored = store.capture(message, SessionPolicy::default(), None).await;
        stored.map_err(|error| format!("{fault:?}, {role:?}: {error}"))?;
    }
    assert!(proxy.happened.load(Ordering::SeqCst) >= 14, "{}", proxy.happened.load(Ordering::SeqCst));
    let stored = query(&database, "SELECT count(*), count(DISTINCT id) FROM recall_messages")?;
    assert_eq!(stored, [format!("{0}|{0}", 2 * faults.len())]);

    // Many at once, in one group.
    proxy.plan(Fault::AfterCommit);
    let many =
        (100..150).map(|number| store.capture(message(&scope, number), SessionPolicy::default(), None));
    for stored in futures_util::future::join_all(many).await {
        stored?;
    }
    let stored = query(&database, "SELECT count(*) FROM recall_messages")?;
    assert_eq!(stored, [(2 * faults.len() + 50).to_string()]);
    store.close().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a PostgreSQL server: scripts/with-postgres"]
async fn refused_messages_cost_no_other_of_their_group() -> Outcome {
    let database = fresh_home()?.ok_or("run this test by scripts/with-postgres")?;
    let (store, scope) = open(&ServerAddress::parse(&database, None)?, StoreOptions::default()).await?;
    store.capture(message(&scope, 1), SessionPolicy::default(), None).await?;
    let elsewhere = Scope::new(PersonaId::new("nobody")?, scope.user.clone());
    // Every fourth has an existing id, and every fifth a persona that does not exist.
    let messages = (2..66_u128).map(|number| match (number % 4, number % 5) {
        (0, _) => NewMessage { id: MessageId(Uuid::from_u128(1)), ..message(&scope, number) },
        (_, 0) => message(&elsewhere, number),
        _ => message(&scope, number),
    });
    let captured = messages.map(|message| store.capture(message, SessionPolicy::default(), None));
    let outcomes = futures_util::future::join_all(captured).await;
    for (number, outcome) in (2..66).zip(&outcomes) {
        assert_eq!(outcome.is_err(), number % 4 == 0 || number % 5 == 0, "{number}: {outcome:?}");
    }
    let stored = query(&database, "SELECT count(*), count(DISTINCT id) FROM recall_messages")?;
    let expected = 1 + outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    assert_eq!(stored, [format!("{expected}|{expected}")]);
    let counted = query(&database, "SELECT sum(message_count) FROM scopes")?;
    assert_eq!(counted, [expected.to_string()]);
    store.close().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a PostgreSQL server: scripts/with-postgres"]
async fn silence_of_the_network_holds_nobody_up_for_long() -> Outcome {
    let database = fresh_home()?.ok_or("run this test by scripts/with-postgres")?;
    let proxy = Proxy::start()?;
    let options = StoreOptions { answer_limit: Duration::from_secs(1), ..StoreOptions::default() };
    let (store, scope) = open(&proxy.address(&database)?, options).await?;
    let began = Instant::now();
    proxy.plan(Fault::Silence);
    store.capture(message(&scope, 1), SessionPolicy::default(), None).await?;
    // The stalled transaction locks the row that the next one needs, until the server ends it.
    assert!(began.elapsed() < Duration::from_secs(25), "{:?}", began.elapsed());
    assert_eq!(query(&database, "SELECT count(*) FROM recall_messages")?, ["1"]);
    store.close().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a PostgreSQL server: scripts/with-postgres"]
async fn one_program_writes_at_a_time() -> Outcome {
    let database = fresh_home()?.ok_or("run this test by scripts/with-postgres")?;
    let address = ServerAddress::parse(&database, None)?;
    let (first, scope) = open(&address, StoreOptions::default()).await?;
    let refused = HomeStore::open_on_server(&address, StoreOptions::default());
    assert!(matches!(&refused, Err(StoreError::Unusable(reason)) if reason.contains("another EchoVessel")));
    // Also while it is in a transaction that takes long.
    let lock = "BEGIN; SELECT 1 FROM writer FOR UPDATE; SELECT pg_sleep(30)";
    let mut locking = std::process::Command::new("psql").args(["-qAt", "-c", lock, &database]).spawn()?;
    let locked =
        "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(30)%' AND pid <> pg_backend_pid()";
    while query(&database, locked)? != ["1"] {}
    let refused = HomeStore::open_on_server(&address, StoreOptions::default());
    locking.kill()?;
    locking.wait()?;
    query(
        &database,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(30)%' AND pid <> pg_backend_pid()",
    )?;
    assert!(matches!(&refused, Err(StoreError::Unusable(reason)) if reason.contains("another EchoVessel")));
    first.close().await?;
    let began = Instant::now();
    let (second, _) = open(&address, StoreOptions::default()).await?;
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());

    // A program that was replaced, as after too long a pause, writes nothing any more.
    query(&database, "UPDATE writer SET program = gen_random_uuid()")?;
    let refused = second.capture(message(&scope, 1), SessionPolicy::default(), None).await;
    assert!(matches!(&refused, Err(StoreError::Unusable(reason)) if reason.contains("another EchoVessel")));
    assert_eq!(query(&database, "SELECT count(*) FROM recall_messages")?, ["0"]);
    second.close().await?;

    // A program without a heartbeat for long enough is replaced.
    query(&database, "UPDATE writer SET seen_at = now() - interval '21 seconds', process = NULL")?;
    let (third, _) = open(&address, StoreOptions::default()).await?;
    third.capture(message(&scope, 2), SessionPolicy::default(), None).await?;
    third.close().await?;
    Ok(())
}
