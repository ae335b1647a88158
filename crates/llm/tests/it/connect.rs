use std::sync::Arc;

use llm::{LlmError, LocalEndpoint, ModelTier, Provider, ProviderKind, ProviderSettings};
use offline::OfflineProvider;
use serde_json::json;
use tokio::net::TcpListener;

use crate::NoPauses;
use crate::scripted_server::{Answer, ScriptedServer};

fn auto(base_urls: &[String]) -> ProviderSettings {
    let local_endpoints = base_urls
        .iter()
        .map(|base_url| LocalEndpoint { name: "a server".to_owned(), base_url: base_url.clone() })
        .collect();
    ProviderSettings { api_key: Some("sk-cloud".into()), local_endpoints, ..ProviderSettings::default() }
}

async fn connect(settings: ProviderSettings) -> Result<Arc<dyn Provider>, LlmError> {
    llm::connect(settings, Arc::new(NoPauses::default()), Arc::new(OfflineProvider)).await
}

fn models(names: &[&str]) -> Answer {
    let data: Vec<_> = names.iter().map(|name| json!({"id": name, "object": "model"})).collect();
    Answer::json(&json!({"object": "list", "data": data}))
}

/// A port on which no server listens.
async fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}/v1", listener.local_addr().unwrap())
}

#[tokio::test]
async fn auto_takes_a_model_server_on_this_machine_and_keeps_the_cloud_key_to_itself() {
    let server = ScriptedServer::start([
        models(&["nomic-embed-text:latest", "qwen3:8b"]),
        Answer::json(&crate::completion("好")),
    ])
    .await;
    let provider = connect(auto(&[nobody().await, server.base_url()])).await.unwrap();
    assert_eq!((provider.name(), provider.model(ModelTier::Large).as_str()), ("openai", "qwen3:8b"));
    let asked = provider.endpoint().unwrap();
    assert!(asked.starts_with("127.0.0.1:") && server.base_url().contains(&asked), "{asked}");
    provider.complete(crate::text_request()).await.unwrap();
    let received = server.received();
    assert_eq!(received[0].line, "GET /v1/models HTTP/1.1");
    assert!(received.iter().all(|request| !request.headers.contains("authorization")));
}

#[tokio::test]
async fn context_is_what_the_server_says_its_model_takes() {
    for (fields, taken) in [
        (json!({"id": "qwen3", "context_length": 40_960}), Some(40_960)),
        (json!({"id": "qwen3", "max_model_len": 16_384}), Some(16_384)),
        (json!({"id": "qwen3", "context_length": 40_960, "loaded_context_length": 4_096}), Some(4_096)),
        (json!({"id": "qwen3"}), None),
    ] {
        let list = || Answer::json(&json!({"object": "list", "data": [fields]}));
        let server = ScriptedServer::start([list()]).await;
        assert_eq!(connect(auto(&[server.base_url()])).await.unwrap().context_tokens(), taken, "{fields}");
        let server = ScriptedServer::start([list()]).await;
        let (provider, base_url) = (ProviderKind::OpenAi, server.base_url());
        let unnamed = ProviderSettings { provider, base_url, ..ProviderSettings::default() };
        assert_eq!(connect(unnamed).await.unwrap().context_tokens(), taken, "{fields}");
    }
}

#[tokio::test]
async fn auto_prefers_the_earlier_endpoint() {
    let first = ScriptedServer::start([models(&["first"])]).await;
    let second = ScriptedServer::start([models(&["second"])]).await;
    let provider = connect(auto(&[first.base_url(), second.base_url()])).await.unwrap();
    assert_eq!(provider.model(ModelTier::Small), "first");
}

#[tokio::test]
async fn auto_is_offline_when_no_server_answers_well() {
    for answer in [
        models(&[]),
        models(&["bge-m3"]),
        Answer::status("500 Oops", "", ""),
        Answer::status("200 OK", "", "<html>"),
        Answer::Stuck(vec![]),
        Answer::Endless(b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), vec![b' '; 65536]),
    ] {
        let server = ScriptedServer::start([answer]).await;
        assert_eq!(connect(auto(&[server.base_url()])).await.unwrap().name(), "offline");
    }
    let offline = connect(auto(&[])).await.unwrap();
    assert_eq!((offline.name(), offline.endpoint()), ("offline", None::<String>));
}

#[tokio::test]
async fn auto_asks_nobody_outside_this_machine() {
    let far = "http://192.0.2.7:11434/v1".to_owned();
    assert_eq!(connect(auto(&[far])).await.unwrap().name(), "offline");
    let settings = ProviderSettings { base_url: "https://cloud.test/v1".to_owned(), ..auto(&[]) };
    assert_eq!(connect(settings).await.err().map(|error| error.kind()), Some("fatal"));
}

#[tokio::test]
async fn a_pinned_model_stays_pinned_on_a_local_server() {
    let server = ScriptedServer::start([models(&["qwen3:8b"])]).await;
    let settings = ProviderSettings { model: "mine".to_owned(), ..auto(&[server.base_url()]) };
    assert_eq!(connect(settings).await.unwrap().model(ModelTier::Medium), "mine");
}

#[tokio::test]
async fn settings_that_cannot_work_say_so() {
    let with = |provider, base_url: &str, key: Option<&str>| ProviderSettings {
        provider,
        base_url: base_url.to_owned(),
        api_key: key.map(Into::into),
        ..ProviderSettings::default()
    };
    for (settings, kind) in [
        (with(ProviderKind::OpenAi, "", None), "auth"),
        (with(ProviderKind::OpenAi, "", Some("  ")), "auth"),
        (with(ProviderKind::Anthropic, "", None), "auth"),
        (with(ProviderKind::OpenAi, "https://other.test/v1", Some("k")), "fatal"),
        (with(ProviderKind::OpenAi, "http://other.test/v1", Some("k")), "fatal"),
        (with(ProviderKind::OpenAi, "", Some("two\nlines")), "auth"),
    ] {
        let described = format!("{settings:?}");
        assert_eq!(connect(settings).await.err().map(|error| error.kind()), Some(kind), "{described}");
    }
    let default = connect(with(ProviderKind::Anthropic, "http://127.0.0.1:9", Some("k"))).await.unwrap();
    assert_eq!(default.name(), "anthropic");
    assert_ne!(default.model(ModelTier::Small), default.model(ModelTier::Large));
}

#[tokio::test]
async fn a_server_on_this_machine_may_name_its_own_model() {
    let server = ScriptedServer::start([models(&["qwen3:8b"])]).await;
    let settings = ProviderSettings {
        provider: ProviderKind::OpenAi,
        base_url: server.base_url(),
        ..ProviderSettings::default()
    };
    assert_eq!(connect(settings).await.unwrap().model(ModelTier::Large), "qwen3:8b");
}
