//! Entities and relations of documents that other programs write over MCP: extracted from the lines, found by a
//! search, erased with the lines.

use serde_json::{Value, json};
use testkit::Reply;

use crate::daemon::{Daemon, Home, Settings, eventually};
use crate::program::Program;
use crate::scripts;

const DAY: &str = "2026-07-01";

fn write(program: &mut Program, slug: &str, content: &str) {
    let memory = json!({"granularity": "significant", "date": DAY, "slug": slug, "content": content,
        "instanceId": "laptop"});
    let created = program.call("memory_create", &memory);
    assert_eq!(created["success"], true, "{created}");
}

/// The graph score of the memory with this slug; 0 if recall does not return it.
fn graph_score(program: &mut Program, slug: &str, query: &str) -> f64 {
    let found =
        program.call("memory_search", &json!({"query": query, "minScore": 0.0, "instanceId": "laptop"}));
    let memories = found["results"].as_array().unwrap();
    let memory = memories.iter().find(|memory| memory["slug"] == slug);
    memory.map_or(0.0, |memory| memory["graphScore"].as_f64().unwrap())
}

fn edges(program: &mut Program) -> Value {
    program.call("graph_edge_get", &json!({}))["edges"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn names_are_drawn_by_rules_where_there_is_no_model() {
    let home = Home::new();
    let _daemon = Daemon::start(&home, &Settings::offline()).await;
    let mut program = Program::start(&home, &Settings::offline());
    write(&mut program, "dog", "# A new friend\n\nMy dog is called Biscuit and he loves the beach.");
    write(&mut program, "zh", "我妹妹叫林月,她在上海开了一家咖啡馆。");
    for (slug, query) in [("dog", "How is Biscuit?"), ("zh", "林月最近怎么样?")] {
        eventually("the name is drawn", async || {
            (graph_score(&mut program, slug, query) > 0.0).then_some(())
        })
        .await;
    }
    let nodes = program.call("graph_node_search", &json!({"query": "Biscuit"}));
    let node = &nodes["results"][0]["node"];
    assert_eq!((&node["label"], &node["entity"]), (&json!("Biscuit"), &json!(true)), "{nodes}");
    assert_eq!(node["sourceMemoryIds"], json!([format!("significant-{DAY}_dog")]), "{nodes}");
    // Conclusions from the document are erased with it.
    let deleted = json!({"granularity": "significant", "date": DAY, "slug": "dog"});
    assert_eq!(program.call("memory_delete", &deleted)["success"], true);
    let nodes = program.call("graph_node_search", &json!({"query": "Biscuit"}));
    assert!(!nodes.to_string().contains("Biscuit"), "{nodes}");
}

#[tokio::test(flavor = "multi_thread")]
async fn relations_rest_on_a_line_of_the_document_and_go_with_it() {
    let model = scripts::model().await;
    model.answer_task("graph", |request| {
        let asked = request.user();
        let handle = |line: &str| {
            let at = asked.lines().find(|known| known.contains(line))?;
            Some(at.trim_start_matches("- ").split(':').next()?.to_owned())
        };
        let tie = |to: &str, relation: &str, line: &str| {
            let memory = handle(line)?;
            Some(json!({"from": "user", "to": to, "type": relation, "memory": memory, "confidence": 0.9}))
        };
        let ties: Vec<Value> =
            [tie("Porto", "lives_in", "lives in Porto"), tie("Biscuit", "has_pet", "Biscuit")]
                .into_iter()
                .flatten()
                .collect();
        let entities = json!([{"name": "Porto", "type": "place"}, {"name": "Biscuit", "type": "pet"}]);
        Reply::json(json!({"entities": entities, "relationships": ties}))
    });
    let home = Home::new();
    let settings = Settings::talking_to(&model);
    let _daemon = Daemon::start(&home, &settings).await;
    let mut program = Program::start(&home, &settings);
    let (porto, dog) = ("- Jonas lives in Porto now [via:laptop]", "- Biscuit moved with him [via:laptop]");
    write(&mut program, "move", &format!("# The move\n{porto}\n{dog}"));
    eventually("both relations are drawn", async || {
        (edges(&mut program).as_array().map(Vec::len) == Some(2)).then_some(())
    })
    .await;
    let drawn = edges(&mut program);
    let lives = drawn.as_array().unwrap().iter().find(|edge| edge["type"] == "lives_in").unwrap();
    assert_eq!(lives["evidence"], "Jonas lives in Porto now");
    assert_eq!(lives["sourceMemoryIds"], json!([format!("significant-{DAY}_move")]));
    assert!(graph_score(&mut program, "move", "What happened in Porto?") > 0.0);
    let asked = model.requests_for("graph");
    assert!(asked.iter().all(|request| !request.user().contains("via:")), "a prompt names no instance");

    // Only the new line is extracted, and conclusions from the deleted line are erased.
    let before = asked.len();
    let edit = json!({"granularity": "significant", "date": DAY, "slug": "move", "editedBy": "laptop",
        "content": format!("# The move\n{dog}\n- He likes the river there")});
    let updated = program.call("memory_update", &edit);
    assert_eq!(updated["success"], true, "{updated}");
    eventually("the relation of the gone line is withdrawn", async || {
        (edges(&mut program).as_array().map(Vec::len) == Some(1)).then_some(())
    })
    .await;
    assert_eq!(edges(&mut program)[0]["type"], "has_pet");
    let asked = model.requests_for("graph").split_off(before);
    assert!(
        asked.iter().all(|request| !request.user().contains("Biscuit moved")),
        "a read line is not read again"
    );
}
