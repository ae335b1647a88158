//! A home in a database on a PostgreSQL server, on the command line. `scripts/with-postgres` starts the server.

use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;
use testkit::postgres::{at_socket, fresh_database, fresh_home, query};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::command_line::run;
use crate::daemon::{Daemon, Home, Settings, eventually, pause, within};
use crate::scripts;

/// Settings with an empty database of their own.
fn on_server(settings: Settings) -> Settings {
    settings.key("storage.url", fresh_database().unwrap().unwrap())
}

/// The finding of `doctor` about the database.
async fn database_finding(home: &Home, settings: &Settings) -> Value {
    let ran = run(home, settings, &["doctor", "--json"]).await;
    let findings: Value = serde_json::from_str(&ran.out).unwrap();
    findings.as_array().unwrap().iter().find(|finding| finding["what"] == "database").unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a PostgreSQL server: scripts/with-postgres"]
async fn daemon_keeps_its_memory_on_server_across_kill() {
    let model = scripts::model().await;
    let (home, settings) = (Home::new(), on_server(Settings::talking_to(&model)));
    let empty = database_finding(&home, &settings).await;
    assert!(empty["said"].as_str().unwrap().contains("contains no home yet"), "{empty}");
    let daemon = Daemon::start(&home, &settings).await;
    let said = daemon.say("self", "my cat is called Biscuit").await;
    eventually("the turn is answered", async || {
        (daemon.receipt(&said.turn_id).await.status == 200).then_some(())
    })
    .await;
    let before = daemon.history("self").await;
    assert_eq!(before.len(), 2);
    let found = database_finding(&home, &settings).await;
    assert_eq!(found["ok"], true, "beside the daemon: {found}");
    let status = run(&home, &settings, &["status"]).await;
    assert!(status.code == 0 && status.out.contains("2 messages"), "{}", status.out);
    daemon.kill();
    assert!(!home.file("echovessel.db").exists(), "nothing is kept in a file");

    let daemon = Daemon::start(&home, &settings).await;
    assert_eq!(daemon.history("self").await, before);
    daemon.kill();
}

/// A proxy socket in front of the server's socket.
struct Proxy {
    folder: TempDir,
    silenced: watch::Sender<bool>,
    /// Ends with the proxy, together with its connections.
    _forwarding: JoinSet<()>,
}

impl Proxy {
    fn start() -> Self {
        let server = format!("{}/.s.PGSQL.5432", std::env::var("ECHOVESSEL_TEST_POSTGRES").unwrap());
        let folder = TempDir::new().unwrap();
        let listener = UnixListener::bind(folder.path().join(".s.PGSQL.5432")).unwrap();
        let (silenced, is_silenced) = watch::channel(false);
        let mut forwarding = JoinSet::new();
        forwarding.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((mut client, _)) = listener.accept().await {
                let mut server = UnixStream::connect(&server).await.unwrap();
                let mut is_silenced = is_silenced.clone();
                connections.spawn(async move {
                    tokio::select! {
                        _ended = tokio::io::copy_bidirectional(&mut client, &mut server) => return,
                        _silenced = is_silenced.changed() => {}
                    }
                    std::future::pending::<()>().await;
                });
            }
        });
        Self { folder, silenced, _forwarding: forwarding }
    }

    /// The address of this database through the proxy.
    fn address(&self, database: &str) -> String {
        at_socket(database, self.folder.path())
    }

    /// From now on the proxy accepts all bytes and forwards none.
    fn fall_silent(&self) {
        self.silenced.send_replace(true);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a PostgreSQL server: scripts/with-postgres"]
async fn daemon_ends_in_time_while_the_server_is_silent() {
    let (database, proxy) = (fresh_home().unwrap().unwrap(), Proxy::start());
    let (home, settings) = (Home::new(), Settings::offline().key("storage.url", proxy.address(&database)));
    let mut daemon = Daemon::start(&home, &settings).await;
    proxy.fall_silent();
    // A write and a read that wait.
    let waited = tokio::time::timeout(Duration::from_secs(1), daemon.say("self", "hello")).await;
    let began = Instant::now();
    daemon.signal("TERM");
    within(Duration::from_secs(40), "the daemon ends", async || daemon.try_ended()).await;
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    assert!(waited.is_err(), "the server was not silent");
    drop((daemon, proxy));

    // The next daemon opens the home at once.
    let daemon = Daemon::start(&home, &Settings::offline().key("storage.url", &database)).await;
    assert!(daemon.history("self").await.len() <= 1);
}

/// The server ends all connections repeatedly while clients write: each acknowledged message is stored once.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a PostgreSQL server: scripts/with-postgres"]
async fn acknowledged_writes_survive_lost_connections() {
    let database = fresh_database().unwrap().unwrap();
    let (home, settings) = (Home::new(), Settings::offline().key("storage.url", &database));
    let daemon = Daemon::start(&home, &settings).await;
    let cutting = async {
        for _ in 0..8 {
            pause(Duration::from_millis(150)).await;
            let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                       WHERE datname = current_database() AND pid <> pg_backend_pid()";
            query(&database, cut).unwrap();
        }
    };
    let door = daemon.door();
    let writing = futures_util::future::join_all((0..8).map(|caller| {
        let door = door.clone();
        async move {
            let mut acknowledged = Vec::new();
            for number in 0..12 {
                let text = format!("caller {caller} says {number}");
                let body = serde_json::json!({"content": text, "user_id": "self"});
                if door.try_post("/api/chat/send", &body).await.status == 202 {
                    acknowledged.push(text);
                }
            }
            acknowledged
        }
    }));
    let ((), acknowledged) = tokio::join!(cutting, writing);
    let acknowledged: Vec<String> = acknowledged.into_iter().flatten().collect();
    assert!(acknowledged.len() > 48, "{}", acknowledged.len());
    let stored = query(&database, "SELECT content FROM recall_messages WHERE role = 'user'").unwrap();
    for text in &acknowledged {
        assert_eq!(stored.iter().filter(|stored| *stored == text).count(), 1, "{text}");
    }
}

/// Files of the database that contain these bytes, of the relations that this query returns.
fn files_with(database: &str, words: &str, relations: &str) -> Vec<String> {
    query(database, "CHECKPOINT").unwrap();
    let data = std::path::Path::new(&std::env::var("ECHOVESSEL_TEST_POSTGRES").unwrap()).join("data");
    let names =
        format!("SELECT oid::regclass || '|' || pg_relation_filepath(oid) FROM pg_class WHERE {relations}");
    let holds = |line: &String| {
        let bytes = std::fs::read(data.join(line.split_once('|').unwrap().1)).unwrap();
        testkit::contains_words(&bytes, words)
    };
    query(database, &names).unwrap().into_iter().filter(holds).collect()
}

/// Freed blocks of tables belong to the operator. Keys of indexes and the planner's statistics are still in use, so
/// they are checked.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a PostgreSQL server: scripts/with-postgres"]
async fn erased_words_are_in_no_index_and_no_statistics() {
    const INDEXES: &str = "relkind = 'i' AND relnamespace = current_schema()::regnamespace";
    const STATISTICS: &str = "relname IN ('pg_statistic', 'pg_statistic_ext_data') OR oid =
        (SELECT reltoastrelid FROM pg_class WHERE relname = 'pg_statistic')";
    let database = fresh_database().unwrap().unwrap();
    let (home, settings) = (Home::new(), Settings::offline().key("storage.url", &database));
    let daemon = Daemon::start(&home, &settings).await;
    for number in 0..40 {
        daemon.say("self", &format!("the xylophonist plays again, evening {number}")).await;
    }
    query(&database, "ANALYZE").unwrap();
    assert!(!files_with(&database, "xylophonist", INDEXES).is_empty(), "the words were never in an index");
    assert_eq!(files_with(&database, "xylophonist", STATISTICS), [""; 0]);
    let forget = ["memory", "forget", "--text", "xylophonist", "--with-messages", "--yes"];
    run(&home, &settings, &forget).await.well();
    query(&database, "ANALYZE").unwrap();
    assert_eq!(files_with(&database, "xylophonist", INDEXES), [""; 0]);
    assert_eq!(files_with(&database, "xylophonist", STATISTICS), [""; 0]);
    daemon.say("self", "and the writing goes on").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a PostgreSQL server: scripts/with-postgres"]
async fn variable_without_password_is_named() {
    let (home, settings) = (Home::new(), on_server(Settings::offline()));
    let unset = settings.key("storage.password_env", "NO_SUCH_VARIABLE");
    let found = database_finding(&home, &unset).await;
    assert!(found["ok"] == false && found["said"].as_str().unwrap().contains("NO_SUCH_VARIABLE"), "{found}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a PostgreSQL server: scripts/with-postgres"]
async fn text_is_imported_into_server() {
    crate::import_pipeline::text_becomes_memory(on_server).await;
}

/// The address of an empty database whose user needs a password, and a file with the password.
fn with_password(home: &Home) -> (String, std::path::PathBuf) {
    let database = fresh_database().unwrap().unwrap();
    let user = format!("guest_{}", std::process::id());
    query(&database, &format!("DROP ROLE IF EXISTS {user}")).unwrap();
    query(&database, &format!("CREATE ROLE {user} LOGIN PASSWORD 'blue gate 7'")).unwrap();
    query(&database, &format!("GRANT ALL ON SCHEMA public TO {user}")).unwrap();
    let file = home.log().with_file_name("database-password");
    std::fs::write(&file, "blue gate 7\n").unwrap();
    (database.replace("user=echovessel", &format!("user={user}")), file)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a PostgreSQL server: scripts/with-postgres"]
async fn password_is_read_from_a_file() {
    let home = Home::new();
    let (url, file) = with_password(&home);
    let without = Settings::offline().key("storage.url", &url);
    let found = database_finding(&home, &without).await;
    assert!(found["said"].as_str().unwrap().contains("storage.password_file"), "{found}");
    let settings = without.key("storage.password_file", file.to_str().unwrap());
    let daemon = Daemon::start(&home, &settings).await;
    daemon.say("self", "hello").await;
    daemon.kill();

    std::fs::write(&file, "\n").unwrap();
    let found = database_finding(&home, &settings).await;
    assert!(found["said"].as_str().unwrap().contains("which is empty"), "{found}");
    let both = settings.key("storage.password_env", "HOME");
    let found = database_finding(&home, &both).await;
    assert!(found["said"].as_str().unwrap().contains("unset one of them"), "{found}");
}
