//! The embedding model as a user configures it: an endpoint instead of the local model, and the program's messages
//! about it.

use std::fs;
use std::sync::Arc;

use embed::ALL_MINILM_L6_V2;
use serde_json::{Value, json};
use testkit::scripted_model::{EMBEDDINGS, Pace, answer_plausibly};
use testkit::{Reply, ScriptedModel};
use tokio::sync::Notify;

use crate::command_line::run;
use crate::daemon::{Daemon, Home, Settings, eventually};
use crate::story::with_vectors;

fn with_endpoint(model: &ScriptedModel) -> Settings {
    Settings::talking_to(model)
        .key("embedding.provider", "openai")
        .key("embedding.base_url", model.base_url())
        .key("embedding.model", "small-vectors")
}

async fn vectors(daemon: &Daemon) -> Value {
    daemon.get("/api/admin/status").await["vectors"].clone()
}

/// Waits until every row has its vector.
async fn all_embedded(daemon: &Daemon) {
    eventually("all vectors", async || {
        let state = vectors(daemon).await;
        (state["rows"] == state["with_vector"] && state["serving_meanwhile"].is_null()).then_some(())
    })
    .await;
}

fn asked_for(model: &ScriptedModel, text: &str) -> bool {
    let inputs = |asked: &testkit::scripted_model::RecordedRequest| asked.body["input"].as_array().cloned();
    model.requests_for(EMBEDDINGS).iter().filter_map(inputs).flatten().any(|input| input == text)
}

fn means(candidates: &[Value]) -> bool {
    candidates.iter().any(|candidate| candidate["parts"]["meaning"].as_f64().is_some_and(|part| part > 0.0))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_local_model_serves_until_the_endpoint_has_embedded_everything() {
    let model = ScriptedModel::start().await.unwrap();
    answer_plausibly(&model, Pace::default());
    let home = Home::new();
    let daemon = Daemon::start(&home, &with_vectors(&model)).await;
    daemon.complete("self", "I have a white cat named Shadow").await;
    all_embedded(&daemon).await;
    daemon.kill();

    let gate = Arc::new(Notify::new());
    let first = Reply::json(json!({"data": [{"index": 0, "embedding": [1.0, 0.0]}]}));
    model.next(EMBEDDINGS, first.delay_first_token_until(&gate));
    // All later vectors also have two components.
    model.answer_task(EMBEDDINGS, |asked| {
        let inputs = asked.body["input"].as_array().unwrap();
        let data: Vec<Value> =
            (0..inputs.len()).map(|index| json!({"index": index, "embedding": [0.6, 0.8]})).collect();
        Reply::json(json!({"data": data}))
    });
    let daemon = Daemon::start(&home, &with_endpoint(&model)).await;
    let state = vectors(&daemon).await;
    assert_eq!(state["serving_meanwhile"], ALL_MINILM_L6_V2.fingerprint);
    assert_eq!((&state["model"], &state["with_vector"]), (&Value::Null, &json!(0)));
    assert!(means(&daemon.recall("self", "is there a kitten?").await));
    assert!(!asked_for(&model, "is there a kitten?"), "the local model was asked");
    gate.notify_one();
    all_embedded(&daemon).await;
    assert!(means(&daemon.recall("self", "is there a kitten now?").await));
    assert!(asked_for(&model, "is there a kitten now?"));
    let state = daemon.get("/api/state").await["embedding"].clone();
    assert_eq!(state, json!({"provider": "openai", "model": "small-vectors", "words_only": false}));
    let shown = run(&home, &with_endpoint(&model), &["status"]).await.well();
    assert!(shown.contains("vectors   small-vectors: 2 of 2"), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_and_verify_say_what_there_is() {
    let model = ScriptedModel::start().await.unwrap();
    let (home, endpoint) = (Home::new(), with_endpoint(&model));
    let said = run(&home, &endpoint, &["model", "verify"]).await.well();
    assert!(said.contains("small-vectors at 127.0.0.1") && said.contains("64 components"), "{said}");
    model.next(EMBEDDINGS, Reply::error(401, "no key"));
    let doctor = run(&home, &endpoint, &["doctor"]).await;
    assert_eq!(doctor.code, 1);
    assert!(doctor.out.contains("✗ embedding") && doctor.out.contains("api_key_env"), "{}", doctor.out);

    let refused =
        run(&home, &Settings::none().key("embedding.provider", "openai"), &["config", "check"]).await;
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("embedding.model"), "{}", refused.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_model_in_the_folder_is_named_and_never_overwritten() {
    let (home, folder) = (Home::new(), tempfile::tempdir().unwrap());
    let config = json!({"model_type": "xlm-roberta", "hidden_size": 384, "num_hidden_layers": 12,
        "num_attention_heads": 12, "max_position_embeddings": 514, "hidden_act": "gelu"});
    fs::write(folder.path().join("config.json"), config.to_string()).unwrap();
    fs::write(folder.path().join("tokenizer.json"), "{}").unwrap();
    fs::write(folder.path().join("model.safetensors"), "weights").unwrap();
    let settings = Settings::none().key("embedding.model_dir", folder.path().display());
    let fetched = run(&home, &settings, &["model", "fetch", "--from", "nowhere"]).await;
    assert_eq!(fetched.code, 1);
    assert!(fetched.err.contains("contains another model (roberta with 12 layers"), "{}", fetched.err);
    assert_eq!(fs::read(folder.path().join("model.safetensors")).unwrap(), b"weights");
    let verified = run(&home, &settings, &["model", "verify"]).await;
    assert!(verified.code == 1 && verified.err.contains("model.safetensors"), "{}", verified.err);

    fs::write(folder.path().join("config.json"), r#"{"model_type": "mpnet"}"#).unwrap();
    let doctor = run(&home, &settings, &["doctor"]).await;
    assert!(doctor.out.contains("config.json") && doctor.out.contains("\"mpnet\""), "{}", doctor.out);
}
