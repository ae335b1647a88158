//! A home in a database on a PostgreSQL server, at the command line. `scripts/with-postgres` starts the server.

use serde_json::Value;
use testkit::postgres::fresh_database;

use crate::command_line::run;
use crate::daemon::{Daemon, Home, Settings, eventually};
use crate::scripts;

/// Settings with an empty database of their own.
fn on_server(settings: Settings) -> Settings {
    settings.key("storage.url", fresh_database().unwrap().unwrap())
}

/// What doctor finds of the database.
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
    assert!(empty["said"].as_str().unwrap().contains("holds no home yet"), "{empty}");
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

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a PostgreSQL server: scripts/with-postgres"]
async fn second_daemon_on_one_database_is_refused() {
    let settings = on_server(Settings::offline());
    let (first, second) = (Home::new(), Home::new());
    let _daemon = Daemon::start(&first, &settings).await;
    let ran = run(&second, &settings, &["run", "--port", "0", "--no-open"]).await;
    assert_ne!(ran.code, 0);
    assert!(ran.err.contains("another EchoVessel has it"), "{}", ran.err);
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
