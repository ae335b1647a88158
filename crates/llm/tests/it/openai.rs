use llm::{LlmError, StreamEvent, Usage};
use serde_json::json;

use crate::scripted_server::{Answer, ScriptedServer, event_stream};
use crate::{chunk, completion, connected, json_request, listen, openai_settings, spoken, text_request};

#[tokio::test]
async fn a_stream_says_its_words_and_then_what_it_cost() {
    let server = ScriptedServer::start([Answer::stream(&spoken(&["小黑", "很", "调皮。"]))]).await;
    let provider = connected(openai_settings(server.base_url())).await;
    let heard = listen(&*provider, text_request()).await.unwrap();
    assert_eq!(heard.text, "小黑很调皮。");
    let usage = Usage { input_tokens: 12, output_tokens: 5, cached_tokens: 8, reported: true };
    assert_eq!(heard.end, Some(Ok(StreamEvent::Finished { usage, model: "test-model-2".to_owned() })));

    let received = &server.received()[0];
    assert_eq!(received.line, "POST /v1/chat/completions HTTP/1.1");
    assert!(received.headers.contains("authorization: bearer sk-test-key"));
    assert_eq!(
        received.body,
        json!({
            "model": "test-model",
            "messages": [
                {"role": "system", "content": "You are Echo."},
                {"role": "user", "content": "你还记得我的猫吗"},
            ],
            "stream": true,
            "stream_options": {"include_usage": true},
            "temperature": 0.7,
            "max_tokens": 300,
        })
    );
}

#[tokio::test]
async fn a_whole_answer_comes_with_usage_and_model() {
    let server = ScriptedServer::start([Answer::json(&completion("{\"thoughts\":[]}"))]).await;
    let provider = connected(openai_settings(server.base_url())).await;
    let answer = provider.complete(json_request()).await.unwrap();
    assert_eq!(answer.text, "{\"thoughts\":[]}");
    assert_eq!((answer.model.as_str(), answer.provider.as_str()), ("test-model-2", "openai"));
    assert_eq!(answer.usage, Usage { input_tokens: 20, output_tokens: 4, cached_tokens: 0, reported: true });
    let format = &server.received()[0].body["response_format"];
    assert_eq!(format["type"], "json_schema");
    assert_eq!(format["json_schema"]["name"], "reflection");
    assert_eq!(format["json_schema"]["strict"], false);
}

#[tokio::test]
async fn usage_that_is_not_reported_is_estimated_and_says_so() {
    let body = format!("{}data: [DONE]\n\n", chunk("小黑很好"));
    let server = ScriptedServer::start([Answer::stream(&body)]).await;
    let provider = connected(openai_settings(server.base_url())).await;
    let heard = listen(&*provider, text_request()).await.unwrap();
    let Some(Ok(StreamEvent::Finished { usage, model })) = heard.end else { panic!("{:?}", heard.end) };
    assert_eq!(usage, Usage { input_tokens: 4 + 8, output_tokens: 4, cached_tokens: 0, reported: false });
    assert_eq!(model, "test-model");
}

#[tokio::test]
async fn a_stream_without_its_end_mark_keeps_its_words_and_is_an_error() {
    let body = format!("{}{}data: {{\"choi", chunk("小黑"), chunk("昨天"));
    let server = ScriptedServer::start([Answer::stream(&body)]).await;
    let provider = connected(openai_settings(server.base_url())).await;
    let heard = listen(&*provider, text_request()).await.unwrap();
    assert_eq!(heard.text, "小黑昨天");
    assert!(matches!(heard.end, Some(Err(LlmError::Transient { .. }))), "{:?}", heard.end);
}

#[tokio::test]
async fn an_error_inside_a_stream_is_an_error() {
    let body = format!(
        "{}data: {{\"error\":{{\"message\":\"upstream sk-test-key is gone\",\"code\":502}}}}\n\n{}",
        chunk("小"),
        chunk("never heard")
    );
    let server = ScriptedServer::start([Answer::stream(&body)]).await;
    let provider = connected(openai_settings(server.base_url())).await;
    let heard = listen(&*provider, text_request()).await.unwrap();
    assert_eq!(heard.text, "小");
    let Some(Err(error)) = heard.end else { panic!("no error") };
    assert_eq!(error.kind(), "transient");
    assert!(error.to_string().contains("upstream [key] is gone"), "{error}");
}

#[tokio::test]
async fn each_refusal_before_the_first_token_has_its_kind() {
    for (status, body, kind) in [
        ("401 Unauthorized", r#"{"error":{"message":"Incorrect API key: sk-test-key"}}"#, "auth"),
        ("500 Oops", "<html>", "transient"),
        ("429 Slow", r#"{"error":{"message":"sk-test-key is too eager"}}"#, "rate_limited"),
        ("400 Bad", r#"{"error":{"code":"context_length_exceeded","message":"m"}}"#, "too_long"),
        ("404 None", r#"{"error":{"message":"no such model"}}"#, "fatal"),
        ("307 Elsewhere", "", "fatal"),
    ] {
        let server = ScriptedServer::start([
            Answer::status(status, "location: http://127.0.0.1:9/\r\n", body),
            Answer::status(status, "", body),
        ])
        .await;
        let provider = connected(openai_settings(server.base_url())).await;
        let streamed = listen(&*provider, text_request()).await.err().unwrap();
        let whole = provider.complete(text_request()).await.unwrap_err();
        for error in [streamed, whole] {
            assert_eq!(error.kind(), kind, "{status}");
            assert!(!format!("{error} {error:?}").contains("sk-test-key"), "{error}");
        }
    }
}

#[tokio::test]
async fn garbage_is_fatal_and_never_words() {
    let page = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n\r\n<html>hello</html>";
    for answer in [
        Answer::Bytes(page.into()),
        Answer::stream("data: not json\n\n"),
        Answer::stream("data: [1,2]\n\n"),
        Answer::Bytes([event_stream("data: "), vec![0xff, 0xfe, b'\n', b'\n']].concat()),
    ] {
        let server = ScriptedServer::start([answer]).await;
        let provider = connected(openai_settings(server.base_url())).await;
        assert_eq!(listen(&*provider, text_request()).await.err().map(|e| e.kind()), Some("fatal"));
    }
    for body in ["", "{}", "null", "[]", "hello", r#"{"choices":[]}"#, r#"{"choices":[{"message":{}}]}"#] {
        let server = ScriptedServer::start([Answer::status("200 OK", "", body)]).await;
        let provider = connected(openai_settings(server.base_url())).await;
        assert_eq!(provider.complete(text_request()).await.unwrap_err().kind(), "fatal", "{body}");
    }
}

#[tokio::test]
async fn a_connection_that_closes_at_once_is_transient() {
    let server = ScriptedServer::start([Answer::Bytes(vec![]), Answer::Bytes(vec![])]).await;
    let provider = connected(openai_settings(server.base_url())).await;
    assert_eq!(listen(&*provider, text_request()).await.err().map(|e| e.kind()), Some("transient"));
    assert_eq!(provider.complete(text_request()).await.unwrap_err().kind(), "transient");
}

#[tokio::test]
async fn a_refusal_of_the_model_is_refused() {
    let filtered = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"content_filter\"}]}\n\n";
    let refusal = json!({"choices": [{"message": {"content": null, "refusal": "I will not."}}]});
    let server = ScriptedServer::start([Answer::stream(filtered), Answer::json(&refusal)]).await;
    let provider = connected(openai_settings(server.base_url())).await;
    assert_eq!(listen(&*provider, text_request()).await.err().map(|e| e.kind()), Some("refused"));
    assert_eq!(provider.complete(json_request()).await.unwrap_err().kind(), "refused");
}
