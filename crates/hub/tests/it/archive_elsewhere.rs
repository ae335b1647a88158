//! Archives that are imported into a home that has some of their content already.

use std::collections::{BTreeMap, BTreeSet};

use hub::Caller;
use hub::api::archive::{EntityImport, ImportMode};
use hub::graph::{EdgeGet, NodeList};
use memory::entities::{ChangedBy, EntityChange};
use memory::identifiers::EntityId;
use memory::ports::{Clock as _, EntityStore as _, PersonaStore as _, UserStore as _};
use memory::{PersonaId, Scope, UserId};

use crate::archive::{Step, exported, fields, graph, live, unpacked};
use crate::home::Home;

/// Content of the graph without ids, which may differ between scopes.
fn drawn(files: &BTreeMap<String, String>) -> BTreeSet<String> {
    let graph: serde_json::Value = serde_json::from_str(&files["graph.json"]).unwrap();
    let named = |id: &serde_json::Value| {
        let nodes = graph["nodes"].as_array().unwrap();
        nodes.iter().find(|node| node["id"] == *id).map(|node| node["label"].to_string()).unwrap()
    };
    let nodes = graph["nodes"].as_array().unwrap().iter().map(|node| {
        let mut node = node.clone();
        node.as_object_mut().unwrap().remove("id");
        node.to_string()
    });
    let edges = graph["edges"].as_array().unwrap().iter().map(|edge| {
        let ends = [named(&edge["fromId"]), named(&edge["toId"])].join(" ");
        let mut edge = edge.clone();
        edge.as_object_mut().unwrap().retain(|key, _| !["id", "fromId", "toId"].contains(&key.as_str()));
        format!("{ends} {edge}")
    });
    nodes.chain(edges).collect()
}

#[tokio::test]
async fn an_archive_arrives_whole_beside_the_memory_that_it_came_from() {
    let old = Home::without_files().await;
    let steps = [
        Step::Event(0),
        Step::Meet(1, 0),
        Step::Node(0),
        Step::Node(1),
        Step::Edge(0, 1),
        Step::Node(3),
        Step::Edge(1, 3),
        Step::Withdraw(0),
        Step::Node(2),
    ];
    live(&old, &graph(&old), &steps).await;
    let archive = old.hub.entity_export(&old.caller).await.unwrap();
    assert!(archive.counts.conflicts > 0 && archive.counts.graph_edges == 2, "{:?}", archive.counts);
    let truth = unpacked(&archive.data);
    assert!(truth["graph.json"].contains("\"deleted\": true"), "something is deleted softly");
    let scope = Scope::new(PersonaId::new("Mond").unwrap(), UserId::new("ann").unwrap());
    old.store.ensure_persona(&scope.persona, "Mond", old.clock.now()).await.unwrap();
    old.store.ensure_user(&scope.user, old.clock.now()).await.unwrap();
    let other = Caller { scope, ..old.caller.clone() };
    let mut before = None;
    for _ in 0..3 {
        let import = EntityImport { data: archive.data.clone(), mode: ImportMode::Overwrite };
        let imported = old.hub.entity_import(&other, import).await.unwrap();
        assert!(imported.success, "{}", imported.message);
        let taken = old.hub.entity_export(&other).await.unwrap();
        assert_eq!(taken.counts, archive.counts);
        let taken = unpacked(&taken.data);
        assert_eq!(drawn(&taken), drawn(&truth));
        // A second import changes nothing.
        assert_eq!(before.get_or_insert_with(|| taken.clone()), &taken);
    }
    assert_eq!(exported(&old).await, truth, "and the first memory is as it was");
    assert!(old.store.check().await.unwrap().is_intact());
}

#[tokio::test]
async fn an_archive_finds_an_entity_that_the_graph_has_let_go_of() {
    let home = Home::without_files().await;
    let graph = graph(&home);
    let scope = &home.caller.scope;
    let memory = "significant-2026-07-01_婚礼";
    let asked = serde_json::json!({"instanceId": "home",
        "nodes": [{"type": "person", "label": "米娅", "sourceMemoryId": memory},
                  {"type": "topic", "label": "chess", "sourceMemoryId": memory}],
        "edges": [{"fromLabel": "米娅", "toLabel": "chess", "type": "plays", "sourceMemoryId": memory}]});
    let written = graph.write_transaction(scope, fields(asked)).await.unwrap();
    let described = EntityChange::Describe { description: "我的妹妹".to_owned() };
    let mia = EntityId(written.nodes[0].id);
    home.store.change_entity(scope, mia, described, ChangedBy::Owner, home.clock.now()).await.unwrap();
    let archive = home.hub.entity_export(&home.caller).await.unwrap();
    assert_eq!(graph.withdraw(scope, memory).await.unwrap().edges, 1);
    let left = graph.list_nodes(scope, NodeList::default()).await.unwrap().nodes;
    assert_eq!(left.iter().map(|node| node.label.as_str()).collect::<Vec<_>>(), ["米娅"]);
    let import = EntityImport { data: archive.data, mode: ImportMode::Overwrite };
    let imported = home.hub.entity_import(&home.caller, import).await.unwrap();
    assert!(imported.success, "{}", imported.message);
    let edges = graph.edges(scope, EdgeGet::default()).await.unwrap().edges;
    assert_eq!(edges.iter().map(|edge| edge.from_id).collect::<Vec<_>>(), [mia.0]);
}
