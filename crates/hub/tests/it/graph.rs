//! The graph with a real database.

use std::sync::Arc;

use hub::graph::{
    EdgeCreate, EdgeGet, EdgeUpdate, Graph, GraphNode, NodeCreate, NodeDelete, NodeList, NodeSearch,
    NodeUpdate, Subgraph, TransactionResponse, Traverse, WriteTransaction,
};
use hub::ports::DiaryLinks as _;
use jiff::Timestamp;
use memory::entities::{ChangedBy, EntityChange, EntityKind};
use memory::forget::{ForgetMode, ForgetRequest, Selection};
use memory::identifiers::EntityId;
use memory::ports::{AuthoredEntity, EntityStore as _, ForgetStore as _, PersonaStore as _, UserStore as _};
use memory::{PersonaId, Scope, UserId};
use serde_json::{Value, json};
use store::{HomeStore, StoreOptions};
use tempfile::TempDir;
use testkit::{SequentialIds, SimulatedClock, WordHashEmbedder};

struct World {
    graph: Graph,
    store: Arc<HomeStore>,
    clock: SimulatedClock,
    scope: Scope,
    _folder: TempDir,
}

fn now() -> Timestamp {
    "2026-05-02T10:00:00Z".parse().unwrap()
}

async fn world() -> World {
    let folder = TempDir::new().unwrap();
    let store = Arc::new(HomeStore::open(&folder.path().join("home.db"), StoreOptions::default()).unwrap());
    let scope = Scope::new(PersonaId::new("default").unwrap(), UserId::new("self").unwrap());
    store.ensure_persona(&scope.persona, "Echo", now()).await.unwrap();
    store.ensure_user(&scope.user, now()).await.unwrap();
    let clock = SimulatedClock::new(now());
    let embedder = Arc::new(WordHashEmbedder::new());
    let graph = Graph::new(
        store.clone(),
        store.clone(),
        store.clone(),
        Some(embedder),
        Arc::new(clock.clone()),
        Arc::new(SequentialIds::new(7)),
    );
    World { graph, store, clock, scope, _folder: folder }
}

fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

impl World {
    async fn node(&self, mut fields: Value) -> GraphNode {
        fields["instanceId"] = json!("laptop");
        let answer = self.graph.create_node(&self.scope, read::<NodeCreate>(fields)).await.unwrap();
        assert!(answer.success, "{answer:?}");
        answer.node.unwrap()
    }

    async fn edge(&self, from: &GraphNode, to: &GraphNode, mut fields: Value) -> Value {
        fields["fromId"] = json!(from.id);
        fields["toId"] = json!(to.id);
        fields["instanceId"] = json!("laptop");
        let answer = self.graph.create_edge(&self.scope, read::<EdgeCreate>(fields)).await.unwrap();
        serde_json::to_value(answer).unwrap()
    }

    async fn edges(&self, fields: Value) -> Vec<hub::graph::GraphEdge> {
        self.graph.edges(&self.scope, read::<EdgeGet>(fields)).await.unwrap().edges
    }

    async fn labels(&self) -> Vec<String> {
        let list = self.graph.list_nodes(&self.scope, NodeList::default()).await.unwrap();
        let mut labels: Vec<String> = list.nodes.into_iter().map(|node| node.label).collect();
        labels.sort();
        labels
    }

    async fn write(&self, mut fields: Value) -> TransactionResponse {
        fields["instanceId"] = json!("laptop");
        self.graph.write_transaction(&self.scope, read::<WriteTransaction>(fields)).await.unwrap()
    }

    async fn search(&self, fields: Value) -> Vec<(String, f64)> {
        let found = self.graph.search_nodes(&self.scope, read::<NodeSearch>(fields)).await.unwrap();
        found.results.into_iter().map(|hit| (hit.node.label, hit.score)).collect()
    }
}

#[tokio::test]
async fn a_node_is_written_once_and_found_again() {
    let world = world().await;
    let first = world.node(json!({"type": "topic", "label": "Old  Maps", "confidence": 0.8})).await;
    assert_eq!((first.label.as_str(), first.confidence, first.version), ("Old Maps", 0.8, 1));
    let again = world.node(json!({"type": "topic", "label": "old maps", "confidence": 0.1})).await;
    assert_eq!((again.id, again.confidence), (first.id, 0.8), "it is answered as it was");
    let other = world.node(json!({"type": "goal", "label": "old maps"})).await;
    assert_ne!(other.id, first.id, "another type is another node");
    let fetched = world.graph.live_node(&world.scope, &first.id.to_string()).await.unwrap();
    assert_eq!(fetched.node.unwrap().id, first.id);
    for id in ["00000000-0000-0000-0000-000000000000", "../../etc/passwd", ""] {
        let missing = world.graph.live_node(&world.scope, id).await.unwrap();
        assert!(!missing.success && missing.node.is_none());
    }
}

#[tokio::test]
async fn an_entity_and_a_node_are_one() {
    let world = world().await;
    let id = EntityId(uuid::Uuid::from_u128(9));
    let entity = AuthoredEntity {
        id,
        canonical_name: "李小明".to_owned(),
        kind: EntityKind::Person,
        description: Some("a neighbour".to_owned()),
        aliases: vec!["小明".to_owned()],
    };
    world.store.create_entity(&world.scope, entity, now()).await.unwrap();
    assert_eq!(world.labels().await, ["李小明"], "what the memory knows is in the graph");
    let node = world.node(json!({"type": "person", "label": "小明", "properties": {"age": 7}})).await;
    assert_eq!((node.id, node.label.as_str()), (id.0, "李小明"), "found by another name of his");
    let change = async |mut fields: Value| {
        (fields["id"], fields["instanceId"]) = (json!(id.0), json!("laptop"));
        world.graph.update_node(&world.scope, read::<NodeUpdate>(fields)).await.unwrap()
    };
    let refused = change(json!({"description": "a friend"})).await;
    assert!(!refused.success, "a person described him: {refused:?}");
    assert!(!change(json!({"type": "place"})).await.success);
    let renamed = change(json!({"label": "Xiaoming", "properties": {"age": 8}})).await.node.unwrap();
    assert_eq!((renamed.label.as_str(), renamed.properties["age"].as_i64()), ("Xiaoming", Some(8)));
    let entity = world.store.entity(&world.scope, id).await.unwrap().unwrap();
    assert_eq!(entity.canonical_name, "Xiaoming", "and in the memory as well");
    let made = world.node(json!({"type": "place", "label": "Lisbon", "description": "by the sea"})).await;
    let entity = world.store.entity(&world.scope, EntityId(made.id)).await.unwrap().unwrap();
    assert_eq!(entity.description.as_deref(), Some("by the sea"));
    assert!(!entity.owner_override, "no person wrote it");
}

#[tokio::test]
async fn edges_follow_entities_that_were_merged() {
    let world = world().await;
    let tom = world.node(json!({"type": "person", "label": "Tom"})).await;
    let thomas = world.node(json!({"type": "person", "label": "Thomas Brown"})).await;
    let sea = world.node(json!({"type": "topic", "label": "the sea"})).await;
    world.edge(&tom, &sea, json!({"type": "likes"})).await;
    let merge = EntityChange::Merge { other: EntityId(thomas.id) };
    let changed =
        world.store.change_entity(&world.scope, EntityId(tom.id), merge, ChangedBy::Owner, now()).await;
    changed.unwrap();
    let edges = world.edges(json!({"fromId": thomas.id})).await;
    assert_eq!(edges.len(), 1);
    assert_eq!(edges[0].from_id, thomas.id);
    assert_eq!(world.labels().await, ["Thomas Brown", "the sea"]);
}

#[tokio::test]
async fn an_edge_gains_weight_and_evidence() {
    let world = world().await;
    let ann = world.node(json!({"type": "person", "label": "Ann"})).await;
    let tea = world.node(json!({"type": "preference", "label": "green tea"})).await;
    let first = world
        .edge(
            &ann,
            &tea,
            json!({"type": "likes", "weight": 0.9, "evidence": "she said so", "properties": {"a": 1}}),
        )
        .await;
    assert_eq!(first["success"], true);
    world.clock.set("2026-05-03T10:00:00Z".parse().unwrap());
    let again = world
        .edge(
            &ann,
            &tea,
            json!({"type": "likes", "weight": 0.2, "evidence": "again", "properties": {"b": 2}}),
        )
        .await;
    assert_eq!(again["edge"]["id"], first["edge"]["id"]);
    assert_eq!(again["edge"]["weight"], 0.9);
    assert_eq!(again["edge"]["evidence"], "again");
    assert_eq!(again["edge"]["properties"], json!({"a": 1, "b": 2}));
    assert_eq!(again["edge"]["lastConfirmedAt"], "2026-05-03T10:00:00Z");
    let nobody = GraphNode { id: uuid::Uuid::nil(), ..tea.clone() };
    let missing = world.edge(&ann, &nobody, json!({"type": "likes"})).await;
    assert_eq!(missing["success"], false);
    let id = first["edge"]["id"].as_str().unwrap();
    let past = json!({"id": id, "validUntil": "2026-05-01", "weight": 0.4, "instanceId": "laptop"});
    let updated = world.graph.update_edge(&world.scope, read::<EdgeUpdate>(past)).await.unwrap();
    assert_eq!(updated.edge.unwrap().weight, 0.4);
    assert!(world.edges(json!({"onlyValid": true})).await.is_empty());
    assert_eq!(world.edges(json!({})).await.len(), 1);
    assert!(world.graph.delete_edge(&world.scope, id).await.unwrap().success);
    assert!(!world.graph.delete_edge(&world.scope, id).await.unwrap().success);
    assert_eq!(world.edges(json!({"includeDeleted": true})).await.len(), 1);
    let odd = world.edge(&ann, &tea, json!({"type": "likes", "validUntil": "soon"})).await;
    assert_eq!(odd["success"], false);
}

#[tokio::test]
async fn dependent_memories_are_deleted_with_their_source() {
    let world = world().await;
    let from = "daily-2026-05-02_laptop";
    let ann = world.node(json!({"type": "person", "label": "Ann", "sourceMemoryId": from})).await;
    let told =
        json!({"type": "goal", "label": "a marathon", "description": "in spring", "sourceMemoryId": from});
    let run = world.node(told).await;
    let rome = world.node(json!({"type": "place", "label": "Rome"})).await;
    world.edge(&ann, &run, json!({"type": "wants", "evidence": "secret", "sourceMemoryId": from})).await;
    world.edge(&ann, &rome, json!({"type": "lives in", "evidence": "secret", "sourceMemoryId": from})).await;
    world
        .edge(&ann, &rome, json!({"type": "lives in", "evidence": "told twice", "sourceMemoryId": "m2"}))
        .await;
    let linked = world.graph.linked_memories(&world.scope, "what does Ann do?").await.unwrap();
    assert_eq!(linked.get(from), Some(&1));
    assert_eq!(linked.get("m2"), Some(&1), "by an edge");
    assert!(world.graph.linked_memories(&world.scope, "planning").await.unwrap().is_empty());
    let withdrawn = world.graph.withdraw(&world.scope, from).await.unwrap();
    assert_eq!((withdrawn.nodes, withdrawn.edges), (1, 1));
    assert_eq!(world.labels().await, ["Ann", "Rome"], "an edge of another memory still needs Ann");
    let left = world.edges(json!({})).await;
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].evidence.as_deref(), Some("told twice"));
    assert_eq!(left[0].source_memory_ids, ["m2"]);
    world.graph.withdraw(&world.scope, "m2").await.unwrap();
    assert!(world.edges(json!({"includeDeleted": true})).await.is_empty());
}

#[tokio::test]
async fn a_deleted_node_takes_its_edges_and_can_come_back() {
    let world = world().await;
    let cat = world.node(json!({"type": "pet", "label": "Miso"})).await;
    let nap = world.node(json!({"type": "topic", "label": "naps"})).await;
    world.edge(&cat, &nap, json!({"type": "loves"})).await;
    let id = nap.id.to_string();
    let soft = NodeDelete { id: id.clone(), permanent: false };
    assert!(world.graph.delete_node(&world.scope, soft.clone()).await.unwrap().success);
    assert!(!world.graph.delete_node(&world.scope, soft).await.unwrap().success);
    assert!(!world.graph.live_node(&world.scope, &id).await.unwrap().success);
    assert!(world.edges(json!({})).await.is_empty());
    let listed = NodeList { include_deleted: true, ..NodeList::default() };
    assert_eq!(world.graph.list_nodes(&world.scope, listed).await.unwrap().total, 2);
    assert_eq!(world.node(json!({"type": "topic", "label": "naps"})).await.id, nap.id);
    let hard = NodeDelete { id: cat.id.to_string(), permanent: true };
    assert!(world.graph.delete_node(&world.scope, hard).await.unwrap().success);
    assert_eq!(world.store.entity(&world.scope, EntityId(cat.id)).await.unwrap(), None);
    assert_eq!(world.labels().await, ["naps"]);
}

#[tokio::test]
async fn a_transaction_is_whole_and_says_what_it_could_not_join() {
    let world = world().await;
    world.node(json!({"type": "topic", "label": "music"})).await;
    let asked = json!({
        "nodes": [{"type": "person", "label": "Mia"}, {"type": "topic", "label": "Music"}],
        "edges": [
            {"fromLabel": "mia", "toLabel": "MUSIC", "type": "plays"},
            {"fromLabel": "Mia", "toLabel": "chess", "type": "plays"},
        ],
    });
    let done = world.write(asked.clone()).await;
    assert_eq!((done.nodes_created, done.nodes_reused, done.edges_created), (1, 1, 1));
    assert_eq!(done.unresolved.len(), 1);
    assert_eq!((done.unresolved[0].index, done.unresolved[0].missing.clone()), (1, vec!["chess".to_owned()]));
    let again = world.write(asked).await;
    assert_eq!((again.nodes_created, again.edges_created, again.edges_reused), (0, 0, 1));
    let bad = json!({"nodes": [{"type": "topic", "label": "birds"}, {"type": "topic", "label": "  "}]});
    let refused = world.write(bad).await;
    assert!(!refused.success && refused.message.contains("nodes[1]"), "{}", refused.message);
    assert_eq!(world.labels().await, ["Mia", "music"], "nothing of it was written");
}

#[tokio::test]
async fn walks_follow_edges_and_a_subgraph_has_all_edges_among_its_nodes() {
    let world = world().await;
    let mut nodes = Vec::new();
    for label in ["a", "b", "c", "d"] {
        nodes.push(world.node(json!({"type": "topic", "label": label})).await);
    }
    for (from, to, kind) in [(0, 1, "x"), (0, 2, "x"), (1, 2, "y"), (2, 3, "x")] {
        world.edge(&nodes[from], &nodes[to], json!({"type": kind})).await;
    }
    let walk = |fields: Value| {
        let graph = world.graph.clone();
        let scope = world.scope.clone();
        async move {
            let answer = graph.traverse(&scope, read::<Traverse>(fields)).await.unwrap();
            answer
                .results
                .into_iter()
                .map(|step| (step.node.label, step.depth, step.path.len()))
                .collect::<Vec<_>>()
        }
    };
    let reached = walk(json!({"startNodeId": nodes[0].id})).await;
    assert_eq!(reached, [("b".into(), 1, 1), ("c".into(), 1, 1), ("d".into(), 2, 2)]);
    assert_eq!(walk(json!({"startNodeId": nodes[3].id})).await, []);
    let back = walk(json!({"startNodeId": nodes[3].id, "direction": "in", "maxDepth": 1})).await;
    assert_eq!(back, [("c".into(), 1, 1)]);
    assert_eq!(walk(json!({"startNodeId": nodes[0].id, "edgeTypes": ["y"]})).await, []);
    assert_eq!(walk(json!({"startNodeId": nodes[0].id, "limit": 1})).await.len(), 1);
    let nowhere = world.graph.traverse(&world.scope, read(json!({"startNodeId": "nowhere"}))).await.unwrap();
    assert_eq!(nowhere.start_node["type"], "unknown");
    let around = read::<Subgraph>(json!({"nodeId": nodes[0].id, "depth": 1}));
    let part = world.graph.subgraph(&world.scope, around).await.unwrap();
    assert_eq!((part.nodes.len(), part.edges.len()), (3, 3), "b to c is among them");
    let stats = world.graph.stats(&world.scope).await.unwrap();
    assert_eq!((stats.total_nodes, stats.total_edges, stats.edges_by_type["x"]), (4, 4, 3));
    let insights = world.graph.insights(&world.scope).await.unwrap().insights;
    assert_eq!(insights.iter().map(|insight| insight.kind).collect::<Vec<_>>(), ["bridge", "cluster"]);
}

#[tokio::test]
async fn nodes_are_found_by_words_in_both_languages_and_by_meaning() {
    let world = world().await;
    world
        .node(json!({"type": "topic", "label": "hiking", "description": "long walks in the mountains"}))
        .await;
    world.node(json!({"type": "topic", "label": "爬山", "description": "周末常去香山"})).await;
    world.node(json!({"type": "person", "label": "Ann", "description": "sister of the user"})).await;
    let best = |found: Vec<(String, f64)>| found.first().map(|(label, _)| label.clone());
    assert_eq!(best(world.search(json!({"query": "mountains"})).await).as_deref(), Some("hiking"));
    assert_eq!(best(world.search(json!({"query": "香山"})).await).as_deref(), Some("爬山"));
    assert_eq!(best(world.search(json!({"query": "我想去爬山"})).await).as_deref(), Some("爬山"));
    assert_eq!(best(world.search(json!({"query": "Ann"})).await).as_deref(), Some("Ann"));
    let only = world.search(json!({"query": "sister of the user", "type": "topic"})).await;
    assert!(only.iter().all(|(label, _)| label != "Ann"));
    let found = world.graph.search_nodes(&world.scope, read(json!({"query": "mountains"}))).await.unwrap();
    assert!(found.vector_search_used);
    let rebuilt = world.graph.rebuild_vectors(&world.scope).await.unwrap();
    assert_eq!(rebuilt, (3, 0, 3));
}

#[tokio::test]
async fn a_vector_of_another_size_writes_nothing() {
    let world = world().await;
    let fields = json!({"type": "topic", "label": "stars", "instanceId": "laptop", "embedding": [1.0, 0.0]});
    let answer = world.graph.create_node(&world.scope, read(fields)).await.unwrap();
    assert!(!answer.success);
    assert!(world.labels().await.is_empty());
}

/// Nodes were deleted because they had no edge, and "Sam" was merged into "Samantha Jones" (defect 9).
#[tokio::test]
async fn defect_09_nothing_is_cleaned_up_by_itself() {
    let world = world().await;
    world.node(json!({"type": "place", "label": "Lisbon flat", "confidence": 1.0})).await;
    let vtubing = world.node(json!({"type": "topic", "label": "Vtubing"})).await;
    let sam = world.node(json!({"type": "person", "label": "Sam"})).await;
    let samantha = world.node(json!({"type": "person", "label": "Samantha Jones"})).await;
    world.edge(&sam, &vtubing, json!({"type": "likes"})).await;
    assert_ne!(sam.id, samantha.id);
    let path = world._folder.path().join("home.db");
    world.store.close().await.unwrap();
    let store = Arc::new(HomeStore::open(&path, StoreOptions::default()).unwrap());
    let clock = Arc::new(world.clock.clone());
    let graph = Graph::new(store.clone(), store.clone(), store, None, clock, Arc::new(SequentialIds::new(8)));
    let world = World { graph, ..world };
    assert_eq!(world.labels().await, ["Lisbon flat", "Sam", "Samantha Jones", "Vtubing"]);
}

#[tokio::test]
async fn an_erasure_by_text_reaches_the_graph() {
    let world = world().await;
    let ann = world.node(json!({"type": "person", "label": "Ann"})).await;
    let plan = json!({"type": "goal", "label": "a trip", "description": "to see the Blue Dolphin"});
    let trip = world.node(plan).await;
    let sea = world.node(json!({"type": "topic", "label": "the sea", "sourceMemoryId": "significant-2026-05-01_blue-dolphin"})).await;
    let fine = world.node(json!({"type": "topic", "label": "maps"})).await;
    world.edge(&ann, &trip, json!({"type": "plans"})).await;
    world.edge(&ann, &sea, json!({"type": "likes"})).await;
    world.edge(&ann, &fine, json!({"type": "likes", "evidence": "talked of the blue dolphin"})).await;
    let text = Some(memory::text::fold("dolphin"));
    let act = ForgetRequest {
        scope: world.scope.clone(),
        selection: Selection { text, ..Selection::default() },
        thoughts: ForgetMode::Cascade,
        at: now(),
    };
    world.store.forget(act, None, None).await.unwrap();
    assert_eq!(world.labels().await, ["Ann", "maps", "the sea"], "an edge of its own still needs the sea");
    let edges = world.edges(json!({"includeDeleted": true})).await;
    assert_eq!(edges.iter().map(|edge| edge.to_id).collect::<Vec<_>>(), [sea.id]);
    let all =
        serde_json::to_string(&world.graph.list_nodes(&world.scope, NodeList::default()).await.unwrap());
    assert!(!all.unwrap().to_lowercase().contains("dolphin"));
}

#[tokio::test]
async fn one_memory_does_not_see_the_graph_of_another() {
    let world = world().await;
    let node = world.node(json!({"type": "topic", "label": "secrets"})).await;
    let other = Scope::new(world.scope.persona.clone(), UserId::new("ann").unwrap());
    world.store.ensure_user(&other.user, now()).await.unwrap();
    assert_eq!(world.graph.list_nodes(&other, NodeList::default()).await.unwrap().total, 0);
    assert!(!world.graph.live_node(&other, &node.id.to_string()).await.unwrap().success);
    let theirs = World { scope: other, ..world };
    let mine = theirs.node(json!({"type": "topic", "label": "tea"})).await;
    let across = theirs.edge(&mine, &node, json!({"type": "x"})).await;
    assert_eq!(across["success"], false);
}

#[tokio::test]
async fn twenty_at_once_write_one_node_and_one_edge() {
    let world = world().await;
    let asked = json!({
        "instanceId": "laptop",
        "nodes": [{"type": "topic", "label": "rain"}, {"type": "person", "label": "Bo"}],
        "edges": [{"fromLabel": "Bo", "toLabel": "rain", "type": "fears"}],
    });
    let writes = (0..20).map(|_| world.graph.write_transaction(&world.scope, read(asked.clone())));
    let mut all = Vec::new();
    for write in writes {
        all.push(write);
    }
    let answers = futures_util::future::join_all(all).await;
    assert!(answers.iter().all(|answer| answer.as_ref().unwrap().success));
    assert_eq!(answers.iter().map(|answer| answer.as_ref().unwrap().nodes_created).sum::<usize>(), 2);
    assert_eq!(world.edges(json!({})).await.len(), 1);
    assert_eq!(world.labels().await, ["Bo", "rain"]);
}
