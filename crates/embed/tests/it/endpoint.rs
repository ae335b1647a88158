//! The embedder of an endpoint over a real socket.

use std::sync::Arc;
use std::time::Duration;

use embed::{EndpointEmbedder, EndpointSettings, ModelError};
use jiff::Timestamp;
use memory::ports::{EmbedError, Embedder};
use serde_json::{Value, json};
use testkit::scripted_model::EMBEDDINGS;
use testkit::{Reply, ScriptedModel, SimulatedClock};
use tokio::sync::Notify;

fn settings(model: &ScriptedModel) -> EndpointSettings {
    EndpointSettings {
        base_url: model.base_url(),
        model: "small-vectors".to_owned(),
        api_key: Some("sk-hidden".into()),
        query_prefix: "query: ".to_owned(),
        passage_prefix: "passage: ".to_owned(),
        ..EndpointSettings::default()
    }
}

fn clock() -> SimulatedClock {
    SimulatedClock::new(Timestamp::UNIX_EPOCH)
}

fn embedder(settings: EndpointSettings, clock: &SimulatedClock) -> EndpointEmbedder {
    EndpointEmbedder::new(settings, Arc::new(clock.clone())).unwrap()
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn vectors(vectors: &[&[f32]]) -> Reply {
    let data: Vec<Value> = vectors
        .iter()
        .enumerate()
        .map(|(index, vector)| json!({"object": "embedding", "index": index, "embedding": vector}))
        .collect();
    Reply::json(json!({"object": "list", "data": data}))
}

fn reason(error: EmbedError) -> String {
    let EmbedError::Failed(reason) = error else { panic!("{error}") };
    reason
}

#[tokio::test]
async fn texts_go_out_with_their_prefix_and_come_back_as_unit_vectors_in_order() {
    let model = ScriptedModel::start().await.unwrap();
    let data = json!([{"index": 1, "embedding": [0.0, 2.0]}, {"index": 0, "embedding": [3.0, 4.0]}]);
    model.next(EMBEDDINGS, Reply::json(json!({"data": data})));
    model.next(EMBEDDINGS, vectors(&[&[1.0, 0.0]]));
    let embedder = embedder(settings(&model), &clock());
    assert_eq!((embedder.fingerprint(), embedder.dimension()), ("", 0));
    let found = embedder.embed(&texts(&["one", "二"])).await.unwrap();
    assert_eq!(found[0].vector, [0.6, 0.8]);
    assert_eq!(found[1].vector, [0.0, 1.0]);
    assert_eq!((found[0].readability, found[1].readability), (1.0, 1.0));
    assert!(embedder.fingerprint().starts_with("endpoint/small-vectors/2/"), "{}", embedder.fingerprint());
    embedder.embed_queries(&texts(&["one"])).await.unwrap();
    let asked = model.requests_for(EMBEDDINGS);
    assert_eq!(asked[0].path, "/v1/embeddings");
    assert_eq!(asked[0].header("authorization"), Some("Bearer sk-hidden"));
    assert_eq!(asked[0].body, json!({"model": "small-vectors", "input": ["passage: one", "passage: 二"]}));
    assert_eq!(asked[1].body["input"], json!(["query: one"]));
}

#[tokio::test]
async fn many_texts_are_asked_for_in_requests_of_64() {
    let model = ScriptedModel::start().await.unwrap();
    let embedder = embedder(settings(&model), &clock());
    let many: Vec<String> = (0..150).map(|number| format!("text {number}")).collect();
    assert_eq!(embedder.embed(&many).await.unwrap().len(), 150);
    let sizes = model
        .requests_for(EMBEDDINGS)
        .iter()
        .map(|asked| asked.body["input"].as_array().unwrap().len())
        .collect::<Vec<_>>();
    assert_eq!(sizes, [64, 64, 22]);
}

#[tokio::test]
async fn another_length_of_vectors_is_refused() {
    let model = ScriptedModel::start().await.unwrap();
    model.next(EMBEDDINGS, vectors(&[&[1.0, 0.0]]));
    model.next(EMBEDDINGS, vectors(&[&[1.0, 0.0, 0.0]]));
    let embedder = embedder(settings(&model), &clock());
    embedder.embed(&texts(&["one"])).await.unwrap();
    let error = reason(embedder.embed(&texts(&["two"])).await.unwrap_err());
    assert!(error.contains("now returns vectors of 3 components instead of 2"), "{error}");
    assert_eq!(embedder.dimension(), 2);
}

#[tokio::test]
async fn temporary_errors_are_retried_after_the_requested_pause() {
    let (model, clock) = (ScriptedModel::start().await.unwrap(), clock());
    model.next(EMBEDDINGS, Reply::error(503, "starting"));
    model.next(EMBEDDINGS, Reply::rate_limited(7));
    let embedder = Arc::new(embedder(settings(&model), &clock));
    let asked = tokio::spawn({
        let embedder = embedder.clone();
        async move { embedder.embed(&texts(&["one"])).await }
    });
    clock.wait_for_sleepers(1).await;
    clock.advance(Duration::from_millis(500)).await;
    model.wait_until_asked(EMBEDDINGS, 2).await;
    clock.wait_for_sleepers(1).await;
    clock.advance(Duration::from_millis(6_900)).await;
    assert_eq!(clock.sleepers(), 1, "seven seconds were asked for");
    clock.advance(Duration::from_millis(100)).await;
    assert_eq!(asked.await.unwrap().unwrap().len(), 1);
    assert_eq!(model.requests_for(EMBEDDINGS).len(), 3);
    assert_eq!(embedder.failure_reason(), None);
}

#[tokio::test]
async fn errors_that_a_person_must_fix_are_not_retried_and_hide_the_key() {
    let model = ScriptedModel::start().await.unwrap();
    let embedder = embedder(settings(&model), &clock());
    for (status, message, told) in [
        (401, "Incorrect API key provided: sk-hidden", "api_key_env"),
        (404, "no such model", "embedding.model"),
        (429, "insufficient_quota", "credit"),
    ] {
        model.next(EMBEDDINGS, Reply::error(status, message));
        let error = reason(embedder.embed(&texts(&["one"])).await.unwrap_err());
        assert!(error.contains(told) && !error.contains("sk-hidden"), "{error}");
    }
    assert_eq!(model.requests_for(EMBEDDINGS).len(), 3);
    assert!(embedder.failure_reason().is_some_and(|trouble| trouble.contains("credit")));
}

#[tokio::test]
async fn answers_without_vectors_are_reported() {
    let model = ScriptedModel::start().await.unwrap();
    let embedder = embedder(settings(&model), &clock());
    let repeated = json!({"data": [{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [1.0]}]});
    for reply in [
        Reply::garbage(),
        vectors(&[&[1.0, 0.0]]),
        vectors(&[&[1.0], &[0.0]]),
        vectors(&[&[], &[1.0]]),
        Reply::json(repeated),
    ] {
        model.next(EMBEDDINGS, reply);
        let error = reason(embedder.embed(&texts(&["one", "two"])).await.unwrap_err());
        assert!(error.contains("response of 127.0.0.1"), "{error}");
    }
    assert_eq!(model.requests_for(EMBEDDINGS).len(), 5, "the same answer would come again");
}

#[tokio::test]
async fn a_text_that_is_refused_keeps_no_other_from_being_embedded() {
    let model = ScriptedModel::start().await.unwrap();
    model.answer_task(EMBEDDINGS, |asked| {
        let inputs: Vec<&str> =
            asked.body["input"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        if inputs.iter().any(|input| input.contains("forbidden") || input.chars().count() > 5_000) {
            return Reply::error(400, "not this");
        }
        vectors(&vec![&[0.6, 0.8][..]; inputs.len()])
    });
    let embedder = embedder(settings(&model), &clock());
    let mut asked = texts(&["one", "two", "a forbidden text", "four", "five"]);
    asked.push("很长".repeat(4_000));
    let found = embedder.embed(&asked).await.unwrap();
    let readable: Vec<f32> = found.iter().map(|embedding| embedding.readability).collect();
    assert_eq!(
        readable,
        [1.0, 1.0, 0.0, 1.0, 1.0, 1.0],
        "of a text that is too long the beginning is embedded"
    );
    assert_eq!(found[2].vector, [1.0, 0.0]);
    assert_eq!(found[5].vector, [0.6, 0.8]);
}

#[tokio::test]
async fn an_endpoint_that_refuses_everything_marks_no_text() {
    let model = ScriptedModel::start().await.unwrap();
    model.answer_task(EMBEDDINGS, |_| Reply::error(400, "the model small-vectors does not exist"));
    let embedder = embedder(settings(&model), &clock());
    let error = reason(embedder.embed(&texts(&["one", "two"])).await.unwrap_err());
    assert!(error.contains("does not exist"), "{error}");
}

#[tokio::test]
async fn a_query_waits_once_for_a_dead_endpoint_and_not_behind_a_batch() {
    let (model, clock) = (ScriptedModel::start().await.unwrap(), clock());
    let gate = Arc::new(Notify::new());
    let settings = EndpointSettings { query_timeout: Duration::from_millis(40), ..settings(&model) };
    let embedder = Arc::new(embedder(settings, &clock));
    model.next(EMBEDDINGS, vectors(&[&[1.0, 0.0]]).delay_first_token_until(&gate));
    let batch = tokio::spawn({
        let embedder = embedder.clone();
        async move { embedder.embed(&texts(&["slow"])).await }
    });
    model.wait_until_asked(EMBEDDINGS, 1).await;
    model.next(EMBEDDINGS, vectors(&[&[0.0, 1.0]]));
    assert_eq!(embedder.embed_queries(&texts(&["quick"])).await.unwrap()[0].vector, [0.0, 1.0]);
    gate.notify_one();
    batch.await.unwrap().unwrap();

    let never = Arc::new(Notify::new());
    model.next(EMBEDDINGS, vectors(&[&[0.0, 1.0]]).delay_first_token_until(&never));
    let error = reason(embedder.embed_queries(&texts(&["now?"])).await.unwrap_err());
    assert!(error.contains("did not respond within"), "{error}");
    assert_eq!(reason(embedder.embed_queries(&texts(&["again?"])).await.unwrap_err()), error);
    assert_eq!(model.requests_for(EMBEDDINGS).len(), 3, "it was not asked again");
    clock.advance(Duration::from_secs(31)).await;
    model.next(EMBEDDINGS, vectors(&[&[0.0, 1.0]]));
    embedder.embed_queries(&texts(&["later"])).await.unwrap();
    assert_eq!(embedder.failure_reason(), None);
}

#[tokio::test]
async fn identifying_asks_once_and_empty_texts_are_never_sent_empty() {
    let model = ScriptedModel::start().await.unwrap();
    let embedder = embedder(settings(&model), &clock());
    let fingerprint = embedder.identify().await.unwrap();
    assert_eq!(embedder.identify().await.unwrap(), fingerprint);
    assert_eq!(model.requests_for(EMBEDDINGS).len(), 1);
    assert_eq!(embedder.embed(&texts(&["", " \n"])).await.unwrap()[1].readability, 0.0);
    assert_eq!(model.requests_for(EMBEDDINGS)[1].body["input"], json!(["passage: -", "passage: -"]));
}

#[tokio::test]
async fn scripts_can_be_configured_and_wrong_settings_are_refused() {
    let model = ScriptedModel::start().await.unwrap();
    let latin = EndpointSettings { readable_scripts: vec!["Latin".to_owned()], ..settings(&model) };
    let found = embedder(latin, &clock()).embed(&texts(&["cat", "猫"])).await.unwrap();
    assert_eq!((found[0].readability, found[1].readability), (1.0, 0.0));
    for wrong in [
        EndpointSettings { readable_scripts: vec!["Elvish".to_owned()], ..settings(&model) },
        EndpointSettings { model: " ".to_owned(), ..settings(&model) },
        EndpointSettings { base_url: "http://192.168.1.9/v1".to_owned(), ..settings(&model) },
    ] {
        let error = EndpointEmbedder::new(wrong, Arc::new(clock())).err().unwrap();
        assert!(matches!(&error, ModelError::Settings(told) if told.contains("embedding.")), "{error}");
    }
}
