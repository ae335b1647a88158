//! Homes that exchange pages: real files, no network.

use std::collections::BTreeMap;

use memory::forget::{ForgetMode, ForgetRequest, Selection};
use memory::identifiers::{MessageId, NodeId};
use memory::ports::{CaptureStore, CorrectionStore, ForgetStore, MessageEdit, MessageStore};
use memory::sessions::SessionPolicy;
use sync::{Actor, Kind, SyncStore, VersionVector};
use uuid::Uuid;

use crate::home::{Home, at};

async fn home(number: u64) -> Home {
    let home = Home::open().await;
    home.number_from(number << 32);
    home.store.enable_sync(&Actor::new("home", number).unwrap()).await.unwrap();
    home
}

async fn say(home: &Home, text: &str) -> MessageId {
    let line = home.line(text);
    let id = line.id;
    home.store.capture(line, SessionPolicy::default(), None).await.unwrap();
    id
}

async fn number(home: &Home) {
    while home.store.number_changes(at(10), 100).await.unwrap() > 0 {}
}

async fn has(home: &Home) -> VersionVector {
    home.store.heads().await.unwrap().into_iter().map(|(actor, head)| (actor, head.index)).collect()
}

/// `to` receives all that it lacks, and forgets what was erased. Returns the changes that were new.
async fn send(from: &Home, to: &Home) -> u64 {
    number(from).await;
    number(to).await;
    let mut received = 0;
    loop {
        let page = from.store.page_after(&has(to).await).await.unwrap();
        let more = page.more;
        received += to.store.receive(page, at(20)).await.unwrap().received;
        if !more {
            break;
        }
    }
    for erasure in to.store.local_erasures().await.unwrap() {
        let mut selection = Selection::default();
        for (kind, id) in erasure.rows {
            let id = Uuid::try_parse(&id).unwrap();
            match kind {
                Kind::Message => _ = selection.messages.insert(MessageId(id)),
                _ => _ = selection.nodes.insert(NodeId(id)),
            }
        }
        let request =
            ForgetRequest { scope: erasure.scope, selection, thoughts: ForgetMode::Orphan, at: at(30) };
        to.store.forget(request, None, None).await.unwrap();
    }
    received
}

async fn texts(home: &Home) -> Vec<String> {
    let messages = home.store.messages_before(&home.scope, None, 100).await.unwrap();
    let mut texts: Vec<String> = messages.into_iter().map(|message| message.content).collect();
    texts.sort();
    texts
}

async fn erase(home: &Home, id: MessageId) {
    let selection = Selection { messages: [id].into_iter().collect(), ..Selection::default() };
    let request =
        ForgetRequest { scope: home.scope.clone(), selection, thoughts: ForgetMode::Orphan, at: at(15) };
    home.store.forget(request, None, None).await.unwrap();
}

#[tokio::test]
async fn homes_that_met_hold_the_same_messages_and_a_page_twice_changes_nothing() {
    let (a, b) = (home(1).await, home(2).await);
    say(&a, "said on the first").await;
    say(&b, "said on the second").await;
    assert!(send(&a, &b).await > 0);
    assert!(send(&b, &a).await > 0);
    assert_eq!(texts(&a).await, ["said on the first", "said on the second"]);
    assert_eq!(texts(&a).await, texts(&b).await);
    assert_eq!((send(&a, &b).await, send(&b, &a).await), (0, 0), "nothing is left to send, no echo");
    let page = a.store.page_after(&VersionVector::default()).await.unwrap();
    assert_eq!(b.store.receive(page, at(40)).await.unwrap().received, 0);
    assert_eq!(texts(&b).await.len(), 2);
    let check = b.store.check().await.unwrap();
    assert_eq!((check.wrong_counters, check.missing_words, check.orphan_words), (0, 0, 0));
}

#[tokio::test]
async fn changes_travel_over_a_third_home() {
    let (a, b, c) = (home(1).await, home(2).await, home(3).await);
    say(&a, "from the first").await;
    send(&a, &b).await;
    send(&b, &c).await;
    assert_eq!(texts(&c).await, ["from the first"]);
    assert_eq!(send(&a, &c).await, 0, "what came over another home is known");
}

#[tokio::test]
async fn an_erasure_wins_also_over_an_old_version_that_comes_later() {
    let (a, b, c) = (home(1).await, home(2).await, home(3).await);
    let id = say(&a, "a secret").await;
    say(&a, "something else").await;
    for other in [&b, &c] {
        send(&a, other).await;
    }
    let edit = MessageEdit {
        id,
        content: "a secret, edited".to_owned(),
        terms: "a secret edited".to_owned(),
        token_count: 3,
        at: at(12),
    };
    c.store.edit_message(edit).await.unwrap().unwrap();
    erase(&a, id).await;
    send(&a, &b).await;
    assert_eq!(texts(&b).await, ["something else"]);
    send(&c, &b).await;
    send(&c, &a).await;
    assert_eq!(texts(&a).await, ["something else"]);
    assert_eq!(texts(&b).await, ["something else"]);
    send(&b, &c).await;
    assert_eq!(texts(&c).await, ["something else"]);
}

#[tokio::test]
async fn a_restored_home_loses_nothing_under_a_new_incarnation() {
    let (a, b) = (home(1).await, home(2).await);
    say(&a, "before the copy").await;
    send(&a, &b).await;
    // The copy has the same actor and goes on by itself.
    number(&a).await;
    let renewed = Actor::new("home", 99).unwrap();
    say(&a, "after the copy").await;
    a.store.renew_actor(&renewed, at(12)).await.unwrap();
    assert_eq!(a.store.own_actor().await.unwrap(), Some(renewed.clone()));
    send(&a, &b).await;
    assert_eq!(texts(&b).await, ["after the copy", "before the copy"]);
    let heads: BTreeMap<Actor, _> = b.store.heads().await.unwrap();
    assert!(heads.contains_key(&renewed));
}

#[tokio::test]
async fn concurrent_edits_are_a_conflict_that_a_decision_closes_everywhere() {
    let (a, b) = (home(1).await, home(2).await);
    let id = say(&a, "first words").await;
    send(&a, &b).await;
    for (home, text) in [(&a, "words of a"), (&b, "words of b")] {
        let edit =
            MessageEdit { id, content: text.to_owned(), terms: text.to_owned(), token_count: 3, at: at(12) };
        home.store.edit_message(edit).await.unwrap().unwrap();
        number(home).await;
    }
    send(&a, &b).await;
    send(&b, &a).await;
    assert_eq!(texts(&a).await, texts(&b).await);
    let open = b.store.conflicts().await.unwrap();
    assert_eq!(open.len(), 1);
    assert_ne!(open[0].shown, open[0].other);
    b.store.settle_conflict(open[0].id, true, at(50)).await.unwrap().unwrap();
    send(&b, &a).await;
    assert_eq!(texts(&a).await, [open[0].other.clone()]);
    assert_eq!(texts(&b).await, [open[0].other.clone()]);
    assert!(a.store.conflicts().await.unwrap().is_empty());
    assert!(b.store.conflicts().await.unwrap().is_empty());
}
