//! Time and memory are bounded, whatever the endpoint does.

use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use llm::{LlmError, MAX_ANSWER_BYTES, ProviderSettings, StreamEvent};

use crate::scripted_server::{Answer, ScriptedServer, event_stream};
use crate::{chunk, connected, json_request, listen, openai_settings, spoken, text_request};

const SHORT: Duration = Duration::from_millis(50);
/// Far more than a busy machine needs for one response over loopback.
const LONG: Duration = Duration::from_secs(20);

#[tokio::test]
async fn silence_before_the_first_token_ends_in_time() {
    let role_only = "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\"}}]}\n\n";
    for answer in [Answer::Stuck(vec![]), Answer::Stuck(event_stream(role_only))] {
        let server = ScriptedServer::start([answer]).await;
        let settings = ProviderSettings { first_token_timeout: SHORT, ..openai_settings(server.base_url()) };
        let error = listen(&*connected(settings).await, text_request()).await.err().unwrap();
        assert_eq!(error.kind(), "transient");
        assert!(error.to_string().contains("did not begin to answer within 50ms"), "{error}");
    }
}

#[tokio::test]
async fn comments_are_no_tokens() {
    let server = ScriptedServer::start([Answer::Endless(event_stream(""), b": alive\n\n".to_vec())]).await;
    let settings = ProviderSettings { first_token_timeout: SHORT, ..openai_settings(server.base_url()) };
    let error = listen(&*connected(settings).await, text_request()).await.err().unwrap();
    assert_eq!(error.kind(), "transient");
}

#[tokio::test]
async fn silence_between_tokens_ends_in_time_and_keeps_what_was_said() {
    let server = ScriptedServer::start([Answer::Stuck(event_stream(&chunk("小黑")))]).await;
    let settings = ProviderSettings { idle_timeout: SHORT, ..openai_settings(server.base_url()) };
    let heard = listen(&*connected(settings).await, text_request()).await.unwrap();
    assert_eq!(heard.text, "小黑");
    let Some(Err(error)) = heard.end else { panic!("no error") };
    assert!(error.to_string().contains("did not go on with its answer within 50ms"), "{error}");
}

#[tokio::test]
async fn a_model_that_thinks_is_alive() {
    let thought = b"data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"hm\"}}]}\n\n";
    let server = ScriptedServer::start([Answer::Endless(event_stream(""), thought.to_vec())]).await;
    let settings = ProviderSettings {
        first_token_timeout: LONG,
        timeout: Duration::from_millis(200),
        ..openai_settings(server.base_url())
    };
    let error = listen(&*connected(settings).await, text_request()).await.err().unwrap();
    assert!(error.to_string().contains("did not finish its answer within 200ms"), "{error}");
}

#[tokio::test]
async fn a_whole_answer_ends_in_time() {
    let half = "HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n{\"choices\":";
    let server = ScriptedServer::start([Answer::Stuck(vec![]), Answer::Stuck(half.into())]).await;
    let settings = ProviderSettings { timeout: SHORT, ..openai_settings(server.base_url()) };
    let provider = connected(settings).await;
    for _ in 0..2 {
        let error = provider.complete(json_request()).await.unwrap_err();
        assert!(error.to_string().contains("did not finish its answer within 50ms"), "{error}");
    }
}

#[tokio::test]
async fn an_answer_without_end_is_dropped() {
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{\"choices\":[{\"message\":{\"content\":\"";
    let server = ScriptedServer::start([Answer::Endless(head.into(), vec![b'a'; 65536])]).await;
    let error =
        connected(openai_settings(server.base_url())).await.complete(json_request()).await.unwrap_err();
    assert_eq!(error.kind(), "fatal");
    assert!(error.to_string().contains("too large"), "{error}");
    server.left.clone().wait_for(|left| *left == 1).await.unwrap();
}

#[tokio::test]
async fn a_stream_without_end_is_dropped_at_its_bound() {
    let piece = chunk(&"猫".repeat(2000)).into_bytes();
    let server = ScriptedServer::start([Answer::Endless(event_stream(""), piece)]).await;
    let settings =
        ProviderSettings { idle_timeout: LONG, timeout: LONG, ..openai_settings(server.base_url()) };
    let heard = listen(&*connected(settings).await, text_request()).await.unwrap();
    assert!(heard.text.len() <= MAX_ANSWER_BYTES && heard.text.len() > MAX_ANSWER_BYTES - 10_000);
    assert!(matches!(heard.end, Some(Err(LlmError::Fatal { .. }))), "{:?}", heard.end);
    server.left.clone().wait_for(|left| *left == 1).await.unwrap();
}

#[tokio::test]
async fn a_line_without_end_is_dropped_at_its_bound() {
    let server = ScriptedServer::start([Answer::Endless(event_stream("data: "), vec![b'a'; 65536])]).await;
    let error =
        listen(&*connected(openai_settings(server.base_url())).await, text_request()).await.err().unwrap();
    assert!(error.to_string().contains("too large"), "{error}");
    server.left.clone().wait_for(|left| *left == 1).await.unwrap();
}

#[tokio::test]
async fn an_answer_of_ten_megabytes_is_refused() {
    let body = crate::completion(&"a".repeat(10 * 1024 * 1024));
    let server = ScriptedServer::start([Answer::json(&body)]).await;
    let error =
        connected(openai_settings(server.base_url())).await.complete(json_request()).await.unwrap_err();
    assert!(error.to_string().contains("too large"), "{error}");
}

#[tokio::test]
async fn a_dropped_stream_closes_its_connection_and_frees_its_place() {
    let server = ScriptedServer::start([
        Answer::Stuck(event_stream(&chunk("小黑"))),
        Answer::stream(&spoken(&["好"])),
    ])
    .await;
    let settings = ProviderSettings { max_in_flight: 1, ..openai_settings(server.base_url()) };
    let provider = connected(settings).await;
    let mut stream = provider.stream(text_request()).await.unwrap();
    assert_eq!(stream.next().await, Some(Ok(StreamEvent::Delta("小黑".to_owned()))));

    let mut second = Box::pin(listen(&*provider, text_request()));
    assert!((&mut second).now_or_never().is_none());
    assert_eq!(server.received().len(), 1, "the second call waits for its place");

    drop(stream);
    assert_eq!(second.await.unwrap().text, "好");
    server.left.clone().wait_for(|left| *left == 1).await.unwrap();
}
