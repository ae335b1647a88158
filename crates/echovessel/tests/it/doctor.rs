//! `echovessel doctor` reports each kind of defect; each is caused once here.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::Value;
use tokio::net::TcpListener;

use crate::command_line::run;
use crate::daemon::{Daemon, Home, Settings};

/// A home that was used and is idle, and the settings with which doctor reports no defect.
async fn used_home() -> (Home, Settings) {
    let (home, settings) = (Home::new(), Settings::offline().key("server.port", 0));
    let daemon = Daemon::start(&home, &settings).await;
    daemon.complete("self", "hello").await;
    daemon.kill();
    (home, settings)
}

/// The message of doctor about the only defect.
async fn complaint(home: &Home, settings: &Settings, what: &str) -> String {
    let ran = run(home, settings, &["doctor", "--json"]).await;
    assert_eq!(ran.code, 1, "{}", ran.out);
    let findings: Value = serde_json::from_str(&ran.out).unwrap();
    let wrong: Vec<&Value> =
        findings.as_array().unwrap().iter().filter(|finding| finding["ok"] == false).collect();
    assert_eq!(wrong.len(), 1, "{wrong:?}");
    assert_eq!(wrong[0]["what"], what, "{wrong:?}");
    wrong[0]["said"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_others_can_read() {
    let (home, settings) = used_home().await;
    let open = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(home.file("token"), open).unwrap();
    let said = complaint(&home, &settings, "files").await;
    assert!(said.contains("chmod 600") && said.contains("token"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_can_be_guessed_or_is_empty() {
    let (home, settings) = used_home().await;
    let said = complaint(&home, &settings.clone().variable("ECHOVESSEL_TOKEN", "letmein"), "token").await;
    assert!(said.contains("can be guessed") && !said.contains("letmein"), "{said}");
    std::fs::write(home.file("token"), "").unwrap();
    assert!(complaint(&home, &settings, "token").await.contains("is empty"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_is_none() {
    let (home, settings) = used_home().await;
    let wrong = home.file("token").display().to_string();
    let settings = settings.key("server.tls_cert", &wrong).key("server.tls_key", &wrong);
    assert!(complaint(&home, &settings, "tls").await.contains("server.tls_cert"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_embedding_model_that_is_missing() {
    let (home, settings) = used_home().await;
    let nowhere: PathBuf = home.file("nowhere");
    let settings = settings.key("embedding.provider", "local").key("embedding.model_dir", nowhere.display());
    assert!(complaint(&home, &settings, "embedding").await.contains("model fetch"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_language_model_that_is_not_there_or_wants_a_key() {
    let (home, settings) = used_home().await;
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = taken.local_addr().unwrap();
    drop(taken);
    let nobody = settings
        .clone()
        .key("llm.provider", "openai")
        .key("llm.model", "m")
        .key("llm.base_url", format!("http://{address}/v1"));
    let said = complaint(&home, &nobody, "model").await;
    assert!(said.contains(&address.to_string()) && said.contains("cannot be reached"), "{said}");
    let keyless = settings.key("llm.provider", "anthropic");
    assert!(complaint(&home, &keyless, "model").await.contains("API key"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_that_somebody_else_has() {
    let (home, settings) = used_home().await;
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = taken.local_addr().unwrap().port();
    let said = complaint(&home, &settings.key("server.port", port), "port").await;
    assert!(said.contains(&port.to_string()) && said.contains("--port 0"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_that_is_wrong() {
    let (home, settings) = used_home().await;
    let file = home.file("config.toml");
    std::fs::write(&file, "[recall]\nkk = 5\n").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    // Without a configuration, doctor checks the default port and model, whose result depends on the machine.
    let ran = run(&home, &settings, &["doctor"]).await;
    assert_eq!(ran.code, 1);
    let line = ran.out.lines().find(|line| line.contains("configuration")).unwrap();
    assert!(line.starts_with('✗') && line.contains("line 2") && line.contains("recall.k"), "{line}");
}
