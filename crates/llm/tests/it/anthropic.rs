use std::sync::Arc;

use llm::{LlmError, Provider, ProviderKind, ProviderSettings, StreamEvent, Usage};
use serde_json::json;

use crate::scripted_server::{Answer, ScriptedServer};
use crate::{connected, json_request, listen, openai_settings, text_request};

const BEGIN: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"claude-x\",\"content\":[],\"usage\":{\"input_tokens\":10,\"cache_read_input_tokens\":30,\"output_tokens\":1}}}\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\nevent: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n";
const END: &str = "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":7}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";

fn delta(text: &str) -> String {
    let data =
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}});
    format!("event: content_block_delta\ndata: {data}\n\n")
}

async fn claude(server: &ScriptedServer) -> Arc<dyn Provider> {
    let settings = openai_settings(server.base_url());
    connected(ProviderSettings { provider: ProviderKind::Anthropic, ..settings }).await
}

#[tokio::test]
async fn a_stream_says_its_words_and_then_what_it_cost() {
    let body = format!("{BEGIN}{}{}{END}", delta("小黑"), delta("很好。"));
    let server = ScriptedServer::start([Answer::stream(&body)]).await;
    let heard = listen(&*claude(&server).await, text_request()).await.unwrap();
    assert_eq!(heard.text, "小黑很好。");
    let usage = Usage { input_tokens: 40, output_tokens: 7, cached_tokens: 30, reported: true };
    assert_eq!(heard.end, Some(Ok(StreamEvent::Finished { usage, model: "claude-x".to_owned() })));

    let received = &server.received()[0];
    assert_eq!(received.line, "POST /v1/messages HTTP/1.1");
    assert!(received.headers.contains("x-api-key: sk-test-key"));
    assert!(received.headers.contains("anthropic-version: 2023-06-01"));
    assert_eq!(
        received.body,
        json!({
            "model": "test-model",
            "max_tokens": 300,
            "system": "You are Echo.",
            "messages": [{"role": "user", "content": "你还记得我的猫吗"}],
            "temperature": 0.7,
            "stream": true,
        })
    );
}

#[tokio::test]
async fn json_is_asked_for_by_instructions() {
    let answer = json!({
        "model": "claude-x",
        "content": [{"type": "text", "text": "{\"thoughts\""}, {"type": "text", "text": ":[]}"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 3, "output_tokens": 2},
    });
    let server = ScriptedServer::start([Answer::json(&answer)]).await;
    let completion = claude(&server).await.complete(json_request()).await.unwrap();
    assert_eq!(completion.text, "{\"thoughts\":[]}");
    assert_eq!(completion.provider, "anthropic");
    let body = &server.received()[0].body;
    assert!(body["system"].as_str().unwrap().contains("JSON schema"));
    assert!(body.get("response_format").is_none());
}

#[tokio::test]
async fn a_stream_without_its_end_mark_keeps_its_words_and_is_an_error() {
    let server = ScriptedServer::start([Answer::stream(&format!("{BEGIN}{}", delta("小黑")))]).await;
    let heard = listen(&*claude(&server).await, text_request()).await.unwrap();
    assert_eq!(heard.text, "小黑");
    assert!(matches!(heard.end, Some(Err(LlmError::Transient { .. }))), "{:?}", heard.end);
}

#[tokio::test]
async fn errors_and_refusals_inside_a_stream_have_their_kinds() {
    let overloaded = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    let refusal = "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"refusal\"}}\n\n";
    for (end, kind) in [(overloaded, "transient"), (refusal, "refused")] {
        let server = ScriptedServer::start([Answer::stream(&format!("{BEGIN}{}{end}", delta("小")))]).await;
        let heard = listen(&*claude(&server).await, text_request()).await.unwrap();
        let Some(Err(error)) = heard.end else { panic!("no error") };
        assert_eq!((heard.text.as_str(), error.kind()), ("小", kind));
    }
}

#[tokio::test]
async fn a_model_that_takes_no_temperature_is_asked_without() {
    let no = r#"{"type":"error","error":{"type":"invalid_request_error","message":"`temperature` is deprecated for this model."}}"#;
    let server = ScriptedServer::start([
        Answer::status("400 Bad", "", no),
        Answer::stream(&format!("{BEGIN}{}{END}", delta("好"))),
    ])
    .await;
    assert_eq!(listen(&*claude(&server).await, text_request()).await.unwrap().text, "好");
    assert!(server.received()[1].body.get("temperature").is_none());
}
