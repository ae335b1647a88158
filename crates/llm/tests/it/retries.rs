use std::sync::Arc;
use std::time::Duration;

use llm::{LlmError, ProviderSettings};
use offline::OfflineProvider;

use crate::scripted_server::{Answer, ScriptedServer};
use crate::{NoPauses, chunk, completion, json_request, listen, openai_settings, spoken, text_request};

fn patient(server: &ScriptedServer) -> ProviderSettings {
    ProviderSettings { max_retries: 3, ..openai_settings(server.base_url()) }
}

#[tokio::test]
async fn errors_that_may_pass_are_retried_with_growing_pauses() {
    let server = ScriptedServer::start([
        Answer::status("500 Oops", "", ""),
        Answer::status("429 Slow", "retry-after: 7\r\n", ""),
        Answer::Bytes(vec![]),
        Answer::json(&completion("好")),
    ])
    .await;
    let pauses = Arc::new(NoPauses::default());
    let provider = llm::connect(patient(&server), Arc::<NoPauses>::clone(&pauses), Arc::new(OfflineProvider))
        .await
        .unwrap();
    assert_eq!(provider.complete(json_request()).await.unwrap().text, "好");
    assert_eq!(pauses.asked(), [250, 7000, 1000].map(Duration::from_millis));
}

#[tokio::test]
async fn a_stream_is_retried_before_its_first_token() {
    let server = ScriptedServer::start([
        Answer::status("503 Busy", "", ""),
        Answer::stream("data: {\"error\":{\"message\":\"overloaded\"}}\n\n"),
        Answer::stream(&spoken(&["好"])),
    ])
    .await;
    let pauses = Arc::new(NoPauses::default());
    let provider = llm::connect(patient(&server), Arc::<NoPauses>::clone(&pauses), Arc::new(OfflineProvider))
        .await
        .unwrap();
    assert_eq!(listen(&*provider, text_request()).await.unwrap().text, "好");
    assert_eq!(pauses.asked().len(), 2);
}

#[tokio::test]
async fn a_stream_is_never_retried_after_its_first_token() {
    let server =
        ScriptedServer::start([Answer::stream(&chunk("小黑")), Answer::stream(&spoken(&["twice"]))]).await;
    let pauses = Arc::new(NoPauses::default());
    let provider = llm::connect(patient(&server), Arc::<NoPauses>::clone(&pauses), Arc::new(OfflineProvider))
        .await
        .unwrap();
    let heard = listen(&*provider, text_request()).await.unwrap();
    assert_eq!(heard.text, "小黑");
    assert!(matches!(heard.end, Some(Err(LlmError::Transient { .. }))));
    assert_eq!((server.received().len(), pauses.asked().len()), (1, 0));
}

#[tokio::test]
async fn retries_end() {
    let down = || Answer::status("500 Oops", "", "");
    let server = ScriptedServer::start([down(), down(), down(), down(), down()]).await;
    let provider = llm::connect(patient(&server), Arc::new(NoPauses::default()), Arc::new(OfflineProvider))
        .await
        .unwrap();
    assert_eq!(provider.complete(json_request()).await.unwrap_err().kind(), "transient");
    assert_eq!(server.received().len(), 4);
}

#[tokio::test]
async fn permanent_errors_are_not_retried() {
    let server = ScriptedServer::start([Answer::status("401 No", "", "")]).await;
    let provider = llm::connect(patient(&server), Arc::new(NoPauses::default()), Arc::new(OfflineProvider))
        .await
        .unwrap();
    assert_eq!(provider.complete(json_request()).await.unwrap_err().kind(), "auth");
    assert_eq!(server.received().len(), 1);
}

#[tokio::test]
async fn a_long_wait_is_handed_to_the_caller() {
    let server = ScriptedServer::start([Answer::status("429 Slow", "retry-after: 3600\r\n", "")]).await;
    let provider = llm::connect(patient(&server), Arc::new(NoPauses::default()), Arc::new(OfflineProvider))
        .await
        .unwrap();
    let error = provider.complete(json_request()).await.unwrap_err();
    assert!(
        matches!(error, LlmError::RateLimited { retry_after: Some(wait), .. } if wait.as_secs() == 3600),
        "{error:?}"
    );
}
