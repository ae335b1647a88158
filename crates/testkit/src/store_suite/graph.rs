//! Laws of nodes, edges, and their sources.

use hub::DocumentName;
use hub::graph::{EdgeChange, EdgeEnd, GraphStore, GraphWrite, GraphWritten, NewGraphEdge, NewGraphNode};
use hub::ports::{DiaryLine, HubCommit, HubStore};
use memory::corrections::Correction;
use memory::entities::EntityKind;
use memory::forget::{ForgetMode, Selection};
use memory::identifiers::NodeId;
use memory::ports::{NewEntity, Store};
use serde_json::{Map, Value, json};

use super::Outcome;
use super::forgetting::forget;
use super::hub::{commit, put_version, write};
use super::stage::{Stage, at};
use crate::{pair, replace_waiting};

impl Stage<'_> {
    fn graph_node(&self, node_type: &str, label: &str, memory: Option<&str>) -> NewGraphNode {
        NewGraphNode {
            id: self.id(),
            node_type: node_type.to_owned(),
            label: label.to_owned(),
            description: String::new(),
            properties: Map::new(),
            confidence: 0.9,
            source_memory_id: memory.map(str::to_owned),
            first_learned_at: None,
        }
    }

    fn edge(&self, from: &str, to: &str, edge_type: &str, memory: Option<&str>) -> NewGraphEdge {
        NewGraphEdge {
            id: self.id(),
            from: EdgeEnd::Label(from.to_owned()),
            to: EdgeEnd::Label(to.to_owned()),
            edge_type: edge_type.to_owned(),
            properties: Map::new(),
            weight: 0.8,
            evidence: memory.map(|memory| format!("as {memory} says")),
            source_memory_id: memory.map(str::to_owned),
            occurred_at: None,
            valid_until: None,
        }
    }

    /// Writes an edge from the user to a topic, with a memory as its source.
    fn likes_topic(&self, topic: &str, seconds: i64, memory: Option<&str>) -> GraphWrite {
        GraphWrite {
            nodes: vec![self.graph_node("user", "user", memory), self.graph_node("topic", topic, memory)],
            edges: vec![self.edge("user", topic, "likes", memory)],
            instance: "laptop".to_owned(),
            at: at(seconds),
        }
    }
}

/// Types of the existing, valid edges, in alphabetical order, with their sources.
async fn live_edge_types<S: Store + GraphStore>(
    stage: &Stage<'_>,
    store: &S,
    seconds: i64,
) -> Result<Vec<(String, usize)>, Box<dyn std::error::Error>> {
    let mut edges = store.graph_edges(&stage.scope).await?;
    edges.retain(|edge| edge.is_valid_at(at(seconds)));
    let mut listed: Vec<_> =
        edges.into_iter().map(|edge| (edge.edge_type, edge.source_memory_ids.len())).collect();
    listed.sort();
    Ok(listed)
}

async fn labels<S: Store + GraphStore>(
    stage: &Stage<'_>,
    store: &S,
) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let mut labels: Vec<String> =
        store.graph_nodes(&stage.scope).await?.into_iter().map(|node| node.label).collect();
    labels.sort();
    Ok(labels)
}

/// Writing an edge again increases its weight; a missing end is reported, and nothing else is lost.
pub async fn an_edge_is_written_once_and_gains_sources<S: Store + GraphStore>(store: &S) -> Outcome {
    let stage = Stage::set(store).await?;
    let first = store.write_graph(&stage.scope, stage.likes_topic("tea", 1, Some("m1"))).await?;
    assert!(first.nodes.iter().all(|node| node.is_new) && first.edges[0].is_new);
    let mut again = stage.likes_topic("Tea", 2, Some("m2"));
    again.edges.push(stage.edge("user", "nowhere", "likes", None));
    again.edges[0].weight = 0.95;
    let again = store.write_graph(&stage.scope, again).await?;
    assert!(again.nodes.iter().all(|node| !node.is_new));
    let edge = &again.edges[0];
    assert_eq!((edge.is_new, edge.value.id, edge.value.weight), (false, first.edges[0].value.id, 0.95));
    assert_eq!(edge.value.evidence.as_deref(), Some("as m2 says"));
    assert_eq!(edge.value.source_memory_ids, ["m2", "m1"]);
    assert_eq!(
        (again.unresolved[0].index, again.unresolved[0].missing.as_slice()),
        (1, &["nowhere".to_owned()][..])
    );
    assert!(
        store.graph_edges(&stage.other).await?.is_empty()
            && store.graph_nodes(&stage.other).await?.is_empty()
    );
    let at_tea = store.graph_edges_at(&stage.scope, &[again.nodes[1].value.id]).await?;
    assert_eq!(at_tea.len(), 1);
    assert!(store.delete_graph_edge(&stage.scope, at_tea[0].id, at(3)).await?);
    assert!(!store.delete_graph_edge(&stage.scope, at_tea[0].id, at(3)).await?);
    assert_eq!(live_edge_types(&stage, store, 4).await?, []);
    Ok(())
}

/// An edge's type changes unless an edge of the new type joins the same nodes. Writing an edge again merges properties.
pub async fn an_edge_is_changed_and_stays_the_only_one<S: Store + GraphStore>(store: &S) -> Outcome {
    let stage = Stage::set(store).await?;
    let mut write = stage.likes_topic("tea", 1, None);
    write.edges.push(stage.edge("user", "tea", "drinks", None));
    let written = store.write_graph(&stage.scope, write).await?;
    let [likes, drinks] = [written.edges[0].value.id, written.edges[1].value.id];
    let to = |edge_type: &str| EdgeChange { edge_type: Some(edge_type.to_owned()), ..EdgeChange::default() };
    assert_eq!(store.change_graph_edge(&stage.scope, drinks, to("likes"), at(2)).await?, None);
    let change = EdgeChange { weight: Some(0.3), ..to("brews") };
    let changed = store.change_graph_edge(&stage.scope, drinks, change, at(3)).await?.ok_or("it is there")?;
    assert_eq!((changed.edge_type.as_str(), changed.weight), ("brews", 0.3));
    assert!(store.delete_graph_edge(&stage.scope, likes, at(4)).await?);
    let freed = store.change_graph_edge(&stage.scope, drinks, to("likes"), at(5)).await?;
    assert!(freed.is_some_and(|edge| edge.edge_type == "likes"), "the other one is deleted");

    let properties = |value: Value| value.as_object().cloned().unwrap_or_default();
    let mut again = stage.likes_topic("tea", 6, None);
    again.edges[0].properties = properties(json!({"since": "2020", "how": {"milk": true, "sugar": true}}));
    store.write_graph(&stage.scope, again.clone()).await?;
    again.edges[0].properties = properties(json!({"since": null, "how": {"sugar": false}}));
    let merged = store.write_graph(&stage.scope, again).await?;
    assert_eq!(merged.edges[0].value.properties, properties(json!({"how": {"milk": true, "sugar": false}})));
    Ok(())
}

/// Nodes and edges of an archive are added where they are missing, with all their sources.
pub async fn a_graph_is_restored_from_an_archive<S: Store + GraphStore + HubStore>(store: &S) -> Outcome {
    let stage = Stage::set(store).await?;
    let written = store.write_graph(&stage.scope, stage.likes_topic("tea", 1, Some("m1"))).await?;
    let mut kim = stage.likes_topic("rain", 2, None);
    kim.nodes[0] =
        NewGraphNode { description: "a friend".to_owned(), ..stage.graph_node("person", "Kim", None) };
    kim.edges[0] = stage.edge("Kim", "rain", "likes", None);
    store.write_graph(&stage.scope, kim).await?;
    let archive = store.export_hub(&stage.scope).await?;
    assert_eq!((archive.nodes.len(), archive.edges.len()), (4, 2));
    for node in &archive.nodes {
        store.delete_graph_node(&stage.scope, node.node.id, true, at(3)).await?;
    }
    assert_eq!(store.graph_edges(&stage.scope).await?, []);
    let restored = HubCommit { restored: Some(Box::new(archive.clone())), ..HubCommit::default() };
    commit(store, &stage.scope, restored).await?;
    assert_eq!(store.export_hub(&stage.scope).await?.edges, archive.edges);
    assert_eq!(labels(&stage, store).await?, ["Kim", "rain", "tea", "user"]);
    assert!(store.graph_nodes(&stage.scope).await?.iter().any(|node| node.description == "a friend"));
    assert_eq!(written.edges[0].value.source_memory_ids, ["m1"]);
    Ok(())
}

/// Erasing a memory erases its edges and nodes, except those of another memory or of none.
pub async fn dependent_memories_are_deleted_with_their_source<S: Store + GraphStore>(store: &S) -> Outcome {
    let stage = Stage::set(store).await?;
    for (topic, memory) in [("tea", Some("m1")), ("tea", Some("m2")), ("rain", Some("m1")), ("chess", None)] {
        store.write_graph(&stage.scope, stage.likes_topic(topic, 1, memory)).await?;
    }
    assert_eq!(store.withdraw_from_graph(&stage.other, "m1", at(2)).await?, Default::default());
    let gone = store.withdraw_from_graph(&stage.scope, "m1", at(2)).await?;
    assert_eq!((gone.nodes, gone.edges), (1, 1));
    assert_eq!(labels(&stage, store).await?, ["chess", "tea", "user"]);
    store.withdraw_from_graph(&stage.scope, "m2", at(3)).await?;
    assert_eq!(labels(&stage, store).await?, ["chess", "user"]);
    assert_eq!(store.withdraw_from_graph(&stage.scope, "", at(3)).await?, Default::default());
    assert_eq!(live_edge_types(&stage, store, 4).await?, [("likes".to_owned(), 0)]);
    Ok(())
}

/// A session is read once; one that changed meanwhile is read again, and nothing of the first reading stays.
pub async fn facts_are_extracted_once_from_new_memories<S: Store + GraphStore>(store: &S) -> Outcome {
    let stage = Stage::set(store).await?;
    let (message, session) = stage.claimed_session("Kim loves tea", 0).await?;
    let event = stage.event("Kim loves tea", &message);
    let kim = NewEntity::settled(stage.entity_id(), "Kim", EntityKind::Person);
    let mut extraction = stage.extraction(&session, 1, vec![event.clone()]);
    extraction.links = vec![(event.id, kim.id)];
    extraction.entities = vec![kim.clone()];
    store.commit_extraction(extraction).await?;
    assert_eq!(store.unread_sessions(&[], 10).await?, [], "the session is not over");
    store.finish_session(session.id, at(2)).await?;
    let unread = store.unread_sessions(&[], 10).await?;
    assert_eq!(unread.len(), 1);
    assert_eq!(store.unread_sessions(&[session.id], 10).await?, [], "it is to be passed over");
    let read = &unread[0];
    assert_eq!((&read.scope, read.session, read.persona.as_str()), (&stage.scope, session.id, "Luna"));
    assert_eq!(
        (read.events[0].node, read.events[0].quotes.as_slice()),
        (event.id, &["Kim loves tea".to_owned()][..])
    );
    assert_eq!((read.entities[0].id, read.entities[0].name.as_str()), (kim.id, "Kim"));

    let correction = |text: &str, seconds| Correction {
        node_id: event.id,
        text: text.to_owned(),
        terms: text.to_owned(),
        relational_tags: Vec::new(),
        entities: vec![kim.id],
        embedding: None,
        at: at(seconds),
    };
    store.correct_node(correction("Kim loves green tea", 3)).await?;
    let write = |seconds| {
        let mut write = stage.likes_topic("tea", seconds, Some(&event.id.to_string()));
        write.edges[0].from = EdgeEnd::Id(kim.id.0);
        write
    };
    assert_eq!(store.commit_facts(read, write(4)).await?, None);
    assert_eq!(labels(&stage, store).await?, ["Kim"], "an entity is a node without being asked");
    let anew = store.unread_sessions(&[], 10).await?.remove(0);
    let GraphWritten { edges, .. } = store.commit_facts(&anew, write(5)).await?.ok_or("nothing changed")?;
    assert_eq!((edges.len(), edges[0].value.from_id), (1, kim.id.0));
    assert_eq!(store.unread_sessions(&[], 10).await?, []);
    assert_eq!(store.commit_facts(&anew, write(6)).await?, None, "it is read already");

    // Another text removes the facts of the former one, and is read.
    store.correct_node(correction("Kim hates tea", 7)).await?;
    assert_eq!(live_edge_types(&stage, store, 8).await?, []);
    assert_eq!(store.unread_sessions(&[], 10).await?.len(), 1);
    Ok(())
}

/// Extracts one edge from the only session that waits.
async fn draw_edge<S: Store + GraphStore>(
    stage: &Stage<'_>,
    store: &S,
    event: NodeId,
    relation: &str,
    seconds: i64,
) -> Outcome {
    let unread = store.unread_sessions(&[], 10).await?.pop().ok_or("a session waits")?;
    let mut write = stage.likes_topic("Ulm", seconds, Some(&event.to_string()));
    write.edges[0].edge_type = relation.to_owned();
    store.commit_facts(&unread, write).await?.ok_or("nothing changed")?;
    Ok(())
}

/// A fact ends when its memory is replaced, and is erased when its memory is erased.
pub async fn facts_are_erased_and_restored_with_their_memories<S: Store + GraphStore>(store: &S) -> Outcome {
    let stage = Stage::set(store).await?;
    let older = stage.remember("user lives in Ulm", 0).await?;
    draw_edge(&stage, store, older.id, "lives_in", 1).await?;
    let (message, session) = stage.claimed_session("I moved away from Ulm", 10).await?;
    let newer = stage.event("user once lived in Ulm", &message);
    let mut extraction = stage.extraction(&session, 11, vec![newer.clone()]);
    extraction.pairs = vec![pair(newer.id, older.id)];
    store.commit_extraction(extraction).await?;
    replace_waiting(store, &session, at(11)).await?;
    store.finish_session(session.id, at(12)).await?;
    assert_eq!(live_edge_types(&stage, store, 13).await?, [], "also before the newer memory is read");
    assert_eq!(live_edge_types(&stage, store, 10).await?, [("lives_in".to_owned(), 1)], "it did hold");
    draw_edge(&stage, store, newer.id, "lived_in", 14).await?;
    assert_eq!(live_edge_types(&stage, store, 15).await?, [("lived_in".to_owned(), 1)]);
    store.undo_last_change(older.id, at(16)).await?.ok_or("it was replaced")?;
    assert_eq!(live_edge_types(&stage, store, 17).await?.len(), 2, "an undo gives it back");

    let forgotten = |node| Selection { nodes: [node].into(), ..Selection::default() };
    forget(&stage, forgotten(newer.id), ForgetMode::Cascade).await?;
    assert_eq!(store.graph_edges(&stage.scope).await?.len(), 1);
    forget(&stage, forgotten(older.id), ForgetMode::Cascade).await?;
    assert_eq!(labels(&stage, store).await?, Vec::<String>::new());
    assert_eq!(store.unread_sessions(&[], 10).await?, []);
    Ok(())
}

/// A search with a name finds the diary of the day whose event mentions it, once.
pub async fn names_lead_to_the_diaries_that_mention_them<S: Store + HubStore + GraphStore>(
    store: &S,
) -> Outcome {
    let stage = Stage::set(store).await?;
    let event = stage.remember("user loves tea", 0).await?;
    let session = store.unread_sessions(&[], 1).await?.remove(0);
    let memory = event.id.to_string();
    let mut drawn = stage.likes_topic("tea", 1, Some(&memory));
    drawn.edges.push(stage.edge("user", "tea", "drinks", Some(&memory)));
    store.commit_facts(&session, drawn).await?.ok_or("nothing changed")?;
    let day = DocumentName::parse("daily", "2024-10-04_laptop")?;
    put_version(store, &stage.scope, &day, "- user loves tea", 1).await?;
    let document = store.document(&stage.scope, &day).await?.ok_or("it is there")?;
    let line = DiaryLine {
        document: day.clone(),
        node: event.id,
        session: session.session,
        line: "- user loves tea".to_owned(),
    };
    let documents = vec![write(&day, document.heads)];
    commit(store, &stage.scope, HubCommit { documents, lines: vec![line], ..HubCommit::default() }).await?;
    let linked = store.memories_linked_to(&stage.scope, "what about tea?").await?;
    assert_eq!(linked.get("daily-2024-10-04_laptop"), Some(&1), "{linked:?}");
    assert_eq!(store.memories_linked_to(&stage.scope, "what about rain?").await?.len(), 0);
    Ok(())
}
