//! Parameters that an endpoint refuses are left out, and that is remembered.

use serde_json::Value;

use crate::scripted_server::{Answer, ScriptedServer};
use crate::{completion, connected, json_request, listen, openai_settings, spoken, text_request};

fn refuses(message: &str) -> Answer {
    let body = serde_json::json!({"error": {"message": message, "type": "invalid_request_error"}});
    Answer::status("400 Bad Request", "", &body.to_string())
}

#[tokio::test]
async fn an_endpoint_without_schemas_is_asked_for_an_object_from_then_on() {
    let server = ScriptedServer::start([
        refuses("response_format.type json_schema is not supported"),
        Answer::json(&completion("{}")),
        Answer::json(&completion("{}")),
    ])
    .await;
    let provider = connected(openai_settings(server.base_url())).await;
    provider.complete(json_request()).await.unwrap();
    provider.complete(json_request()).await.unwrap();
    let formats: Vec<Value> = server
        .received()
        .into_iter()
        .map(|request| request.body["response_format"]["type"].clone())
        .collect();
    assert_eq!(formats, ["json_schema", "json_object", "json_object"]);
    let system = server.received()[1].body["messages"][0]["content"].to_string();
    assert!(system.contains("JSON schema") && system.contains("thoughts"), "{system}");
}

#[tokio::test]
async fn an_endpoint_without_any_json_mode_is_asked_in_words() {
    let server = ScriptedServer::start([
        refuses("unknown field response_format"),
        refuses("unknown field response_format"),
        Answer::json(&completion("{}")),
    ])
    .await;
    let provider = connected(openai_settings(server.base_url())).await;
    provider.complete(json_request()).await.unwrap();
    let last = server.received().pop().unwrap().body;
    assert!(last.get("response_format").is_none());
    assert!(last["messages"][0]["content"].to_string().contains("JSON schema"));
}

#[tokio::test]
async fn a_refusal_of_everything_ends_as_fatal_and_is_not_remembered() {
    let server =
        ScriptedServer::start([refuses("no"), refuses("no"), refuses("no"), Answer::json(&completion("{}"))])
            .await;
    let provider = connected(openai_settings(server.base_url())).await;
    assert_eq!(provider.complete(json_request()).await.unwrap_err().kind(), "fatal");
    provider.complete(json_request()).await.unwrap();
    assert_eq!(server.received()[3].body["response_format"]["type"], "json_schema");
}

#[tokio::test]
async fn parameters_that_a_model_refuses_are_renamed_or_left_out() {
    let server = ScriptedServer::start([
        refuses("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
        refuses("Unsupported value: 'temperature' does not support 0.7."),
        refuses("stream_options: extra inputs are not permitted"),
        Answer::stream(&spoken(&["好"])),
        Answer::stream(&spoken(&["好"])),
    ])
    .await;
    let provider = connected(openai_settings(server.base_url())).await;
    assert_eq!(listen(&*provider, text_request()).await.unwrap().text, "好");
    assert_eq!(listen(&*provider, text_request()).await.unwrap().text, "好");
    let body = server.received().pop().unwrap().body;
    assert_eq!(server.received().len(), 5);
    assert_eq!(body["max_completion_tokens"], 300);
    for left_out in ["max_tokens", "temperature", "stream_options"] {
        assert!(body.get(left_out).is_none(), "{left_out}");
    }
}

#[tokio::test]
async fn a_prompt_that_is_too_long_is_no_reason_to_change_the_form() {
    let server =
        ScriptedServer::start([refuses("maximum context length is 8192 tokens, max_tokens is 300")]).await;
    let provider = connected(openai_settings(server.base_url())).await;
    assert_eq!(provider.complete(json_request()).await.unwrap_err().kind(), "too_long");
    assert_eq!(server.received().len(), 1);
}
