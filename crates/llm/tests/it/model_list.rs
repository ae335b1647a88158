//! The list of an endpoint's models, and the message if there are none.

use llm::{LocalEndpoint, ProviderKind, ProviderSettings, list_models, local_servers};
use serde_json::json;

use crate::scripted_server::{Answer, ScriptedServer};

const KEY: &str = "a-key-of-the-tests";

fn settings(provider: ProviderKind, server: &ScriptedServer) -> ProviderSettings {
    ProviderSettings {
        provider,
        base_url: server.base_url(),
        api_key: Some(KEY.into()),
        ..ProviderSettings::default()
    }
}

fn list(names: &[&str]) -> Answer {
    let data: Vec<_> = names.iter().map(|name| json!({"id": name})).collect();
    Answer::json(&json!({"data": data, "has_more": false}))
}

#[tokio::test]
async fn each_protocol_asks_in_its_own_way() {
    for (provider, line, header) in [
        (ProviderKind::OpenAi, "GET /v1/models HTTP/1.1", "authorization: Bearer a-key-of-the-tests"),
        (ProviderKind::Anthropic, "GET /v1/models?limit=1000 HTTP/1.1", "x-api-key: a-key-of-the-tests"),
    ] {
        let server = ScriptedServer::start([list(&["b", "a", "b"])]).await;
        assert_eq!(list_models(&settings(provider, &server)).await.unwrap(), ["a", "b"]);
        let received = server.received();
        assert_eq!(received[0].line, line);
        assert!(
            received[0].headers.to_lowercase().contains(&header.to_lowercase()),
            "{}",
            received[0].headers
        );
    }
}

#[tokio::test]
async fn errors_do_not_contain_the_key() {
    let refusal = format!(r#"{{"error": {{"message": "{KEY} is wrong"}}}}"#);
    for (answer, kind, part) in [
        (Answer::status("401 Unauthorized", "", &refusal), "auth", "does not accept the API key"),
        (Answer::status("404 Not Found", "", "<html>"), "fatal", "Check the address"),
        (Answer::status("200 OK", "", "<html>welcome</html>"), "fatal", "Check the address"),
        (Answer::status("302 Found", "location: http://elsewhere.test/\r\n", ""), "fatal", "final address"),
        (Answer::status("500 Oops", "", &refusal), "transient", "not available"),
    ] {
        let server = ScriptedServer::start([answer]).await;
        let error = list_models(&settings(ProviderKind::OpenAi, &server)).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        let said = error.to_string();
        assert!(said.contains(part) && !said.contains(KEY), "{said}");
        assert_eq!(server.received().len(), 1);
    }
}

#[tokio::test]
async fn servers_of_this_machine_are_found_with_what_can_talk() {
    let (talks, embeds) = (
        ScriptedServer::start([list(&["bge-m3", "qwen3"])]).await,
        ScriptedServer::start([list(&["bge-m3"])]).await,
    );
    let stuck = ScriptedServer::start([Answer::Stuck(vec![])]).await;
    let endpoint = |name: &str, base_url: String| LocalEndpoint { name: name.to_owned(), base_url };
    let asked = vec![
        endpoint("stuck", stuck.base_url()),
        endpoint("talks", talks.base_url()),
        endpoint("embeds", embeds.base_url()),
        endpoint("far", "http://192.0.2.7:11434/v1".to_owned()),
    ];
    let found = local_servers(asked).await;
    let shown: Vec<(&str, &[String])> =
        found.iter().map(|server| (server.endpoint.name.as_str(), server.models.as_slice())).collect();
    assert_eq!(shown, [("talks", &["qwen3".to_owned()][..]), ("embeds", &[][..])]);
}
