//! Export and import of the hub's archives.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hub::api::archive::{EntityImport, ImportMode};
use hub::api::conflicts::{ConflictQuery, ConflictResolve, Resolution};
use hub::graph::{Graph, NodeList};
use proptest::prelude::*;
use testkit::SequentialIds;
use zip::write::SimpleFileOptions;

use crate::home::{Home, identity_text};

fn packed(files: &[(&str, &str)]) -> EntityImport {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (path, text) in files {
        archive.start_file(*path, SimpleFileOptions::default()).unwrap();
        archive.write_all(text.as_bytes()).unwrap();
    }
    let bytes = archive.finish().unwrap().into_inner();
    EntityImport { data: STANDARD.encode(bytes), mode: ImportMode::Overwrite }
}

#[tokio::test]
async fn defect_02_a_round_trip_loses_no_significant_memory() {
    let home = Home::open().await;
    home.create("significant", "2026-07-01/wedding", "# Wedding\nit rained").await;
    home.create("significant", "2026-07-01/葬礼", "# 葬礼\n很安静").await;
    home.create("daily", "2026-07-02", "- swam [chat:c] [via:home]").await;
    home.hub.identity_write(&home.caller, identity_text("self", "my_wants.md", "tea\n")).await.unwrap();
    let exported = home.hub.entity_export(&home.caller).await.unwrap();
    assert_eq!((exported.counts.identity_files, exported.counts.memory_entries), (1, 3));
    let other = Home::open().await;
    let import = EntityImport { data: exported.data, mode: ImportMode::Overwrite };
    let imported = other.hub.entity_import(&other.caller, import).await.unwrap();
    assert!(imported.success, "{}", imported.message);
    assert_eq!(other.text("significant", "2026-07-01/wedding").await.unwrap(), "# Wedding\nit rained\n");
    assert_eq!(other.text("significant", "2026-07-01/葬礼").await.unwrap(), "# 葬礼\n很安静\n");
    assert!(other.text("daily", "2026-07-02").await.is_some());
    assert_eq!(other.identity("my_wants.md").await.unwrap(), "tea\n");
}

#[tokio::test]
async fn defect_08_a_manifest_that_lies_changes_nothing() {
    let home = Home::open().await;
    home.create("daily", "2026-07-02", "- swam [chat:c] [via:home]").await;
    let manifest =
        r#"{"schema_version":1,"exported_at":"x","counts":{"identity_files":0,"memory_entries":5}}"#;
    let outside =
        r#"{"schema_version":1,"exported_at":"x","counts":{"identity_files":1,"memory_entries":0}}"#;
    for files in [
        vec![("manifest.json", manifest)],
        vec![("manifest.json", outside), ("entity-core/identity/../../x.md", "escaped")],
        vec![("manifest.json", "not json")],
        vec![("entity-core/identity/self/a.md", "no manifest")],
    ] {
        let imported = home.hub.entity_import(&home.caller, packed(&files)).await.unwrap();
        assert!(!imported.success, "{files:?}");
        assert!(imported.message.contains("nothing was imported"));
    }
    let garbage = EntityImport { data: "####".to_owned(), mode: ImportMode::Overwrite };
    assert!(!home.hub.entity_import(&home.caller, garbage).await.unwrap().success);
    assert!(home.text("daily", "2026-07-02").await.is_some());
}

/// The second half: a damaged graph file is skipped.
#[tokio::test]
async fn defect_08_the_compatible_layout_is_read_without_its_graph() {
    let home = Home::open().await;
    let manifest = r#"{"schema_version":1,"exported_at":"2026-01-01T00:00:00Z","parts":{"entity_core":{}},
        "counts":{"identity_files":1,"memory_entries":2,"graph_nodes":9,"graph_edges":9}}"#;
    let import = packed(&[
        ("export/manifest.json", manifest),
        ("export/entity-core/identity/self/my_identity.md", "I am.\n"),
        ("export/entity-core/identity-meta.json", r#"{"self/my_identity.md":"Who I am"}"#),
        ("export/entity-core/memories/daily/2026-01-01_psycheros.md", "- woke [chat:a] [via:psycheros]"),
        ("export/entity-core/memories/significant/2026-01-02.md", "# First snow\nwhite"),
        ("export/entity-core/knowledge-graph/graph.sqlite", "damaged"),
    ]);
    let imported = home.hub.entity_import(&home.caller, import).await.unwrap();
    assert!(imported.success, "{}", imported.message);
    assert_eq!(home.identity("my_identity.md").await.unwrap(), "I am.\n");
    let own = home.hub.identity_get_all(&home.caller).await.unwrap().own;
    assert_eq!(own[0].prompt_label, "Who I am");
    assert!(home.text("significant", "2026-01-02/first-snow").await.is_some());
}

/// The actions from which the histories of a hub are generated.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Day(u8),
    Event(u8),
    Identity(u8),
    Label(u8),
    Delete(u8),
    Meet(u8, u8),
    Decide,
    Copy,
    Node(u8),
    Edge(u8, u8),
    Withdraw(u8),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0u8..6).prop_map(Step::Day),
        (0u8..4).prop_map(Step::Event),
        (0u8..3).prop_map(Step::Identity),
        (0u8..3).prop_map(Step::Label),
        (0u8..4).prop_map(Step::Delete),
        (0u8..3, 0u8..4).prop_map(|(who, what)| Step::Meet(who, what)),
        Just(Step::Decide),
        Just(Step::Copy),
        (0u8..6).prop_map(Step::Node),
        (0u8..6, 0u8..6).prop_map(|(from, to)| Step::Edge(from, to)),
        (0u8..4).prop_map(Step::Withdraw),
    ]
}

pub(crate) fn graph(home: &Home) -> Graph {
    let ids = Arc::new(SequentialIds::new(11));
    Graph::new(
        home.store.clone(),
        home.store.clone(),
        home.store.clone(),
        None,
        Arc::new(home.clock.clone()),
        ids,
    )
}

pub(crate) fn fields<T: serde::de::DeserializeOwned>(value: serde_json::Value) -> T {
    serde_json::from_value(value).unwrap()
}

async fn decide(home: &Home) {
    let open = home.hub.conflict_list(&home.caller, ConflictQuery::default()).await.unwrap();
    if let Some(conflict) = open.conflicts.first() {
        let conflict_id = conflict.id.clone();
        let decision = ConflictResolve { conflict_id, resolution: Resolution::Kept, content: None };
        home.hub.conflict_resolve(&home.caller, decision).await.unwrap();
    }
}

pub(crate) async fn live(home: &Home, graph: &Graph, steps: &[Step]) {
    let scope = &home.caller.scope;
    let kinds = ["person", "topic", "place", "goal", "person", "topic"];
    for (number, step) in steps.iter().enumerate() {
        match step {
            Step::Day(day) => {
                let line = format!("- fact {number} [chat:c{number}] [via:home]");
                home.create("daily", &format!("2026-07-0{}", day + 1), &line).await;
            }
            Step::Event(event) => {
                home.create("significant", &format!("2026-07-01/大事{event}"), &format!("# {number}")).await;
            }
            Step::Identity(name) => {
                let text = identity_text("self", &format!("wants{name}.md"), &format!("want {number}\n"));
                home.hub.identity_write(&home.caller, text).await.unwrap();
            }
            Step::Label(name) => {
                let meta = serde_json::json!({"category": "self", "filename": format!("wants{name}.md"),
                                              "promptLabel": format!("label {number}")});
                home.hub.identity_set_meta(&home.caller, fields(meta)).await.unwrap();
            }
            Step::Delete(event) => {
                let memory = crate::home::reference("significant", &format!("2026-07-01/大事{event}"));
                home.hub.memory_delete(&home.caller, memory).await.unwrap();
            }
            Step::Meet(who, event) => {
                let text = (number % 5 > 0).then(|| format!("told by {who}, {number}"));
                let change = crate::home::change(
                    &format!("大事{event}"),
                    text.as_deref(),
                    &format!("2026-07-1{}T00:00:00Z", number % 5),
                    &format!("remote{who}:{}", number + 1),
                );
                home.push(&format!("remote{who}"), vec![change]).await;
            }
            Step::Decide => decide(home).await,
            Step::Copy => {
                home.hub.snapshot_create(&home.caller).await.unwrap();
            }
            Step::Node(node) => {
                let node = usize::from(*node);
                let node = serde_json::json!({"type": kinds[node], "label": format!("node {node}"),
                    "description": format!("told {number}"), "instanceId": "home", "confidence": 0.75,
                    "properties": {"at": number}, "sourceMemoryId": format!("significant-2026-07-01_大事{}", node % 4)});
                graph.create_node(scope, fields(node)).await.unwrap();
            }
            Step::Edge(from, to) => {
                let edge = serde_json::json!({"edges": [{"fromLabel": format!("node {from}"),
                    "toLabel": format!("node {to}"), "type": "knows", "evidence": format!("told {number}"),
                    "sourceMemoryId": format!("significant-2026-07-01_大事{}", from % 4)}], "instanceId": "home"});
                graph.write_transaction(scope, fields(edge)).await.unwrap();
            }
            Step::Withdraw(node) => {
                let nodes = graph.list_nodes(scope, NodeList::default()).await.unwrap().nodes;
                if let Some(node) = nodes.get(usize::from(*node)) {
                    let id = node.id.to_string();
                    graph.delete_node(scope, fields(serde_json::json!({"id": id}))).await.unwrap();
                }
            }
        }
    }
}

/// The files of an archive.
pub(crate) fn unpacked(data: &str) -> BTreeMap<String, String> {
    let bytes = STANDARD.decode(data).unwrap();
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(bytes)).unwrap();
    (0..archive.len())
        .map(|index| {
            let mut file = archive.by_index(index).unwrap();
            let mut text = String::new();
            file.read_to_string(&mut text).unwrap();
            (file.name().unwrap().to_string(), text)
        })
        .collect()
}

pub(crate) async fn exported(home: &Home) -> BTreeMap<String, String> {
    unpacked(&home.hub.entity_export(&home.caller).await.unwrap().data)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Importing an archive into an empty home and exporting it again gives the same archive.
    #[test]
    fn an_archive_restores_everything(steps in proptest::collection::vec(step(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let old = Home::without_files().await;
            live(&old, &graph(&old), &steps).await;
            let archive = old.hub.entity_export(&old.caller).await.unwrap();
            let new = Home::without_files().await;
            let import = EntityImport { data: archive.data.clone(), mode: ImportMode::Overwrite };
            let imported = new.hub.entity_import(&new.caller, import.clone()).await.unwrap();
            assert!(imported.success, "{}", imported.message);
            assert_eq!(imported.counts, archive.counts);
            let (left, right) = (unpacked(&archive.data), exported(&new).await);
            for (path, text) in &left {
                assert_eq!(Some(text), right.get(path), "{path}");
            }
            assert_eq!(left.len(), right.len());
            // A second import changes nothing, and new rows continue the numbering.
            assert!(new.hub.entity_import(&new.caller, import).await.unwrap().success);
            assert_eq!(exported(&new).await, left);
            new.create("daily", "2026-07-20", "- arrived [chat:z] [via:home]").await;
            let check = new.store.check().await.unwrap();
            assert!(check.is_intact(), "{check:?}");
            let found = new.hub.memory_grep(&new.caller, fields(serde_json::json!({"query": "arrived"}))).await.unwrap();
            assert_eq!(found.results.len(), 1);
        });
    }
}

fn repacked(files: &BTreeMap<String, String>) -> EntityImport {
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    packed(&files)
}

/// Rewrites the manifest, so that the only remaining defect is the one under test.
fn with_true_digests(files: &mut BTreeMap<String, String>) {
    let mut manifest: serde_json::Value = serde_json::from_str(&files["manifest.json"]).unwrap();
    let digests: BTreeMap<&String, String> = files
        .iter()
        .filter(|(path, _)| *path != "manifest.json")
        .map(|(path, text)| (path, hub::mirror::digest(text)))
        .collect();
    manifest["files"] = serde_json::to_value(digests).unwrap();
    files.insert("manifest.json".to_owned(), manifest.to_string());
}

/// A defect of an archive, and a change that causes it.
type Lie = (&'static str, Box<dyn Fn(&mut BTreeMap<String, String>)>);

fn lies() -> Vec<Lie> {
    let event = "history/significant/2026-07-01_大事0.json";
    let replaced = |path: &'static str, from: &'static str, to: &'static str| -> Lie {
        (
            to,
            Box::new(move |files| {
                let text = files[path].replacen(from, to, 1);
                assert_ne!(text, files[path], "{path} has no {from}");
                files.insert(path.to_owned(), text);
            }),
        )
    };
    let moved = |from: &'static str, to: &'static str| -> Lie {
        (
            to,
            Box::new(move |files| {
                let text = files.remove(from).unwrap();
                files.insert(to.to_owned(), text);
            }),
        )
    };
    vec![
        replaced(event, "\"shown\"", "\"past\""),
        replaced(event, "\"number\": 1", "\"number\": 2"),
        replaced(event, "\"number\": 1", "\"number\": -1"),
        replaced(event, "\"vector\"", "\"other\""),
        replaced("graph.json", "\"fromId\": \"", "\"fromId\": \"f"),
        replaced("graph.json", "\"confidence\": 0.75", "\"confidence\": 7.5"),
        replaced("state.json", "\"seen\"", "\"unseen\""),
        moved(event, "history/significant/2026-02-31_x.json"),
        moved(event, "history/significant/../../2026-07-01_x.json"),
        moved(event, "history/2026-07-01_x.json"),
        moved("graph.json", "elsewhere.json"),
        (
            "text",
            Box::new(|files| {
                let path = files.keys().find(|path| path.starts_with("memories/daily")).unwrap().clone();
                let text = format!("{}- and more\n", files[&path]);
                files.insert(path, text);
            }),
        ),
        (
            "counts",
            Box::new(|files| {
                let manifest = files["manifest.json"].replace("\"graphEdges\": 1", "\"graphEdges\": 2");
                files.insert(
                    "manifest.json".to_owned(),
                    manifest.replace("\"graph_edges\": 1", "\"graph_edges\": 2"),
                );
            }),
        ),
    ]
}

#[tokio::test]
async fn an_archive_that_lies_about_its_past_changes_nothing() {
    let old = Home::without_files().await;
    let steps = [
        Step::Event(0),
        Step::Meet(1, 0),
        Step::Event(0),
        Step::Day(1),
        Step::Node(0),
        Step::Node(1),
        Step::Edge(0, 1),
    ];
    live(&old, &graph(&old), &steps).await;
    let truth = exported(&old).await;
    let new = Home::without_files().await;
    new.create("daily", "2026-07-02", "- kept [chat:c] [via:home]").await;
    let before = exported(&new).await;
    for (what, lie) in lies() {
        let mut files = truth.clone();
        lie(&mut files);
        with_true_digests(&mut files);
        let imported = new.hub.entity_import(&new.caller, repacked(&files)).await.unwrap();
        assert!(
            !imported.success && imported.message.contains("nothing was imported"),
            "{what}: {}",
            imported.message
        );
        assert_eq!(exported(&new).await, before, "{what}");
    }
    let imported = new.hub.entity_import(&new.caller, repacked(&truth)).await.unwrap();
    assert!(imported.success, "{}", imported.message);
    // A digest that does not match is a defect too.
    let mut files = truth;
    files.insert("graph.json".to_owned(), "{\"nodes\":[],\"edges\":[]}".to_owned());
    assert!(!new.hub.entity_import(&new.caller, repacked(&files)).await.unwrap().success);
}
