use std::sync::Arc;

use outgoing::client_builder;
use reqwest::{RequestBuilder, Response};
use serde_json::{Value, json};
use testkit::scripted_model::{EMBEDDINGS, Pace, UNNAMED_TASK, answer_plausibly};
use testkit::{Reply, ScriptedModel};
use tokio::sync::Notify;

fn client() -> reqwest::Client {
    client_builder().build().unwrap()
}

/// An OpenAI request; the fields of `more` are added to it.
fn completion(model: &ScriptedModel, more: &Value) -> RequestBuilder {
    let mut body = json!({"model": "scripted", "messages": [
        {"role": "system", "content": "You are Mira."},
        {"role": "user", "content": [{"type": "text", "text": "hello"}, {"type": "image_url"}]},
    ]});
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    client().post(format!("{}/chat/completions", model.base_url())).bearer_auth("secret").json(&body)
}

fn task_request(task: &str) -> Value {
    json!({"response_format": {"type": "json_schema",
        "json_schema": {"name": task, "strict": true, "schema": {"type": "object"}}}})
}

fn streamed() -> Value {
    json!({"stream": true, "stream_options": {"include_usage": true}})
}

fn message(model: &ScriptedModel, stream: bool) -> RequestBuilder {
    client().post(format!("{}/v1/messages", model.origin())).header("x-api-key", "secret").json(&json!({
        "model": "claude", "max_tokens": 9, "system": "You are Mira.", "stream": stream,
        "messages": [{"role": "user", "content": "hello"}],
    }))
}

/// The JSON of each `data:` line; the last is `null` for `[DONE]`.
async fn events(response: Response) -> Vec<Value> {
    let text = response.text().await.unwrap();
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|data| serde_json::from_str(data).unwrap_or(Value::Null)).collect()
}

async fn status(request: RequestBuilder) -> u16 {
    request.send().await.unwrap().status().as_u16()
}

#[tokio::test]
async fn a_named_task_is_answered_whole_and_recorded() {
    let model = ScriptedModel::start().await.unwrap();
    model.answer_task("extraction", |request| Reply::json(json!({"heard": request.user()})).usage(70, 5, 60));
    let response = completion(&model, &task_request("extraction")).send().await.unwrap();
    let body: Value = response.json().await.unwrap();
    assert_eq!(body["choices"][0]["message"]["content"], "{\"heard\":\"hello\"}");
    assert_eq!(body["choices"][0]["finish_reason"], "stop");
    assert_eq!(body["usage"]["prompt_tokens_details"]["cached_tokens"], 60);

    let asked = model.requests_for("extraction").remove(0);
    assert_eq!((asked.method.as_str(), asked.path.as_str()), ("POST", "/v1/chat/completions"));
    assert_eq!(
        (asked.system(), asked.user(), asked.model()),
        ("You are Mira.".into(), "hello".into(), "scripted")
    );
    assert_eq!(asked.header("Authorization"), Some("Bearer secret"));
    assert_eq!(asked.schema(), Some(&json!({"type": "object"})));
    assert!(!asked.is_streamed());
}

#[tokio::test]
async fn the_queue_comes_before_the_function_and_an_unscripted_task_is_refused() {
    let model = ScriptedModel::start().await.unwrap();
    model.answer_task(UNNAMED_TASK, |_| Reply::text("again"));
    model.next(UNNAMED_TASK, Reply::text("first"));
    for expected in ["first", "again", "again"] {
        let body: Value = completion(&model, &json!({})).send().await.unwrap().json().await.unwrap();
        assert_eq!(body["choices"][0]["message"]["content"], expected);
    }
    let refused = completion(&model, &task_request("judge")).send().await.unwrap();
    assert_eq!(refused.status(), 404);
    assert!(refused.text().await.unwrap().contains("judge"));
    assert_eq!(model.requests().len(), 4);
}

#[tokio::test]
async fn a_streamed_reply_comes_word_by_word_with_its_usage() {
    let model = ScriptedModel::start().await.unwrap();
    model.answer_task("reply", |_| Reply::text("I am here").usage(12, 3, 0));
    let response = completion(&model, &streamed()).send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let events = events(response).await;
    let said: Vec<&str> =
        events.iter().filter_map(|event| event["choices"][0]["delta"]["content"].as_str()).collect();
    assert_eq!(said, ["", "I ", "am ", "here"]);
    let [.., end, usage, done] = &events[..] else { panic!("{events:?}") };
    assert_eq!(end["choices"][0]["finish_reason"], "stop");
    assert_eq!((&usage["choices"], &usage["usage"]["prompt_tokens"]), (&json!([]), &json!(12)));
    assert_eq!(done, &Value::Null);

    let without_usage = completion(&model, &json!({"stream": true})).send().await.unwrap();
    assert!(!without_usage.text().await.unwrap().contains("usage"));
}

#[tokio::test]
async fn requests_follow_the_protocol_of_anthropic() {
    let model = ScriptedModel::start().await.unwrap();
    model.recognise("extraction", |request| !request.is_streamed() && request.system().contains("Mira"));
    model.answer_task("extraction", |_| Reply::json(json!({"events": []})).usage(70, 5, 60));
    model.answer_task("reply", |_| Reply::from_pieces(["Hel", "lo"]).reach_token_limit());

    let whole: Value = message(&model, false).send().await.unwrap().json().await.unwrap();
    assert_eq!(whole["content"], json!([{"type": "text", "text": "{\"events\":[]}"}]));
    assert_eq!(
        (&whole["usage"]["input_tokens"], &whole["usage"]["cache_read_input_tokens"]),
        (&json!(10), &json!(60))
    );

    let events = events(message(&model, true).send().await.unwrap()).await;
    let kinds: Vec<&str> = events.iter().filter_map(|event| event["type"].as_str()).collect();
    assert_eq!(
        kinds,
        [
            "message_start",
            "content_block_start",
            "ping",
            "content_block_delta",
            "content_block_delta",
            "content_block_stop",
            "message_delta",
            "message_stop"
        ]
    );
    assert_eq!(events[3]["delta"]["text"], "Hel");
    assert_eq!(events[6]["delta"]["stop_reason"], "max_tokens");
    assert_eq!(model.requests()[0].system(), "You are Mira.");
}

#[tokio::test]
async fn models_are_listed() {
    let model = ScriptedModel::start().await.unwrap();
    model.set_models(&["a", "b"]);
    let list: Value =
        client().get(format!("{}/models", model.base_url())).send().await.unwrap().json().await.unwrap();
    assert_eq!((&list["data"][0]["id"], &list["data"][1]["id"]), (&json!("a"), &json!("b")));
    assert_eq!(model.requests_for("models").len(), 1);
    assert_eq!(status(client().get(format!("{}/api/tags", model.origin()))).await, 404);
}

#[tokio::test]
async fn errors_carry_a_status_and_when_to_come_back() {
    let model = ScriptedModel::start().await.unwrap();
    model.next("reply", Reply::rate_limited(7));
    model.next("reply", Reply::error(503, "overloaded"));
    let limited = completion(&model, &streamed()).send().await.unwrap();
    assert_eq!((limited.status().as_u16(), &limited.headers()["retry-after"]), (429, &"7".parse().unwrap()));
    let overloaded = completion(&model, &streamed()).send().await.unwrap();
    assert_eq!(overloaded.status(), 503);
    let body: Value = overloaded.json().await.unwrap();
    assert_eq!(body["error"]["message"], "overloaded");
}

#[tokio::test]
async fn a_refused_response_format_is_a_400_until_another_is_used() {
    let model = ScriptedModel::start().await.unwrap();
    model.refuse_response_format("json_schema");
    model.answer_task("extraction", |_| Reply::text("unreachable"));
    model.answer_task(UNNAMED_TASK, |_| Reply::json(json!({})));
    assert_eq!(status(completion(&model, &task_request("extraction"))).await, 400);
    assert_eq!(status(completion(&model, &json!({"response_format": {"type": "json_object"}}))).await, 200);
    let formats: Vec<_> = model.requests().iter().map(|r| r.response_format().map(str::to_owned)).collect();
    assert_eq!(formats, [Some("json_schema".to_owned()), Some("json_object".to_owned())]);
}

#[tokio::test]
async fn the_first_token_waits_for_the_gate() {
    let model = ScriptedModel::start().await.unwrap();
    let gate = Arc::new(Notify::new());
    model.next("reply", Reply::text("now").delay_first_token_until(&gate));
    let mut response = completion(&model, &streamed()).send().await.unwrap();
    model.wait_until_asked("reply", 1).await;
    assert_eq!(response.status(), 200, "the headers do not wait");
    {
        let first = response.chunk();
        tokio::pin!(first);
        assert!(futures_util::poll!(first.as_mut()).is_pending());
        gate.notify_one();
        assert!(first.await.unwrap().is_some());
    }
    assert!(response.text().await.unwrap().contains("now"));
    assert_eq!(model.hang_ups(), 0);
}

#[tokio::test]
async fn a_cut_reaches_the_client_as_an_error_after_what_was_said() {
    let model = ScriptedModel::start().await.unwrap();
    model.next("reply", Reply::from_pieces(["one ", "two ", "three"]).cut_after(2));
    let mut response = completion(&model, &streamed()).send().await.unwrap();
    let mut said = String::new();
    let error = loop {
        match response.chunk().await {
            Ok(Some(chunk)) => said += std::str::from_utf8(&chunk).unwrap(),
            Ok(None) => panic!("a cut must not look like an end: {said}"),
            Err(error) => break error,
        }
    };
    assert!(error.is_body() || error.is_decode(), "{error:?}");
    assert!(said.contains("two ") && !said.contains("three") && !said.contains("[DONE]"), "{said}");

    model.next(UNNAMED_TASK, Reply::text("a whole answer").cut_after(0));
    assert!(completion(&model, &json!({})).send().await.unwrap().text().await.is_err());
    assert_eq!(model.hang_ups(), 0, "it was not the client who hung up");
}

#[tokio::test]
async fn an_error_can_come_in_the_middle_of_a_stream() {
    let model = ScriptedModel::start().await.unwrap();
    for _ in 0..2 {
        model.next("reply", Reply::from_pieces(["one ", "two"]).error_after(1, "out of memory"));
    }
    let openai = events(completion(&model, &streamed()).send().await.unwrap()).await;
    assert_eq!(openai.last().unwrap()["error"]["message"], "out of memory");
    let anthropic = events(message(&model, true).send().await.unwrap()).await;
    assert_eq!(anthropic.last().unwrap()["error"]["type"], "overloaded_error");

    model.next(UNNAMED_TASK, Reply::text("x").error_after(0, "no"));
    let whole = completion(&model, &json!({})).send().await.unwrap();
    assert_eq!(whole.status(), 200);
    assert_eq!(whole.json::<Value>().await.unwrap()["error"]["message"], "no");
}

#[tokio::test]
async fn answers_can_be_garbage_or_enormous() {
    let model = ScriptedModel::start().await.unwrap();
    model.next(UNNAMED_TASK, Reply::garbage());
    let garbage = completion(&model, &json!({})).send().await.unwrap();
    assert!(garbage.status().is_success() && garbage.json::<Value>().await.is_err());

    let ten_megabytes = 10 << 20;
    model.next(UNNAMED_TASK, Reply::of_size(ten_megabytes));
    model.next("reply", Reply::of_size(ten_megabytes));
    let whole: Value = completion(&model, &json!({})).send().await.unwrap().json().await.unwrap();
    assert_eq!(whole["choices"][0]["message"]["content"].as_str().unwrap().len(), ten_megabytes);
    let streamed = completion(&model, &streamed()).send().await.unwrap().bytes().await.unwrap();
    assert!(streamed.len() > ten_megabytes);
}

#[tokio::test]
async fn an_endless_line_ends_when_the_client_hangs_up() {
    let model = ScriptedModel::start().await.unwrap();
    model.next("reply", Reply::endless_line());
    let mut response = completion(&model, &streamed()).send().await.unwrap();
    let mut received = 0;
    while received < 100_000 {
        let chunk = response.chunk().await.unwrap().unwrap();
        assert!(!chunk.contains(&b'\n'));
        received += chunk.len();
    }
    drop(response);
    model.hung_up(1).await;
}

#[tokio::test]
async fn a_client_that_hangs_up_while_it_waits_is_noticed() {
    let model = ScriptedModel::start().await.unwrap();
    model.next("reply", Reply::text("never").delay_first_token_until(&Arc::new(Notify::new())));
    let response = completion(&model, &streamed()).send().await.unwrap();
    assert_eq!(model.hang_ups(), 0);
    drop(response);
    model.hung_up(1).await;
}

#[tokio::test]
async fn one_connection_serves_many_requests_and_many_connections_at_once() {
    let model = ScriptedModel::start().await.unwrap();
    model.answer_task("reply", |request| Reply::text(request.user()));
    let client = client();
    let ask = |n: usize| {
        let body = json!({"stream": true, "messages": [{"role": "user", "content": format!("number-{n}-")}]});
        let request = client.post(format!("{}/chat/completions", model.base_url())).json(&body);
        async move { request.send().await.unwrap().text().await.unwrap().contains(&format!("number-{n}-")) }
    };
    for n in 0..3 {
        assert!(ask(n).await);
    }
    let answers = futures_util::future::join_all((0..50).map(ask)).await;
    assert!(answers.into_iter().all(|own_answer| own_answer));
    assert_eq!(model.requests_for("reply").len(), 53);
}

#[tokio::test]
async fn it_stops_when_dropped() {
    let model = ScriptedModel::start().await.unwrap();
    model.answer_task("reply", |_| Reply::text("hi"));
    let request = completion(&model, &streamed());
    model.stop().await;
    assert!(request.send().await.is_err());
}

#[tokio::test]
async fn the_scripted_model_answers_every_task() {
    let model = ScriptedModel::start().await.unwrap();
    answer_plausibly(&model, Pace::default());
    let transcript =
        json!([{"role": "user", "content": "m1 · user\n  | I adopted a cat\nm2 · Mira\n  | lovely"}]);
    let content = |body: Value| body["choices"][0]["message"]["content"].as_str().unwrap().to_owned();

    let mut request = task_request("extraction");
    request["messages"] = transcript.clone();
    let body = completion(&model, &request).send().await.unwrap().json().await.unwrap();
    let answer: Value = serde_json::from_str(&content(body)).unwrap();
    assert_eq!(answer["events"][0]["evidence"], json!([{"message": "m1", "quote": "I adopted a cat"}]));
    assert_eq!(answer["events"].as_array().unwrap().len(), 1);

    let body = completion(&model, &task_request("reflection")).send().await.unwrap().json().await.unwrap();
    let answer: Value = serde_json::from_str(&content(body)).unwrap();
    assert_eq!(answer["thoughts"][0]["filling"], json!(["e1"]));

    let mut request = streamed();
    request["messages"] = transcript;
    let reply = completion(&model, &request).send().await.unwrap().text().await.unwrap();
    assert!(reply.contains("lovely"));

    let mut without_schema = json!({"response_format": {"type": "json_object"}});
    without_schema["messages"] = json!([{"role": "system", "content": "{\"thoughts\": …}"}]);
    let body = completion(&model, &without_schema).send().await.unwrap().json().await.unwrap();
    assert!(content(body).contains("filling"));
}

#[tokio::test]
async fn vectors_are_given_without_a_script_and_by_one() {
    let model = ScriptedModel::start().await.unwrap();
    let ask = |input: Value| {
        let body = json!({"model": "vectors", "input": input});
        client().post(format!("{}/embeddings", model.base_url())).json(&body)
    };
    let answer: Value = ask(json!(["a cat", "a cat", "猫"])).send().await.unwrap().json().await.unwrap();
    assert_eq!(answer["data"][0]["embedding"], answer["data"][1]["embedding"]);
    assert_ne!(answer["data"][0]["embedding"], answer["data"][2]["embedding"]);
    assert_eq!(answer["data"][2]["index"], 2);
    assert_eq!(status(ask(json!([""]))).await, 400);
    model.next(EMBEDDINGS, Reply::json(json!({"data": []})));
    let answer: Value = ask(json!("one")).send().await.unwrap().json().await.unwrap();
    assert_eq!(answer, json!({"data": []}));
    assert_eq!(model.requests_for(EMBEDDINGS).len(), 3);
}
