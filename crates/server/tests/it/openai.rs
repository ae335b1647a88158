use std::sync::Arc;

use axum::body::Body;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use axum::http::{Method, Request};
use futures_util::StreamExt;
use memory::ports::MessageStore;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::home::{Answer, HOSTNAME, Home, TOKEN, scope, until};
use crate::talker::Reply;

const PATH: &str = "/v1/chat/completions";

fn asked(content: &str) -> Value {
    json!({"model": "default", "messages": [
        {"role": "system", "content": "You are somebody else."},
        {"role": "user", "content": "an older line"},
        {"role": "assistant", "content": "an older answer"},
        {"role": "user", "content": content},
    ]})
}

fn with(mut body: Value, more: Value) -> Value {
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

/// The chunks of a streamed answer, without the final `[DONE]`, which must be there.
fn chunks(answer: &Answer) -> Vec<Value> {
    assert!(answer.header("content-type").unwrap().starts_with("text/event-stream"));
    let mut data: Vec<&str> = answer.text.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    assert_eq!(data.pop(), Some("[DONE]"));
    data.into_iter().map(|chunk| serde_json::from_str(chunk).unwrap()).collect()
}

fn said(chunks: &[Value]) -> String {
    chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str()).collect()
}

fn masked(mut value: Value) -> Value {
    value["id"] = json!("[id]");
    value
}

#[tokio::test]
async fn personas_are_models() {
    let home = Home::new().await;
    insta::assert_json_snapshot!("models", home.get("/v1/models").await.json());
    assert_eq!(home.get("/v1/models/default").await.json()["id"], "default");
    let unknown = home.get("/v1/models/nobody").await;
    assert_eq!((unknown.status.as_u16(), &unknown.json()["error"]["code"]), (404, &json!("model_not_found")));
}

#[tokio::test]
async fn the_last_user_message_enters_the_ordinary_turn() {
    let home = Home::new().await;
    home.talker.next(Reply::Says(vec!["You are ", "back."]));
    let answer = home.post(PATH, asked("I am back")).await;
    assert_eq!(answer.status, 200);
    assert!(answer.json()["id"].as_str().unwrap().starts_with("chatcmpl-"));
    insta::assert_json_snapshot!("completion", masked(answer.json()));
    let stored = home.store.messages_before(&scope("self"), None, 10).await.unwrap();
    let lines: Vec<(&str, &str)> =
        stored.iter().map(|m| (m.channel_id.as_str(), m.content.as_str())).collect();
    assert_eq!(
        lines,
        [("openai", "You are back."), ("openai", "I am back")],
        "the client's history is not replayed"
    );
}

#[tokio::test]
async fn a_streamed_reply_is_the_same_reply() {
    let home = Home::new().await;
    home.talker.next(Reply::Says(vec!["You are ", "back."]));
    let body = with(asked("I am back"), json!({"stream": true, "stream_options": {"include_usage": true}}));
    let answer = home.post(PATH, body).await;
    let chunks = chunks(&answer);
    assert_eq!(said(&chunks), "You are back.");
    insta::assert_json_snapshot!("chunks", chunks.into_iter().map(masked).collect::<Vec<_>>());
    let plain = home.post(PATH, with(asked("and again"), json!({"stream": true}))).await;
    assert!(!plain.text.contains("usage"));
}

#[tokio::test]
async fn text_parts_users_and_unknown_fields() {
    let home = Home::new().await;
    let body = json!({"messages": [{"role": "user", "content": [{"type": "text", "text": "你好"}]}],
        "user": "mira", "temperature": 0.3, "tools": [], "n": 1});
    assert_eq!(home.post(PATH, body).await.json()["model"], "default");
    let stored = home.store.messages_before(&scope("mira"), None, 10).await.unwrap();
    assert_eq!(stored[1].content, "你好");
}

#[tokio::test]
async fn errors_have_the_shape_that_clients_read() {
    let home = Home::new().await;
    let refused = [
        (400, "invalid_request_error", json!({"messages": []})),
        (400, "invalid_request_error", json!({"messages": [{"role": "assistant", "content": "hm"}]})),
        (400, "invalid_request_error", json!({"messages": [{"role": "user", "content": " "}]})),
        (400, "invalid_request_error", json!({"messages": "hello"})),
        (400, "invalid_request_error", json!({"model": "default"})),
        (400, "invalid_request_error", with(asked("hi"), json!({"user": "x".repeat(129)}))),
        (
            400,
            "invalid_request_error",
            json!({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}),
        ),
        (404, "invalid_request_error", with(asked("hi"), json!({"model": "gpt-4"}))),
        (
            400,
            "invalid_request_error",
            with(asked("hi"), json!({"tools": [{"type": "function", "function": {"name": "f"}}]})),
        ),
        (400, "invalid_request_error", with(asked("hi"), json!({"functions": [{"name": "f"}]}))),
        (400, "invalid_request_error", with(asked("hi"), json!({"n": 2}))),
        (400, "invalid_request_error", with(asked("hi"), json!({"stop": ["a", "b", "c", "d", "e"]}))),
    ];
    for (status, kind, body) in refused {
        let answer = home.post(PATH, body.clone()).await;
        assert_eq!(answer.status, status, "{body}: {}", answer.text);
        assert_eq!(answer.header("content-type"), Some("application/json"));
        let error = &answer.json()["error"];
        assert_eq!(error["type"], kind);
        assert!(error["message"].is_string() && error.get("code").is_some() && error.get("param").is_some());
    }
    assert!(home.store.messages_before(&scope("self"), None, 10).await.unwrap().is_empty());
}

#[tokio::test]
async fn unsupported_request_fields_are_refused_by_name() {
    let home = Home::new().await;
    let part = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,"}});
    let picture = json!({"messages": [{"role": "user", "content": [part]}]});
    let error = home.post(PATH, picture).await.json()["error"].clone();
    assert_eq!((&error["param"], &error["code"]), (&json!("messages"), &json!("unsupported_content")));
    assert!(error["message"].as_str().unwrap().contains("image_url"));
    let tool = with(asked("hi"), json!({"tools": [{"type": "function"}]}));
    let error = home.post(PATH, tool).await.json()["error"].clone();
    assert_eq!((&error["param"], &error["code"]), (&json!("tools"), &json!("unsupported_parameter")));
    let task = "### Task:\nName this talk.\n### Output:\nJSON.\n<chat_history>\nUSER: hello\n</chat_history>";
    let error = home.post(PATH, asked(task)).await.json()["error"].clone();
    assert_eq!((&error["param"], &error["code"]), (&json!("messages"), &json!("unsupported_content")));
    assert_eq!(home.get("/api/chat/history?limit=9").await.json()["messages"], json!([]));
    let none = with(asked("hi"), json!({"tools": [], "tool_choice": "none", "n": 1}));
    assert_eq!(home.post(PATH, none).await.status, 200);
}

#[tokio::test]
async fn utility_prompts_are_answered_without_memory_where_the_owner_says_so() {
    let home = Home::new().await;
    let task = "### Task:\nName this talk.\n### Output:\nJSON.\n<chat_history>\nUSER: hello\n</chat_history>";
    assert_eq!(home.post(PATH, asked(task)).await.status, 400, "refused unless the owner says otherwise");
    home.set(|settings| settings.answers_utility_prompts = true);
    let answer = home.post(PATH, asked(task)).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let answer = answer.json();
    assert_eq!(answer["choices"][0]["message"]["content"], "{\"title\": \"A greeting\"}");
    assert_eq!((&answer["usage"]["prompt_tokens"], &answer["model"]), (&json!(120), &json!("default")));
    let streamed = chunks(&home.post(PATH, with(asked(task), json!({"stream": true}))).await);
    assert_eq!(said(&streamed), "{\"title\": \"A greeting\"}");
    assert_eq!(streamed.last().unwrap()["choices"][0]["finish_reason"], "stop");
    assert_eq!(home.get("/api/chat/history?limit=9").await.json()["messages"], json!([]));
    assert!(home.talker.prompts.lock().unwrap().is_empty(), "the persona was not asked");
    home.talker.refuses_work.store(true, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(home.post(PATH, asked(task)).await.status, 502);
    assert_eq!(home.post(PATH, asked("hello")).await.status, 200);
    assert_eq!(home.get("/api/chat/history?limit=9").await.json()["messages"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn an_answer_ends_before_a_stop_and_memory_keeps_it_whole() {
    let home = Home::new().await;
    for stream in [false, true] {
        home.talker.next(Reply::Says(vec!["One, tw", "o, three", "."]));
        let body = with(asked("count"), json!({"stream": stream, "stop": ["two", "four"]}));
        let answer = home.post(PATH, body).await;
        let (content, end) = if stream {
            let chunks = chunks(&answer);
            (said(&chunks), chunks.last().unwrap()["choices"][0]["finish_reason"].clone())
        } else {
            let choice = answer.json()["choices"][0].clone();
            (choice["message"]["content"].as_str().unwrap().to_owned(), choice["finish_reason"].clone())
        };
        assert_eq!((content.as_str(), &end), ("One, ", &json!("stop")));
        let history = home.get("/api/chat/history?limit=1").await.json();
        assert_eq!(history["messages"][0]["content"], "One, two, three.");
    }
}

#[tokio::test]
async fn a_model_that_fails_before_its_first_word_is_an_error_with_a_status() {
    let home = Home::new().await;
    for stream in [false, true] {
        for (transient, status) in [(true, 503), (false, 502)] {
            home.talker.next(Reply::Fails { transient });
            let answer = home.post(PATH, with(asked("hello?"), json!({"stream": stream}))).await;
            assert_eq!(answer.status, status);
            let error = &answer.json()["error"];
            assert_eq!(
                (&error["type"], &error["message"]),
                (&json!("server_error"), &json!("the model is not there"))
            );
        }
    }
    let stored = home.store.messages_before(&scope("self"), None, 10).await.unwrap();
    assert_eq!(stored.len(), 4, "what was said is safe each time");
}

#[tokio::test]
async fn a_model_that_breaks_off_leaves_what_it_said() {
    let home = Home::new().await;
    home.talker.next(Reply::BreaksOff(vec!["I was about", " to"]));
    let chunks = chunks(&home.post(PATH, with(asked("and?"), json!({"stream": true}))).await);
    assert_eq!(said(&chunks), "I was about to");
    assert_eq!(chunks.last().unwrap()["choices"][0]["finish_reason"], "length");
    let history = home.get("/api/chat/history?limit=1").await.json();
    assert_eq!(history["messages"][0]["incomplete"], true);
}

#[tokio::test]
async fn a_turn_that_fails_after_its_first_word_ends_the_stream_with_an_error() {
    let home = Home::new().await;
    let leave = Arc::new(Semaphore::new(0));
    home.talker.next(Reply::Waits(leave.clone(), vec!["I will ", "never be stored"]));
    let (status, mut body) = open(&home, json!({"stream": true})).await.into_first_word(&leave).await;
    assert_eq!(status, 200);
    // The reply can't be made durable any more, so it must not end as if it had been.
    home.store.limit_pages(1).await.unwrap();
    fill_up(&home).await;
    leave.add_permits(1);
    let mut text = String::new();
    while let Some(piece) = body.next().await {
        text.push_str(std::str::from_utf8(&piece.unwrap()).unwrap());
    }
    let data: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    assert_eq!(data.last(), Some(&"[DONE]"));
    let error: Value = serde_json::from_str(data[data.len() - 2]).unwrap();
    assert_eq!(error["error"]["type"], "server_error");
}

#[tokio::test]
async fn a_client_that_goes_away_does_not_stop_the_turn() {
    let home = Home::new().await;
    for stream in [true, false] {
        let leave = Arc::new(Semaphore::new(0));
        home.talker.next(Reply::Waits(leave.clone(), vec!["I was ", "still speaking"]));
        let mut watcher = home.runtime.broadcast().subscribe();
        let request = open(&home, json!({"stream": stream})).await;
        let going = tokio::spawn(request.0);
        until(&mut watcher, &["chat.message.typing_started"]).await;
        going.abort();
        assert!(going.await.unwrap_err().is_cancelled());
        leave.add_permits(2);
        let done = until(&mut watcher, &["chat.message.done", "chat.message.failed"]).await;
        assert_eq!(done.data["content"], "I was still speaking");
    }
}

/// A request that is still running.
struct Open(std::pin::Pin<Box<dyn Future<Output = axum::http::Response<Body>> + Send>>);

impl Open {
    async fn into_first_word(self, leave: &Semaphore) -> (u16, axum::body::BodyDataStream) {
        leave.add_permits(1);
        let response = self.0.await;
        (response.status().as_u16(), response.into_body().into_data_stream())
    }
}

async fn open(home: &Home, more: Value) -> Open {
    use tower::ServiceExt;
    let request = Request::builder()
        .method(Method::POST)
        .uri(PATH)
        .header(HOST, HOSTNAME)
        .header(AUTHORIZATION, format!("Bearer {TOKEN}"))
        .header(CONTENT_TYPE, "application/json")
        .body(Body::from(with(asked("hello"), more).to_string()))
        .unwrap();
    let router = home.router.clone();
    Open(Box::pin(async move { router.oneshot(request).await.unwrap() }))
}

/// Writes until nothing more is accepted.
async fn fill_up(home: &Home) {
    let line = json!({"content": "x".repeat(20_000), "user_id": "somebody"});
    for _ in 0..500 {
        if home.post("/api/chat/send", line.clone()).await.status == 507 {
            break;
        }
    }
    let line = json!({"content": "x", "user_id": "somebody"});
    while home.post("/api/chat/send", line.clone()).await.status == 202 {}
}
