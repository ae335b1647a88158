//! A home that moves from a file to a PostgreSQL server and back. `scripts/with-postgres` starts the server.

use serde_json::json;
use testkit::postgres::{fresh_database, query};

use crate::command_line::run;
use crate::daemon::{Daemon, Home, Settings};
use crate::export::{assert_same, attentive_model, fill, read_at_rest};
use crate::watcher::say;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a PostgreSQL server: scripts/with-postgres"]
async fn home_that_moves_to_server_and_back_answers_the_same() {
    let (home, model) = (Home::new(), attentive_model().await);
    let in_file = Settings::talking_to(&model).key("storage.url", "sqlite");
    fill(&home, &in_file).await;
    let before = read_at_rest(&home, &in_file).await;

    let database = fresh_database().unwrap().unwrap();
    let there = run(&home, &in_file, &["storage", "copy", "sqlite", &database, "--json"]).await.json();
    assert_eq!((&there["messages"], &there["memories"]), (&json!(3), &json!(2)), "{there}");
    let on_server = in_file.clone().key("storage.url", &database);
    assert_same(&before, &read_at_rest(&home, &on_server).await);
    let refused = run(&home, &in_file, &["storage", "copy", "sqlite", &database]).await;
    assert!(refused.code == 1 && refused.err.contains("already contains a home"), "{}", refused.err);

    // Rows written there get numbers that were never used.
    let daemon = Daemon::start(&home, &on_server).await;
    say(&daemon, &["Pepper has learned to swim"]).await;
    run(&home, &on_server, &["stop"]).await.well();
    drop(daemon);
    let before = read_at_rest(&home, &on_server).await;
    let file = home.path().parent().unwrap().join("back.db");
    let address = format!("sqlite://{}", file.display());
    let back = run(&home, &on_server, &["storage", "copy", &database, &address, "--json"]).await.json();
    assert_eq!(back["messages"], json!(5), "{back}");
    assert_eq!(back["tables"], there["tables"]);
    let refused = run(&home, &on_server, &["storage", "copy", &database, &address]).await;
    assert!(refused.code == 1 && refused.err.contains("was not changed"), "{}", refused.err);
    let in_copy = in_file.key("storage.url", &address);
    assert!(run(&home, &in_copy, &["doctor", "--json"]).await.out.contains("intact"));
    assert_same(&before, &read_at_rest(&home, &in_copy).await);
    let daemon = Daemon::start(&home, &in_copy).await;
    say(&daemon, &["and she likes it"]).await;
    assert_eq!(daemon.history("self").await.len(), 7);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a PostgreSQL server: scripts/with-postgres"]
async fn copies_that_are_refused_change_nothing() {
    let (home, other) = (Home::new(), Home::new());
    let settings = Settings::offline().key("storage.url", "sqlite");
    let daemon = Daemon::start(&home, &settings).await;
    say(&daemon, &["my cat is called Ofelia"]).await;
    let database = fresh_database().unwrap().unwrap();
    let tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'";
    let file = format!("sqlite://{}", home.file("echovessel.db").display());
    for used in [&home, &other] {
        let refused = run(used, &settings, &["storage", "copy", &file, &database]).await;
        assert_eq!(refused.code, 3, "a daemon was running: {}", refused.err);
    }
    run(&home, &settings, &["stop"]).await.well();
    for (from, to, reason) in [
        ("sqlite", "postgres://ann:secret@localhost/home", "contains a password"),
        ("sqlite:///nowhere/home.db", &database, "can't be read"),
        ("sqlite", "a file", "is not a database address"),
        (&database, "sqlite:///tmp/never-written.db", "contains no home yet"),
        ("sqlite", "sqlite", "was not changed"),
    ] {
        let refused = run(&home, &settings, &["storage", "copy", from, to]).await;
        assert!(refused.code == 1 && refused.err.contains(reason), "{reason}: {}", refused.err);
        assert!(!refused.err.contains("secret"), "{}", refused.err);
    }
    assert!(query(&database, tables).unwrap().is_empty(), "a refused copy has written");

    let on_server = settings.clone().key("storage.url", &database);
    let daemon = Daemon::start(&other, &on_server).await;
    let refused =
        run(&home, &settings, &["storage", "copy", &database, "sqlite:///tmp/never-written.db"]).await;
    assert!(refused.code == 1 && refused.err.contains("another EchoVessel uses it"), "{}", refused.err);
    drop(daemon);
    assert!(!std::path::Path::new("/tmp/never-written.db").exists());
}
