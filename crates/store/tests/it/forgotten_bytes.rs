//! Bytes of the files after an erasure.

use std::fs;
use std::path::Path;

use futures_util::future::join_all;
use memory::forget::{ForgetMode, Selection};
use memory::identifiers::TurnId;
use memory::messages::Role;
use memory::ports::{Corpus, ForgetStore, Phrase, RecallStore};
use rusqlite::Connection;
use store::{HomeStore, StoreOptions, back_up};
use tempfile::TempDir;

use crate::forgetting::{Life, one, rows};
use crate::home::at;

/// The file, its log and its index contain no byte of the erased text, although rows were moved between pages before.
#[tokio::test]
async fn no_byte_remembers() {
    let mut life = Life::lived(&[]).await;
    let secret = "密码是蓝色海豚 bluedolphin";
    let mut secrets = Vec::new();
    for number in 0..400 {
        let filler = format!("line {number} {}", "of no importance ".repeat(number % 23));
        let turn = TurnId(life.id());
        let content = if number % 40 == 7 { format!("{secret} {filler}") } else { filler };
        let said = life.say(&content, Role::User, turn).await;
        secrets.extend((number % 40 == 7).then_some(said.id));
    }
    life.store.checkpoint().await.unwrap();
    // Rows are moved between pages when their neighbours are deleted.
    for number in (0..400).filter(|number| number % 3 == 0 && number % 40 != 7) {
        life.forget(one(&life.messages[number]), ForgetMode::Orphan).await;
    }
    assert!(holds(life.folder.path(), "蓝色海豚") && holds(life.folder.path(), "bluedolphin"));
    life.forget(
        Selection { messages: secrets.into_iter().collect(), ..Selection::default() },
        ForgetMode::Cascade,
    )
    .await;
    assert!(life.store.overwrite_freed(at(10)).await.unwrap());
    for piece in ["蓝色海豚", "bluedolphin", "密码"] {
        assert!(!holds(life.folder.path(), piece), "{piece} is in a file");
    }
    assert!(life.store.check().await.unwrap().is_intact());
    assert!(life.store.overwrite_freed(at(11)).await.unwrap(), "nothing is due any more");
}

/// The words of many messages are overwritten together. A copy that is made before does not contain them either, and
/// a program that ends before overwrites them at its next start.
#[tokio::test]
async fn no_byte_remembers_a_large_erasure() {
    let mut life = Life::lived(&[]).await;
    for number in 0..300 {
        let turn = TurnId(life.id());
        let kind = if number < 250 { "quagga" } else { "heron" };
        life.say(&format!("every line {number} tells of the {kind} w{number}{kind}"), Role::User, turn).await;
    }
    let erased = life.messages[..250].iter().map(|message| message.id).collect();
    life.forget(Selection { messages: erased, ..Selection::default() }, ForgetMode::Cascade).await;
    let found = async |store: &HomeStore, word: &str| {
        let phrases = [Phrase(vec![word.to_owned()])];
        store.phrase_hits(&life.scope, Corpus::Messages, &phrases, 99).await.unwrap().1[0].seqs.len()
    };
    assert_eq!((found(&life.store, "quagga").await, found(&life.store, "heron").await), (0, 50));
    let copies = TempDir::new().unwrap();
    back_up(&life.folder.path().join("home.db"), &copies.path().join("copy.db")).unwrap();
    assert!(!holds(copies.path(), "quagga") && holds(copies.path(), "heron"));
    life.store.close().await.unwrap();
    let reopened = HomeStore::open(&life.folder.path().join("home.db"), StoreOptions::default()).unwrap();
    assert!(reopened.overwrite_freed(at(10)).await.unwrap());
    assert!(!holds(life.folder.path(), "quagga"));
    assert_eq!((found(&reopened, "quagga").await, found(&reopened, "heron").await), (0, 50));
    assert!(reopened.check().await.unwrap().is_intact());
    // From now on each word is overwritten at once again.
    let file = Connection::open(life.folder.path().join("home.db")).unwrap();
    let settings = "SELECT v FROM message_words_config WHERE k = 'secure-delete'
                    UNION ALL SELECT v FROM node_words_config WHERE k = 'secure-delete'";
    assert_eq!(rows(&file, settings).len(), 2);
    let on: i64 = file.query_row(&format!("SELECT sum(v) FROM ({settings})"), [], |row| row.get(0)).unwrap();
    assert_eq!(on, 2);
}

/// A large erasure that was rolled back does not prevent the overwriting in a later small one.
#[tokio::test]
async fn no_byte_remembers_after_a_large_erasure_failed() {
    let mut life = Life::lived(&[]).await;
    for number in 0..300 {
        let turn = TurnId(life.id());
        let kind = if number == 299 { "quagga" } else { "heron" };
        life.say(&format!("every line {number} tells of the {kind} w{number}{kind}"), Role::User, turn).await;
    }
    let many = life.messages[..290].iter().map(|message| message.id).collect();
    let many = life.act(Selection { messages: many, ..Selection::default() }, ForgetMode::Cascade);
    let file = Connection::open(life.folder.path().join("home.db")).unwrap();
    // It fails at its last step: alone, where its transaction is rolled back, and in a group, where it is rolled back
    // to a savepoint.
    let refuse =
        "CREATE TRIGGER refuse BEFORE INSERT ON overwriting_due BEGIN SELECT RAISE(ABORT, 'refused'); END";
    file.execute_batch(refuse).unwrap();
    let fails = || life.store.forget(many.clone(), None, None);
    assert!(fails().await.is_err());
    assert!(join_all((0..6).map(|_| fails())).await.iter().all(Result::is_err));
    file.execute_batch("DROP TRIGGER refuse").unwrap();
    drop(file);
    life.forget(one(&life.messages[299]), ForgetMode::Cascade).await;
    assert!(life.store.overwrite_freed(at(10)).await.unwrap());
    assert!(!holds(life.folder.path(), "quagga") && holds(life.folder.path(), "heron"));
    assert!(life.store.check().await.unwrap().is_intact());
}

/// Copies beside the database are listed; other files are not.
#[tokio::test]
async fn copies_are_named() {
    let life = Life::lived(&[]).await;
    let folder = life.folder.path();
    fs::copy(folder.join("home.db"), folder.join("home.before-0002.db")).unwrap();
    fs::create_dir(folder.join("backups")).unwrap();
    fs::write(folder.join("backups").join("monday.ZIP"), "PK").unwrap();
    fs::write(folder.join("notes.txt"), "SQLite format 4").unwrap();
    assert_eq!(
        life.store.unreached_copies().await.unwrap().files,
        ["backups/monday.ZIP", "home.before-0002.db"]
    );
}

/// True if any file of the folder contains the bytes.
fn holds(folder: &Path, piece: &str) -> bool {
    !testkit::files_containing(folder, piece).unwrap().is_empty()
}
