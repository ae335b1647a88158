//! Backup and restore through the command line.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::command_line::run;
use crate::daemon::{Daemon, Home, Settings, command, pause};
use crate::watcher::say;

const KEPT: &str = "my cat is called Ofelia";
const SECRET: &str = "the safe opens with bluedolphin";

async fn history(home: &Home, settings: &Settings) -> Value {
    run(home, settings, &["memory", "list", "messages", "--json", "--limit", "50"]).await.json()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn backup_of_running_home_is_restored_and_what_was_erased_since_stays_erased() {
    let (home, settings) = (Home::new(), Settings::offline());
    let daemon = Daemon::start(&home, &settings).await;
    say(&daemon, &[KEPT, SECRET]).await;
    let file = home.path().parent().unwrap().join("copy.db");
    let path = file.to_str().unwrap();
    let copied = run(&home, &settings, &["backup", path, "--json"]).await.json();
    assert_eq!(copied["messages"], json!(4), "{copied}");
    let again = run(&home, &settings, &["backup", path]).await;
    assert!(again.code == 1 && again.err.contains("was not changed"), "{}", again.err);

    say(&daemon, &["this was said after the backup"]).await;
    let refused = run(&home, &settings, &["restore", path, "--yes"]).await;
    assert_eq!(refused.code, 3, "restored under a running daemon: {}", refused.out);
    run(&home, &settings, &["memory", "forget", "--text", "bluedolphin", "--with-messages", "--yes"])
        .await
        .well();
    let erased = history(&home, &settings).await.to_string();
    assert!(!erased.contains("bluedolphin"), "{erased}");
    run(&home, &settings, &["stop"]).await.well();

    let refused = run(&home, &settings, &["restore", path]).await;
    assert!(refused.code == 1 && refused.err.contains("--yes"), "{}", refused.err);
    let restored = run(&home, &settings, &["restore", path, "--yes", "--json"]).await.json();
    assert_eq!(restored["receipts_applied"], json!(1), "{restored}");
    assert!(fs::metadata(restored["kept_aside"].as_str().unwrap()).is_ok(), "{restored}");
    let shown = history(&home, &settings).await.to_string();
    assert!(shown.contains(KEPT) && !shown.contains("after the backup"), "{shown}");
    assert!(!shown.contains("bluedolphin"), "{shown}");
    assert!(!home.holds("bluedolphin"), "the database still holds erased words");
    assert!(run(&home, &settings, &["doctor", "--json"]).await.out.contains("intact"));
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_that_were_erased_since_a_backup_stay_erased() {
    let (home, settings) = (Home::new(), Settings::offline());
    let beside = home.path().parent().unwrap().to_owned();
    let (letter, copy) = (beside.join("letter.md"), beside.join("copy.db"));
    fs::write(&letter, "# 2026-01-05\n\nThe greenlantern was left on the pier.\n").unwrap();
    let _daemon = Daemon::start(&home, &settings).await;
    let imported =
        run(&home, &settings, &["import", letter.to_str().unwrap(), "--yes", "--json"]).await.json();
    assert_eq!(imported["documents"], json!(1), "{imported}");
    run(&home, &settings, &["backup", copy.to_str().unwrap()]).await.well();
    let nothing = run(&home, &settings, &["memory", "forget", "significant/2025*", "--yes"]).await;
    assert!(nothing.code == 1 && nothing.err.contains("no document"), "{}", nothing.err);
    let receipt =
        run(&home, &settings, &["memory", "forget", "significant/2026-01-*", "--yes", "--json"]).await.json();
    assert_eq!(receipt["counts"]["documents"], json!(1), "{receipt}");
    run(&home, &settings, &["stop"]).await.well();
    run(&home, &settings, &["restore", copy.to_str().unwrap(), "--yes"]).await.well();
    assert!(!home.holds("greenlantern"), "an old copy brought it back");
}

#[tokio::test(flavor = "multi_thread")]
async fn encrypted_backup_opens_with_its_passphrase_alone() {
    let (home, settings) = (Home::new(), Settings::offline().variable("BACKUP_SECRET", "correct horse"));
    let daemon = Daemon::start(&home, &settings).await;
    say(&daemon, &[KEPT]).await;
    let unset = run(&home, &settings, &["backup", "--passphrase-env", "NO_SUCH_VARIABLE"]).await;
    assert!(unset.code == 1 && unset.err.contains("NO_SUCH_VARIABLE"), "{}", unset.err);
    run(&home, &settings, &["backup", "--passphrase-env", "BACKUP_SECRET"]).await.well();
    run(&home, &settings, &["stop"]).await.well();
    let folder = home.file("backups");
    let name = names(&folder).pop().unwrap();
    assert!(name.ends_with(".db.age"), "{name}");
    let file = folder.join(name);
    let bytes = fs::read(&file).unwrap();
    assert!(bytes.starts_with(b"age-encryption.org/v1\n"));
    assert!(!testkit::contains_words(&bytes, "Ofelia"));
    let path = file.to_str().unwrap();

    let before = history(&home, &settings).await;
    let refused = run(&home, &settings, &["restore", path, "--yes"]).await;
    assert!(refused.code == 1 && refused.err.contains("--passphrase-env"), "{}", refused.err);
    let wrong = settings.variable("BACKUP_SECRET", "wrong");
    let refused = run(&home, &wrong, &["restore", path, "--yes", "--passphrase-env", "BACKUP_SECRET"]).await;
    assert!(refused.code == 1 && refused.err.contains("passphrase is wrong"), "{}", refused.err);
    assert!(refused.err.contains("nothing was changed"), "{}", refused.err);
    let right = wrong.variable("BACKUP_SECRET", "correct horse");
    run(&home, &right, &["restore", path, "--yes", "--passphrase-env", "BACKUP_SECRET"]).await.well();
    assert_eq!(history(&home, &right).await, before);
    let left: Vec<String> = names(&home.path())
        .into_iter()
        .filter(|name| name.contains("partial") || name == "plain-copy")
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn plain_copies_are_of_one_command_and_do_not_stay_behind() {
    let (home, settings) = (Home::new(), Settings::offline().variable("BACKUP_SECRET", "correct horse"));
    let daemon = Daemon::start(&home, &settings).await;
    say(&daemon, &[KEPT]).await;
    let plain = home.file("plain-copy").join("copy.new");
    fs::create_dir(home.file("plain-copy")).unwrap();
    let other_command = fs::File::create(home.file("plain-copy.lock")).unwrap();
    other_command.try_lock().unwrap();
    fs::write(&plain, KEPT).unwrap();
    let refused = run(&home, &settings, &["backup", "--passphrase-env", "BACKUP_SECRET"]).await;
    assert!(refused.code == 1 && refused.err.contains("another encrypted backup"), "{}", refused.err);
    assert_eq!(fs::read_to_string(&plain).unwrap(), KEPT, "the copy of another command is in use");

    // The waiting command is killed, and the daemon starts again.
    drop(other_command);
    daemon.kill();
    let _daemon = Daemon::start(&home, &settings).await;
    assert!(!home.file("plain-copy").exists(), "a plain copy stays behind");
    run(&home, &settings, &["backup", "--passphrase-env", "BACKUP_SECRET"]).await.well();
    assert!(!home.file("plain-copy").exists());
}

fn is_backup(name: &str) -> bool {
    name.ends_with(".db") || name.ends_with(".db.age")
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_backups_leave_no_words_and_no_half_of_a_file() {
    let (home, settings) = (Home::new(), Settings::offline().variable("BACKUP_SECRET", "correct horse"));
    let daemon = Daemon::start(&home, &settings).await;
    say(&daemon, &[KEPT]).await;
    let kinds = [&["backup", "--passphrase-env", "BACKUP_SECRET"][..], &["backup"]];
    for (milliseconds, kind) in
        [10, 40, 80, 160, 320, 640].iter().flat_map(|at| kinds.map(|kind| (*at, kind)))
    {
        let mut process = command(&home, &settings, kind)
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        pause(std::time::Duration::from_millis(milliseconds)).await;
        process.kill().unwrap();
        process.wait().unwrap();
    }
    run(&home, &settings, &["backup", "--passphrase-env", "BACKUP_SECRET"]).await.well();
    assert!(!home.file("plain-copy").exists(), "a plain copy stays behind");
    let left: Vec<String> =
        names(&home.file("backups")).into_iter().filter(|name| !is_backup(name)).collect();
    assert!(left.is_empty(), "{left:?}");
    run(&home, &settings, &["stop"]).await.well();

    // A start also removes unfinished backups. Other files in the folder stay.
    for ending in ["new", "copied", "partial"] {
        for beside in ["", "-journal", "-wal", "-shm"] {
            let name = format!("echovessel-20260101T000000Z.{ending}{beside}");
            fs::write(home.file("backups").join(name), KEPT).unwrap();
        }
    }
    fs::write(home.file("backups").join("echovessel-20260101T000000Z.db.bak"), KEPT).unwrap();
    let daemon = Daemon::start(&home, &settings).await;
    run(&home, &settings, &["stop"]).await.well();
    drop(daemon);
    let left: Vec<String> =
        names(&home.file("backups")).into_iter().filter(|name| !is_backup(name)).collect();
    assert_eq!(left, ["echovessel-20260101T000000Z.db.bak"]);

    let before = history(&home, &settings).await;
    for name in names(&home.file("backups")).into_iter().filter(|name| is_backup(name)) {
        let file = home.file("backups").join(name);
        let arguments = ["restore", file.to_str().unwrap(), "--yes", "--passphrase-env", "BACKUP_SECRET"];
        let other = Home::new();
        run(&other, &settings, &arguments).await.well();
        assert_eq!(history(&other, &settings).await, before, "{arguments:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn restored_databases_are_not_mixed_with_the_log_of_a_lost_one() {
    let (home, settings) = (Home::new(), Settings::offline());
    if home.is_on_server() {
        // The log of a database server belongs to its operator.
        return;
    }
    let daemon = Daemon::start(&home, &settings).await;
    say(&daemon, &[KEPT]).await;
    run(&home, &settings, &["backup"]).await.well();
    say(&daemon, &["The lighthouse is painted blue now."]).await;
    daemon.kill();
    assert!(
        fs::metadata(home.file("echovessel.db-wal")).unwrap().len() > 0,
        "the log holds the later message"
    );
    fs::remove_file(home.file("echovessel.db")).unwrap();
    let backup = home.file("backups").join(names(&home.file("backups")).pop().unwrap());
    let said = run(&home, &settings, &["restore", backup.to_str().unwrap(), "--yes"]).await.well();
    assert!(said.contains("a log without its database is kept"), "{said}");
    let restored = history(&home, &settings).await.to_string();
    assert!(restored.contains(KEPT) && !restored.contains("lighthouse"), "{restored}");
    let checked = run(&home, &settings, &["doctor", "--json"]).await;
    assert!(!checked.out.contains("damaged"), "{}", checked.out);
    let logs = names(&home.path()).into_iter().filter(|name| name.ends_with("-wal")).collect::<Vec<_>>();
    assert!(logs.iter().any(|name| name.starts_with("echovessel.before-restore-")), "{logs:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_newest_backups_stay_and_damaged_ones_are_refused() {
    let (home, settings) = (Home::new(), Settings::offline().key("backup.keep", 2));
    let daemon = Daemon::start(&home, &settings).await;
    say(&daemon, &[KEPT]).await;
    let folder = home.file("backups");
    fs::create_dir_all(&folder).unwrap();
    for name in ["echovessel-20200101T000000Z.db", "echovessel-20210101T000000Z.db", "mine.db"] {
        fs::write(folder.join(name), b"old").unwrap();
    }
    run(&home, &settings, &["backup"]).await.well();
    let left = names(&folder);
    assert_eq!(left.len(), 3, "{left:?}");
    assert!(
        left.contains(&"mine.db".to_owned()) && !left.contains(&"echovessel-20200101T000000Z.db".to_owned())
    );
    run(&home, &settings, &["stop"]).await.well();

    let before = history(&home, &settings).await;
    let newest = folder.join(&left[1]);
    let mut bytes = fs::read(&newest).unwrap();
    let damaged = home.path().parent().unwrap().join("damaged.db");
    for byte in bytes.iter_mut().skip(4096).take(40_000) {
        *byte = 0x5a;
    }
    fs::write(&damaged, &bytes).unwrap();
    for file in [damaged.as_path(), &folder.join("mine.db"), Path::new("/nowhere.db")] {
        let refused = run(&home, &settings, &["restore", file.to_str().unwrap(), "--yes"]).await;
        assert!(
            refused.code == 1 && refused.err.contains("nothing was changed"),
            "{file:?}: {}",
            refused.err
        );
    }
    assert_eq!(history(&home, &settings).await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn backups_are_made_and_listed_over_http_and_can_be_restored() {
    let (home, settings) = (Home::new(), Settings::offline().key("backup.keep", 2));
    let daemon = Daemon::start(&home, &settings).await;
    assert_eq!(daemon.get("/api/admin/backups").await["backups"], json!([]));
    say(&daemon, &[KEPT]).await;
    fs::create_dir_all(home.file("backups")).unwrap();
    for name in ["echovessel-20200101T000000Z.db", "echovessel-20210101T000000Z.db", "mine.db"] {
        fs::write(home.file("backups").join(name), "old").unwrap();
    }
    let made = daemon.try_post("/api/admin/backups", &json!({})).await;
    assert_eq!((made.status, &made.body["messages"]), (201, &json!(2)), "{:?}", made.body);
    let listed = daemon.get("/api/admin/backups").await;
    let listed = listed["backups"].as_array().unwrap();
    assert_eq!(listed.len(), 2, "the oldest is gone, other files are not listed: {listed:?}");
    assert_eq!((&listed[0]["name"], &listed[0]["bytes"]), (&made.body["name"], &made.body["bytes"]));
    assert_eq!(listed[1]["created_at"], "2021-01-01T00:00:00Z");
    let ask = || async { daemon.try_post("/api/admin/backups", &json!({})).await.status };
    assert_eq!(tokio::join!(ask(), ask(), ask()), (201, 201, 201), "one after another");
    let left = names(&home.file("backups"));
    assert!(left.iter().all(|name| name.ends_with(".db")), "nothing unfinished: {left:?}");
    let listed = daemon.get("/api/admin/backups").await;
    let listed = listed["backups"].as_array().unwrap();
    run(&home, &settings, &["stop"]).await.well();
    let file = home.file("backups").join(listed[0]["name"].as_str().unwrap());
    run(&home, &settings, &["restore", file.to_str().unwrap(), "--yes"]).await.well();
    assert!(history(&home, &settings).await.to_string().contains(KEPT));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_timer_makes_backups_while_the_daemon_runs() {
    let (home, settings) = (Home::new(), Settings::offline().key("backup.every", "200ms"));
    let daemon = Daemon::start(&home, &settings).await;
    say(&daemon, &[KEPT]).await;
    let folder = home.file("backups");
    let is_backup = |name: &String| name.starts_with("echovessel-") && name.ends_with(".db");
    crate::daemon::eventually("a backup", async || {
        (folder.exists() && names(&folder).iter().any(is_backup)).then_some(())
    })
    .await;
    run(&home, &settings, &["stop"]).await.well();
    let wrong = run(&home, &Settings::offline().key("backup.every", "daily"), &["config", "check"]).await;
    assert!(wrong.code == 2 && wrong.err.contains("backup.every"), "{}", wrong.err);
}
