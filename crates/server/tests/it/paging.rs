//! Laws of paging: an item that exists all the time is returned once, whatever is written or deleted between two
//! pages.

use std::collections::BTreeSet;

use axum::http::Method;
use memory::entities::EntityKind;
use memory::identifiers::{EntityId, NodeId, SessionId};
use memory::nodes::NewNode;
use memory::ports::{ConsolidationStore, IdGenerator, MessageStore, NewEntity};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use testkit::SequentialIds;

use crate::home::{Home, start};
use crate::memories::{event, extracted};

/// A change between two pages.
#[derive(Clone, Copy, Debug)]
enum Between {
    Nothing,
    /// A session is extracted into this many memories, with the same time as all others.
    Write(usize),
    /// The row at this index of the last page is deleted.
    Delete(usize),
}

fn between() -> impl Strategy<Value = Between> {
    prop_oneof![
        Just(Between::Nothing),
        (1usize..3).prop_map(Between::Write),
        (0usize..4).prop_map(Between::Delete),
    ]
}

/// A list: its path, the field of its rows, the name of a row, how a row is deleted.
struct List {
    path: &'static str,
    items: &'static str,
    name: fn(&Value) -> String,
    delete: fn(&str) -> Option<String>,
}

fn own_id(row: &Value) -> String {
    row["id"].as_str().unwrap().to_owned()
}

fn in_timeline(row: &Value) -> String {
    let data = &row["data"];
    let id = ["node_id", "entity_id", "session_id"].iter().find_map(|name| data[*name].as_str());
    format!("{} {}", row["kind"], id.unwrap_or_default())
}

const LISTS: [List; 4] = [
    List {
        path: "/api/admin/memory/events",
        items: "items",
        name: own_id,
        delete: |id| Some(format!("/api/admin/memory/events/{id}")),
    },
    List { path: "/api/admin/memory/timeline", items: "items", name: in_timeline, delete: |_| None },
    List { path: "/api/admin/memory/entities", items: "entities", name: own_id, delete: |_| None },
    List {
        path: "/api/chat/history",
        items: "messages",
        name: own_id,
        delete: |id| Some(format!("/api/admin/memory/messages/{id}")),
    },
];

/// A session that is extracted into memories, all with the same time.
async fn write(home: &Home, ids: &SequentialIds, count: usize) {
    home.talk("my cat is called Soot").await;
    let sessions = home.get("/api/admin/sessions?limit=1").await.json();
    let session: SessionId = sessions["sessions"][0]["id"].as_str().unwrap().parse().unwrap();
    let said = home.store.session_messages(session).await.unwrap().remove(0);
    let nodes: Vec<NewNode> = (0..count)
        .map(|number| NewNode { id: NodeId(ids.next(start())), ..event(ids, number, &said) })
        .collect();
    let entities = nodes.iter().map(|_| {
        let id = EntityId(ids.next(start()));
        NewEntity::settled(id, format!("Soot {id}"), EntityKind::Pet)
    });
    let entities: Vec<NewEntity> = entities.collect();
    extracted(home, session, |commit| {
        commit.nodes = nodes;
        commit.entities = entities;
    })
    .await;
    // A session that is still being consolidated would be returned to the queue by a deletion.
    home.store.finish_session(session, start()).await.unwrap();
}

async fn names(home: &Home, list: &List) -> BTreeSet<String> {
    let page = home.get(&format!("{}?limit=200", list.path)).await.json();
    page[list.items].as_array().unwrap().iter().map(list.name).collect()
}

async fn walk(list: &List, first: usize, limit: usize, acts: &[Between]) -> Result<(), TestCaseError> {
    let home = Home::new().await;
    let ids = SequentialIds::new(31);
    for _ in 0..2 {
        write(&home, &ids, first).await;
    }
    let at_first = names(&home, list).await;
    let mut acts = acts.iter();
    let (mut seen, mut deleted) = (Vec::new(), BTreeSet::new());
    let mut next = format!("{}?limit={limit}", list.path);
    loop {
        let page = home.get(&next).await.json();
        let rows: Vec<String> = page[list.items].as_array().unwrap().iter().map(list.name).collect();
        seen.extend(rows.iter().cloned());
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        next = format!("{}?limit={limit}&cursor={cursor}", list.path);
        match acts.next().copied().unwrap_or(Between::Nothing) {
            Between::Nothing => {}
            Between::Write(count) => write(&home, &ids, count).await,
            Between::Delete(place) => {
                let row = &rows[rows.len() - 1 - place % rows.len()];
                if let Some(path) = (list.delete)(row) {
                    let before = names(&home, list).await;
                    prop_assert_eq!(home.ask(Method::DELETE, &path, None).await.status.as_u16(), 200);
                    let after = names(&home, list).await;
                    deleted.extend(before.difference(&after).cloned());
                }
            }
        }
    }
    let once: BTreeSet<String> = seen.iter().cloned().collect();
    prop_assert_eq!(once.len(), seen.len(), "a row came twice: {:?}", seen);
    let lost: Vec<&String> =
        at_first.iter().filter(|row| !once.contains(*row) && !deleted.contains(*row)).collect();
    prop_assert!(lost.is_empty(), "lost: {:?}", lost);
    Ok(())
}

/// Runs the law for a list with a few generated sequences of changes.
fn law(list: &List) {
    let strategy = (1usize..5, 1usize..4, prop::collection::vec(between(), 0..5));
    let mut runner = TestRunner::new(Config { cases: 10, failure_persistence: None, ..Config::default() });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let walked =
        runner.run(&strategy, |(first, limit, acts)| runtime.block_on(walk(list, first, limit, &acts)));
    walked.unwrap_or_else(|error| panic!("{}: {error}", list.path));
}

#[test]
fn pages_of_events_lose_and_repeat_nothing() {
    law(&LISTS[0]);
}

#[test]
fn pages_of_the_timeline_lose_and_repeat_nothing() {
    law(&LISTS[1]);
}

#[test]
fn pages_of_entities_lose_and_repeat_nothing() {
    law(&LISTS[2]);
}

#[test]
fn defect_12_pages_of_the_history_lose_and_repeat_nothing() {
    law(&LISTS[3]);
}

#[tokio::test]
async fn a_place_stands_when_its_row_is_gone() {
    let home = Home::new().await;
    let ids = SequentialIds::new(31);
    write(&home, &ids, 3).await;
    let page = home.get("/api/admin/memory/events?limit=1").await.json();
    let shown = own_id(&page["items"][0]);
    let gone = home.ask(Method::DELETE, &format!("/api/admin/memory/events/{shown}"), None).await;
    assert_eq!(gone.json()["deleted"], json!(true));
    let cursor = page["next_cursor"].as_str().unwrap();
    let rest = home.get(&format!("/api/admin/memory/events?limit=5&cursor={cursor}")).await.json();
    assert_eq!(rest["items"].as_array().unwrap().len(), 2);
}
