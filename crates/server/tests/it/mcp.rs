//! The hub's tools over HTTP.

use axum::body::Body;
use axum::http::header::{AUTHORIZATION, HOST};
use axum::http::{Method, Request, StatusCode};
use serde_json::{Value, json};

use crate::home::{Answer, HOSTNAME, Home, TOKEN, until};
use crate::mcp_schemas::tools;

/// Sends one message of the protocol.
pub(crate) async fn say(home: &Home, token: &str, message: Value) -> Answer {
    let kinds = "application/json, text/event-stream";
    home.ask_accepting(token, Method::POST, "/mcp", Some(message), kinds).await
}

/// Calls a tool and returns its result.
pub(crate) async fn call(home: &Home, token: &str, tool: &str, arguments: Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let answer = say(home, token, message).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    answer.json()["result"].clone()
}

#[tokio::test]
async fn a_client_is_greeted_and_shown_the_tools() {
    let home = Home::new().await;
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    let greeting = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    let greeted = say(&home, TOKEN, greeting).await.json();
    assert_eq!(greeted["result"]["serverInfo"]["name"], "echovessel");
    assert_eq!(greeted["result"]["protocolVersion"], "2025-06-18");
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(say(&home, TOKEN, initialized).await.status, StatusCode::ACCEPTED);
    let tools = tools(&home, TOKEN).await;
    assert_eq!(tools.len(), 52);
    let hint = |name: &str, hint: &str| {
        let found = tools.iter().find(|tool| tool["name"] == name);
        found.unwrap()["annotations"][hint].clone()
    };
    assert_eq!(hint("memory_search", "readOnlyHint"), true);
    assert_eq!(hint("memory_create", "readOnlyHint"), false);
    // A summary or an event replaces the one before.
    assert_eq!(hint("memory_create", "destructiveHint"), true);
    assert_eq!(hint("memory_consolidate", "destructiveHint"), true);
    assert_eq!(hint("identity_append", "destructiveHint"), false);
    // An instance's next push counts as having seen what it pulled last.
    assert_eq!(hint("sync_pull", "readOnlyHint"), false);
    assert_eq!(hint("sync_pull", "destructiveHint"), false);
    assert_eq!(hint("sync_pull", "idempotentHint"), true);
    assert_eq!(hint("forget", "destructiveHint"), true);
}

#[tokio::test]
async fn invalid_bodies_are_refused_in_json() {
    let home = Home::new().await;
    let send = async |method: Method, kind: &str, body: &str| {
        let request = Request::builder()
            .method(method)
            .uri("/mcp")
            .header(HOST, HOSTNAME)
            .header(AUTHORIZATION, format!("Bearer {TOKEN}"))
            .header("accept", "application/json, text/event-stream")
            .header("content-type", kind);
        Answer::of(home.raw(request.body(Body::from(body.to_owned())).unwrap()).await).await
    };
    for (body, code) in [("{broken", -32_700), ("", -32_700), ("{\"a\": 1}", -32_600), ("[1]", -32_600)] {
        let refused = send(Method::POST, "application/json; charset=utf-8", body).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{body}: {}", refused.text);
        let error = refused.json();
        assert_eq!(
            (&error["jsonrpc"], &error["id"], &error["error"]["code"]),
            (&json!("2.0"), &Value::Null, &json!(code)),
            "{body}"
        );
    }
    send(Method::POST, "text/plain", "{}").await.is_problem(415);
    let listening = send(Method::GET, "application/json", "").await;
    listening.is_problem(405);
    assert_eq!(listening.header("allow"), Some("POST"));
}

/// A body without a content length.
fn endless(mebibytes: usize) -> Body {
    let piece = axum::body::Bytes::from(vec![b' '; 1024 * 1024]);
    Body::from_stream(futures_util::stream::iter(
        (0..mebibytes).map(move |_| Ok::<_, std::io::Error>(piece.clone())),
    ))
}

#[tokio::test]
async fn a_message_that_is_too_long_is_refused_with_its_own_limit() {
    let home = Home::new().await;
    let say = |body: Body, length: Option<usize>| {
        let mut request = Request::builder()
            .method(Method::POST)
            .uri("/mcp")
            .header(HOST, HOSTNAME)
            .header(AUTHORIZATION, format!("Bearer {TOKEN}"))
            .header("accept", "application/json, text/event-stream")
            .header("content-type", "application/json");
        if let Some(length) = length {
            request = request.header("content-length", length);
        }
        home.raw(request.body(body).unwrap())
    };
    let limit = server::mcp::MESSAGE_BYTES_MAX;
    for (body, length) in [(endless(70), None), (endless(1), Some(limit + 1))] {
        let refused = Answer::of(say(body, length).await).await;
        refused.is_problem(413);
        assert!(refused.text.contains(&limit.to_string()), "{}", refused.text);
    }
    // A body as long as the largest archive in base64 is read to its end.
    let read = Answer::of(say(endless(67), None).await).await;
    assert_eq!(read.json()["error"]["code"], -32_700, "{}", read.text);
}

#[tokio::test]
async fn a_token_speaks_for_its_instance_alone() {
    let home = Home::new().await;
    let laptop = home.token("laptop", &["hub:laptop"], None).await;
    let text = json!({"category": "self", "filename": "my_wants.md", "content": "tea"});
    let written = call(&home, &laptop, "identity_write", text.clone()).await;
    assert_eq!(written["structuredContent"]["success"], true, "{written}");
    let shown = written["content"][0]["text"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(shown).unwrap(), written["structuredContent"]);
    let mut foreign = text.clone();
    foreign["instanceId"] = json!("phone");
    let refused = call(&home, &laptop, "identity_write", foreign.clone()).await;
    assert_eq!(refused["structuredContent"]["success"], false);
    assert!(refused["isError"].is_null(), "{refused}");
    let push = json!({"instance": {"id": "phone", "type": "other", "version": 1}});
    let refused = call(&home, &laptop, "sync_push", push).await;
    assert_eq!(refused["structuredContent"]["success"], false);
    let owners = call(&home, TOKEN, "identity_write", foreign).await;
    assert_eq!(owners["structuredContent"]["success"], true, "{owners}");
    let chat = home.token("chat", &["chat"], None).await;
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    assert_eq!(say(&home, &chat, list.clone()).await.status, StatusCode::FORBIDDEN);
    assert_eq!(say(&home, "wrong", list).await.status, StatusCode::UNAUTHORIZED);
    assert_eq!(home.ask(Method::GET, "/mcp", None).await.status, StatusCode::METHOD_NOT_ALLOWED);
}

#[tokio::test]
async fn a_user_s_token_stays_in_its_memory() {
    let home = Home::new().await;
    let ann = home.token("ann", &["hub:phone"], Some("ann")).await;
    let said = call(&home, &ann, "remember", json!({"text": "I live in Lisbon."})).await;
    assert_eq!(said["structuredContent"]["success"], true, "{said}");
    let foreign = call(&home, &ann, "recall", json!({"text": "Lisbon", "user_id": "self"})).await;
    assert_eq!(foreign["structuredContent"]["success"], false);
    let own = call(&home, &ann, "recall", json!({"text": "Who lives in Lisbon?"})).await;
    assert_eq!(own["structuredContent"]["candidates"][0]["text"], "I live in Lisbon.");
    let owner = call(&home, TOKEN, "recall", json!({"text": "Who lives in Lisbon?"})).await;
    assert_eq!(owner["structuredContent"]["candidates"], json!([]));
}

#[tokio::test]
async fn errors_of_invalid_arguments_say_what_to_do() {
    let home = Home::new().await;
    let cases = [
        ("memory_search", json!({}), "query: it is required"),
        ("identity_write", json!({"category": "me", "filename": "a.md", "content": ""}), "one of self, user"),
        ("memory_list", json!({"limit": 1_000}), "limit: it must be from 1 to 100"),
        (
            "memory_create",
            json!({"granularity": "daily", "date": "2026-13-99", "content": "x"}),
            "2026-13-99",
        ),
        ("graph_node_create", json!({"type": 3, "label": "x"}), "type: it must be a text"),
        ("graph_node_create", json!({"type": "topic", "label": ""}), "label: it must not be empty"),
        (
            "graph_node_create",
            json!({"type": "topic", "label": "x", "confidence": 7}),
            "confidence: it must be from 0 to 1",
        ),
        (
            "graph_edge_create",
            json!({"fromId": "a", "toId": "b", "type": "x", "weight": -0.5}),
            "weight: it must be from 0 to 1",
        ),
        (
            "graph_write_transaction",
            json!({"nodes": [{"type": "topic", "label": "x", "confidence": 1.5}]}),
            "nodes[0].confidence: it must be from 0 to 1",
        ),
        ("graph_node_search", json!({"query": "茶", "minScore": 1.1}), "minScore: it must be from 0 to 1"),
        ("graph_node_search", json!({"query": "tea", "limit": 101}), "limit: it must be from 1 to 100"),
        ("graph_node_list", json!({"limit": 501}), "limit: it must be from 1 to 500"),
        ("graph_traverse", json!({"startNodeId": "a", "maxDepth": 6}), "maxDepth: it must be from 1 to 5"),
        ("graph_traverse", json!({"startNodeId": "a", "limit": 0}), "limit: it must be from 1 to 200"),
        ("graph_subgraph", json!({"nodeId": "a", "depth": 4}), "depth: it must be from 1 to 3"),
        ("no_such_tool", json!({}), "Tool no_such_tool not found"),
    ];
    for (tool, arguments, expected) in cases {
        let result = call(&home, TOKEN, tool, arguments).await;
        assert_eq!(result["isError"], true, "{tool}: {result}");
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.starts_with("MCP error -32602: ") && text.contains(expected), "{tool}: {text}");
    }
}

#[tokio::test]
async fn the_living_memory_takes_the_words_of_the_other_tools_too() {
    let home = Home::new().await;
    let kept = call(&home, TOKEN, "remember", json!({"content": "我住在里斯本。"})).await;
    assert_eq!(kept["structuredContent"]["success"], true, "{kept}");
    for arguments in [json!({"query": "谁住在里斯本？"}), json!({"text": "谁住在里斯本？", "query": "chess"})]
    {
        let recalled = call(&home, TOKEN, "recall", arguments).await;
        assert_eq!(recalled["structuredContent"]["candidates"][0]["text"], "我住在里斯本。", "{recalled}");
    }
    let empty = call(&home, TOKEN, "recall", json!({"query": ""})).await;
    let told = empty["content"][0]["text"].as_str().unwrap();
    assert!(told.contains("text: it must not be empty"), "{told}");
}

/// Names were used as paths (defect 14).
#[tokio::test]
async fn defect_14_no_name_leaves_its_folder() {
    let home = Home::new().await;
    let cases = [
        ("identity_write", json!({"category": "custom", "filename": "../../x.md", "content": "x"})),
        (
            "memory_create",
            json!({"granularity": "significant", "date": "2026-05-02", "slug": "../../x", "content": "x"}),
        ),
        ("memory_create", json!({"granularity": "daily", "date": "../../x", "content": "x"})),
        (
            "memory_create",
            json!({"granularity": "daily", "date": "2026-05-02", "content": "x", "instanceId": "../x"}),
        ),
        (
            "memory_read",
            json!({"granularity": "significant", "date": "2026-05-02", "slug": "../../../etc/passwd"}),
        ),
        ("memory_delete", json!({"granularity": "daily", "date": "../../x"})),
        ("snapshot_list", json!({"category": "self", "filename": "../../x.md"})),
    ];
    for (tool, arguments) in cases {
        let result = call(&home, TOKEN, tool, arguments.clone()).await;
        assert_eq!(result["isError"], true, "{tool} {arguments}: {result}");
    }
    let identity = json!({"category": "self", "filename": "../../ESCAPED.sh", "content": "x",
        "lastModified": "2026-05-02T10:00:00Z", "modifiedBy": "x", "version": 1});
    let memory = json!({"granularity": "daily", "date": "../../x", "content": "x", "chatIds": [],
        "sourceInstance": "home", "version": 1});
    let push = json!({"instance": {"id": "home", "type": "other", "version": 1},
        "identityChanges": [identity], "memoryChanges": [memory]});
    let result = call(&home, TOKEN, "sync_push", push).await;
    let statuses: Vec<&Value> = result["structuredContent"]["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| &item["status"])
        .collect();
    assert_eq!(statuses, ["refused", "refused"], "{result}");
}

#[tokio::test]
async fn forgetting_by_text_needs_a_preview_and_is_recorded() {
    let home = Home::new().await;
    let laptop = home.token("laptop", &["hub:laptop"], None).await;
    call(&home, &laptop, "remember", json!({"text": "The blue dolphin is a secret."})).await;
    let hasty = call(&home, &laptop, "forget", json!({"text": "blue dolphin"})).await;
    assert_eq!(hasty["structuredContent"]["success"], false);
    let shown = call(&home, &laptop, "forget_preview", json!({"text": "blue dolphin"})).await;
    let id = shown["structuredContent"]["id"].clone();
    assert_eq!(shown["structuredContent"]["counts"]["messages"], 1);
    let done = call(&home, &laptop, "forget", json!({"text": "blue dolphin", "confirm": id})).await;
    assert_eq!(done["structuredContent"]["success"], true, "{done}");
    let acts = home.ask(Method::GET, "/api/admin/audit", None).await.json();
    let act = &acts["items"][0];
    assert_eq!((act["act"].as_str(), act["token"].as_str()), (Some("MCP forget"), Some("laptop")));
    assert!(!acts.to_string().contains("dolphin"));
}

#[tokio::test]
async fn the_graph_is_one_with_the_entities() {
    let home = Home::new().await;
    let asked = json!({
        "nodes": [{"type": "person", "label": "Mia"}, {"type": "topic", "label": "chess"}],
        "edges": [{"fromLabel": "Mia", "toLabel": "chess", "type": "plays"}, {"fromLabel": "Mia", "toLabel": "?", "type": "x"}],
    });
    let written = call(&home, TOKEN, "graph_write_transaction", asked).await["structuredContent"].clone();
    assert_eq!((written["nodesCreated"].clone(), written["edgesCreated"].clone()), (json!(2), json!(1)));
    assert_eq!(written["unresolved"], json!([{"index": 1, "missing": ["?"]}]));
    let id = written["nodes"][0]["id"].as_str().unwrap();
    let entity = home.ask(Method::GET, &format!("/api/admin/memory/entities/{id}"), None).await;
    assert_eq!(entity.status, StatusCode::OK, "{}", entity.text);
    let walked = call(&home, TOKEN, "graph_traverse", json!({"startNodeId": id})).await;
    assert_eq!(walked["structuredContent"]["results"][0]["node"]["label"], "chess");
    let missing = call(&home, TOKEN, "graph_node_get", json!({"id": "nothing"})).await;
    assert_eq!(missing["structuredContent"]["success"], false);
    let laptop = home.token("laptop", &["hub:laptop"], None).await;
    for (instance, done) in [(json!("phone"), false), (json!("laptop"), true), (Value::Null, true)] {
        let change = json!({"id": id, "properties": {"at": 1}, "confidence": 7, "instanceId": instance});
        let changed = call(&home, &laptop, "graph_node_update", change).await["structuredContent"].clone();
        assert_eq!(changed["success"], done, "{changed}");
        assert!(!done || changed["node"]["confidence"] == 1.0, "{changed}");
    }
}

/// The first form of defect 1, over the protocol.
#[tokio::test]
async fn defect_01_twenty_appends_at_once_are_all_kept() {
    let home = Home::new().await;
    let appends = (0..20).map(|number| {
        let text = json!({"category": "custom", "filename": "list.md", "content": format!("line {number}.")});
        call(&home, TOKEN, "identity_append", text)
    });
    for written in futures_util::future::join_all(appends).await {
        assert_eq!(written["structuredContent"]["success"], true, "{written}");
    }
    let all = call(&home, TOKEN, "identity_get_all", json!({})).await;
    let content = all["structuredContent"]["custom"][0]["content"].as_str().unwrap();
    assert!((0..20).all(|number| content.contains(&format!("line {number}."))), "{content}");
}

fn event(content: &str, at: &str) -> Value {
    json!({"granularity": "significant", "date": "2026-07-01", "slug": "blue-dolphin", "content": content,
        "chatIds": [], "sourceInstance": "laptop", "version": 1, "updatedAt": at})
}

#[tokio::test]
async fn watchers_see_a_conflict_once() {
    let home = Home::new().await;
    let mut watcher = home.runtime.broadcast().subscribe();
    for (who, text) in [("laptop", "it was blue"), ("phone", "it was green"), ("phone", "it was green")] {
        let push = json!({"instance": {"id": who, "type": "other", "version": 1},
            "memoryChanges": [event(text, "2026-07-02T00:00:00Z")]});
        call(&home, TOKEN, "sync_push", push).await;
    }
    let opened = until(&mut watcher, &["sync.conflict"]).await;
    let open = call(&home, TOKEN, "conflict_list", json!({})).await["structuredContent"]["conflicts"].clone();
    assert_eq!(open.as_array().map(Vec::len), Some(1), "{open}");
    assert_eq!(
        opened.data,
        json!({"conflict_id": open[0]["id"], "kind": "significant", "filename": "2026-07-01_blue-dolphin.md",
            "created_at": open[0]["createdAt"], "persona_id": "default", "user_id": "self"})
    );
    let deleted = json!({"granularity": "significant", "date": "2026-07-01", "slug": "blue-dolphin"});
    call(&home, TOKEN, "memory_delete", deleted).await;
    let push = json!({"instance": {"id": "tablet", "type": "other", "version": 1},
        "memoryChanges": [event("it was red", "2026-07-03T00:00:00Z")]});
    call(&home, TOKEN, "sync_push", push).await;
    let again = until(&mut watcher, &["sync.conflict"]).await;
    assert_ne!(again.data["conflict_id"], opened.data["conflict_id"], "each is sent once");
    let status = call(&home, TOKEN, "sync_status", json!({})).await["structuredContent"].clone();
    for field in [
        "llmAvailable",
        "lastAttempt",
        "lastSuccess",
        "lastError",
        "attemptsTotal",
        "successesTotal",
        "nodesCreatedTotal",
        "edgesCreatedTotal",
    ] {
        assert!(status["extraction"].as_object().unwrap().contains_key(field), "{field}: {status}");
    }
}

#[tokio::test]
async fn documents_erased_by_name_do_not_return() {
    let home = Home::new().await;
    let create = json!({"granularity": "significant", "date": "2026-07-01", "slug": "blue-dolphin",
        "content": "# Something", "instanceId": "laptop"});
    call(&home, TOKEN, "memory_create", create.clone()).await;
    let shown = call(&home, TOKEN, "forget_preview", json!({"text": "blue-dolphin"})).await;
    let confirm = shown["structuredContent"]["id"].clone();
    let done = call(&home, TOKEN, "forget", json!({"text": "blue-dolphin", "confirm": confirm})).await;
    assert_eq!(done["structuredContent"]["success"], true, "{done}");
    let pulled = call(&home, TOKEN, "sync_pull", json!({"instanceId": "phone", "since": {}})).await;
    assert!(!pulled.to_string().contains("dolphin"), "{pulled}");
    // A client with a copy pushes it again: the erased text is dropped before any merge, and the answer says so.
    let push = json!({"instance": {"id": "phone", "type": "other", "version": 1},
        "memoryChanges": [event("# Something", "2099-01-01T00:00:00Z")]});
    let pushed = call(&home, TOKEN, "sync_push", push).await;
    let result = &pushed["structuredContent"]["results"][0];
    assert_eq!(result["status"], "known", "{pushed}");
    assert!(result["reason"].as_str().is_some_and(|reason| reason.contains("erased")), "{pushed}");
    let read = json!({"granularity": "significant", "date": "2026-07-01", "slug": "blue-dolphin"});
    let read = call(&home, TOKEN, "memory_read", read).await;
    assert_eq!(read["structuredContent"]["success"], false, "{read}");
    // A client that writes it again does so on purpose.
    let again = call(&home, TOKEN, "memory_create", create).await;
    assert_eq!(again["structuredContent"]["success"], true, "{again}");
}

#[tokio::test]
async fn instances_with_a_copy_get_an_erasure_and_the_receipt_says_when() {
    let home = Home::new().await;
    let create = json!({"granularity": "significant", "date": "2026-07-01", "slug": "blue-dolphin",
        "content": "# Something", "instanceId": "laptop"});
    call(&home, TOKEN, "memory_create", create).await;
    let pull = async |who: &str, since: Value| {
        let answer = call(&home, TOKEN, "sync_pull", json!({"instanceId": who, "since": since})).await;
        answer["structuredContent"].clone()
    };
    let token = |pulled: &Value| pulled["newSyncToken"]["versionVector"].clone();
    let first = pull("tablet", json!({})).await;
    assert!(first.to_string().contains("blue-dolphin"), "{first}");
    let shown = call(&home, TOKEN, "forget_preview", json!({"text": "blue-dolphin"})).await;
    let confirm = shown["structuredContent"]["id"].clone();
    call(&home, TOKEN, "forget", json!({"text": "blue-dolphin", "confirm": confirm})).await;
    let receipt = async || {
        let list = home.get("/api/admin/memory/receipts").await;
        list.json()["receipts"][0].clone()
    };
    let waits = json!([{"what": "instance", "name": "tablet"}]);
    assert_eq!((&receipt().await["not_reached"], &receipt().await["reached"]), (&waits, &json!([])));

    let stranger = pull("phone", json!({})).await;
    assert!(!stranger.to_string().contains("dolphin"), "who has no copy does not learn the name: {stranger}");
    let second = pull("tablet", token(&first)).await;
    let deletion = &second["memories"][0];
    assert_eq!((&deletion["slug"], &deletion["deleted"]), (&json!("blue-dolphin"), &json!(true)), "{second}");
    assert_eq!(deletion["content"], Value::Null);
    // Its answer may have been lost: it is sent again until the client's own token shows that it was received.
    assert_eq!(pull("tablet", token(&first)).await["memories"][0]["deleted"], true);
    assert_eq!(receipt().await["not_reached"], waits);
    let after = pull("tablet", token(&second)).await;
    assert_eq!(after["memories"], json!([]), "{after}");
    let receipt = receipt().await;
    assert_eq!(receipt["not_reached"], json!([]), "{receipt}");
    assert_eq!(receipt["reached"][0]["id"], "tablet", "{receipt}");
    // All copies were reached, so the name is deleted too.
    let again = pull("tablet", token(&first)).await;
    assert!(!again.to_string().contains("dolphin"), "{again}");
}
