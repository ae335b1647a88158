//! The command line: every command, the exit codes, and the output for people and for programs.

use std::process::Output;

use reqwest::Method;
use serde_json::Value;

use crate::daemon::{Daemon, Home, Settings, command};
use crate::owner_api::answer;
use crate::scripts;
use crate::start::start_line;
use crate::watcher::Watcher;

/// Output and exit code of a command.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs a command and waits until it ends.
pub(crate) async fn run(home: &Home, settings: &Settings, arguments: &[&str]) -> Ran {
    let mut command = command(home, settings, arguments);
    let Output { status, stdout, stderr } =
        tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran { code: status.code().unwrap(), out: text(stdout), err: text(stderr) }
}

impl Ran {
    pub(crate) fn well(self) -> String {
        assert_eq!(self.code, 0, "{}\n{}", self.out, self.err);
        self.out
    }

    pub(crate) fn json(self) -> Value {
        let out = self.well();
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn help_explains_every_command_and_shows_examples() {
    let (home, settings) = (Home::new(), Settings::none());
    let help = run(&home, &settings, &["--help"]).await.well();
    let commands = [
        "run",
        "chat",
        "demo",
        "init",
        "recall",
        "memory",
        "model",
        "config",
        "doctor",
        "status",
        "stop",
        "token",
        "reload",
        "completions",
    ];
    for name in commands {
        assert!(help.contains(&format!("\n  {name}")), "{name} is missing:\n{help}");
        let own = run(&home, &settings, &[name, "--help"]).await.well();
        assert!(own.contains("Usage:") && own.contains("--home") && own.contains("--json"), "{own}");
    }
    assert!(help.contains("Exit codes"), "{help}");
    for (arguments, usage) in [
        (&["recall", "--help"][..], "Usage: echovessel recall <TEXT> [OPTIONS]"),
        (&["memory", "show", "--help"], "Usage: echovessel memory show <ID> [OPTIONS]"),
        (&["import", "--help"], "Usage: echovessel import <FILE>... [OPTIONS]"),
    ] {
        let help = run(&home, &settings, arguments).await.well();
        assert!(help.contains(usage), "{help}");
    }
    for arguments in [&["--help"][..], &["run", "--help"], &["chat", "--help"], &["recall", "--help"]] {
        let help = run(&home, &settings, arguments).await.well();
        assert!(help.contains("Examples:\n  echovessel"), "{help}");
    }
    assert!(!home.path().exists(), "asking for help made a home");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_who_went_away_is_no_failure() {
    let (home, settings) = (Home::new(), Settings::offline());
    run(&home, &settings, &["init"]).await.well();
    for arguments in [
        &["config", "show"][..],
        &["config", "schema"],
        &["recall", "my cat", "--explain"],
        &["memory", "list"],
        &["completions", "bash"],
        &["--help"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = command(&home, &settings, arguments);
        command.stdout(writer).stderr(std::process::Stdio::piped());
        let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {said}");
        assert!(!said.contains("panicked"), "{arguments:?}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn shells_are_taught_to_complete() {
    let (home, settings) = (Home::new(), Settings::none());
    for (shell, mark) in
        [("bash", "complete -F"), ("zsh", "#compdef echovessel"), ("fish", "complete -c echovessel")]
    {
        let script = run(&home, &settings, &["completions", shell]).await.well();
        assert!(script.contains(mark) && script.contains("recall"), "{shell}: {script}");
    }
    assert_eq!(run(&home, &settings, &["completions", "tea"]).await.code, 2);
    assert!(!home.path().exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_command_line_is_refused_with_2() {
    let (home, settings) = (Home::new(), Settings::none());
    for arguments in
        [&["remember"][..], &["run", "--prot", "1"], &["recall"], &["config"], &["demo", "--json"]]
    {
        let ran = run(&home, &settings, arguments).await;
        assert_eq!(ran.code, 2, "{arguments:?}: {}", ran.err);
        assert!(!ran.err.is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn init_writes_a_configuration_that_explains_itself() {
    let (home, settings) = (Home::new(), Settings::none());
    run(&home, &settings, &["init", "--provider", "offline"]).await.well();
    let config = std::fs::read_to_string(home.file("config.toml")).unwrap();
    for section in ["[server]", "[llm]", "[session]", "[recall]", "[channels.web]"] {
        assert!(config.contains(section), "{section} is missing:\n{config}");
    }
    assert!(
        config.contains("\nprovider = \"offline\"\n") && config.contains("\n# idle = \"30m\"\n"),
        "{config}"
    );
    run(&home, &settings, &["config", "check"]).await.well();
    assert_eq!(
        run(&home, &settings, &["config", "show", "--json"]).await.json()["llm"]["provider"],
        "offline"
    );

    std::fs::write(home.file("config.toml"), "# mine\n").unwrap();
    let again = run(&home, &settings, &["init"]).await;
    assert_eq!(again.code, 1, "{}", again.out);
    assert_eq!(std::fs::read_to_string(home.file("config.toml")).unwrap(), "# mine\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_configuration_is_shown_and_described() {
    let (home, settings) = (Home::new(), Settings::none().key("session.idle", "7m"));
    let shown = run(&home, &settings, &["config", "show"]).await.well();
    assert!(shown.contains("idle = \"7m\"") && shown.contains("min_relevance = 0.4"), "{shown}");
    let json = run(&home, &settings, &["config", "show", "--json"]).await.json();
    assert_eq!((&json["session"]["idle"], &json["server"]["port"]), (&"7m".into(), &7777.into()));
    let schema = run(&home, &settings, &["config", "schema"]).await.json();
    assert!(schema["$defs"]["Session"]["properties"]["idle"]["description"].is_string(), "{schema}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_configuration_is_refused_with_2_and_names_the_nearest_key() {
    let home = Home::new();
    let settings = Settings::none();
    run(&home, &settings, &["init"]).await.well();
    std::fs::write(home.file("config.toml"), "[session]\nidel = \"5m\"\n").unwrap();
    for arguments in [&["config", "check"][..], &["run", "--port", "0"], &["recall", "x"]] {
        let ran = run(&home, &settings, arguments).await;
        assert_eq!(ran.code, 2, "{arguments:?}: {}", ran.err);
        assert!(ran.err.contains("session.idel") && ran.err.contains("session.idle"), "{}", ran.err);
    }
    std::fs::write(home.file("config.toml"), "").unwrap();
    let misspelt = settings.clone().variable("ECHOVESSEL__LLM__MODLE", "x");
    let ran = run(&home, &misspelt, &["config", "check"]).await;
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("ECHOVESSEL__LLM__MODLE") && ran.err.contains("llm.model"), "{}", ran.err);
    for (key, value) in [("session.idle", "soon"), ("llm.temperature", "9"), ("llm.provider", "oracle")] {
        let ran = run(&home, &settings.clone().key(key, value), &["config", "check"]).await;
        let variable = format!("ECHOVESSEL__{}", key.to_uppercase().replace('.', "__"));
        assert_eq!(ran.code, 2, "{}", ran.err);
        assert!(ran.err.contains(&variable) && !ran.err.contains("config.toml"), "{}", ran.err);
    }
    let ran = run(&home, &settings.key("session.idle", "soon"), &["run", "--port", "0", "--json"]).await;
    assert_eq!(ran.code, 2);
    assert!(serde_json::from_str::<Value>(ran.err.trim()).unwrap()["error"].is_string(), "{}", ran.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_daemon_on_the_same_home_is_refused_with_3_and_names_the_first() {
    let home = Home::new();
    let settings = Settings::offline();
    let daemon = Daemon::start(&home, &settings).await;
    let second = run(&home, &settings, &["run", "--port", "0"]).await;
    assert_eq!(second.code, 3, "{}", second.err);
    assert!(second.err.contains(&daemon.pid().to_string()), "{}", second.err);
    daemon.get("/api/state").await;
    let run_file: Value = serde_json::from_slice(&std::fs::read(home.file("run.json")).unwrap()).unwrap();
    assert_eq!(run_file["pid"], daemon.pid());
    assert_eq!(run_file["url"], daemon.url);
    assert!(daemon.url.ends_with(&format!(":{}", run_file["port"])));
    daemon.kill();
    // A killed daemon leaves its `run.json` but releases its lock.
    Daemon::start(&home, &settings).await.get("/api/state").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_that_need_a_daemon_say_so_with_4() {
    let (home, settings) = (Home::new(), Settings::offline());
    for arguments in [&["status"][..], &["stop"], &["token", "link"]] {
        let ran = run(&home, &settings, arguments).await;
        assert_eq!(ran.code, 4, "{arguments:?}: {}", ran.err);
        assert!(ran.err.contains("echovessel run"), "{}", ran.err);
    }
    let daemon = Daemon::start(&home, &settings).await;
    daemon.kill();
    let ran = run(&home, &settings, &["status", "--json"]).await;
    assert_eq!(ran.code, 4, "a run.json that was left behind was believed: {}", ran.out);
    assert!(serde_json::from_str::<Value>(ran.err.trim()).unwrap()["error"].is_string(), "{}", ran.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn status_token_and_stop_speak_with_the_daemon() {
    let (home, settings) = (Home::new(), Settings::offline());
    let mut daemon = Daemon::start(&home, &settings).await;
    let status = run(&home, &settings, &["status"]).await.well();
    assert!(status.contains(&daemon.url) && status.contains(&daemon.pid().to_string()), "{status}");
    assert!(status.contains("offline") && !status.contains("null"), "{status}");
    let status = run(&home, &settings, &["status", "--json"]).await.json();
    assert_eq!(status["run"]["pid"], daemon.pid());

    assert_eq!(run(&home, &settings, &["token"]).await.well().trim(), daemon.token);
    let link = run(&home, &settings, &["token", "link"]).await.well();
    let path = link.trim().strip_prefix(&daemon.url).unwrap();
    assert_eq!(answer(daemon.knock(Method::GET, path)).await.unwrap().status, 303);

    let stopping = run(&home, &settings, &["stop"]).await;
    let stopped = stopping.well();
    assert!(stopped.contains("All messages are stored"), "{stopped}");
    assert!(daemon.ended().await, "the daemon did not end well");
    assert!(!home.file("run.json").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn recall_explains_itself_with_a_daemon_and_without() {
    let model = scripts::remembering_model().await;
    let (home, settings) = (Home::new(), Settings::talking_to(&model));
    let daemon = Daemon::start(&home, &settings).await;
    let mut watcher = Watcher::open(&daemon).await;
    daemon.complete("self", "我养了只白猫,叫小黑").await;
    let session = daemon.end_session("self").await;
    watcher.wait_for_boundary(&session).await;

    let question = "你还记得我的猫吗";
    let with_daemon = run(&home, &settings, &["recall", question, "--explain"]).await.well();
    let brief = run(&home, &settings, &["recall", question]).await.well();
    let json = run(&home, &settings, &["recall", question, "--json"]).await.json();
    daemon.kill();
    let without = run(&home, &settings, &["recall", question, "--explain"]).await.well();
    for shown in [&with_daemon, &without] {
        assert!(shown.contains("小黑") && shown.contains("✓"), "{shown}");
        for term in ["total", "recency", "relev", "impact", "anchor"] {
            assert!(shown.contains(term), "{term} is missing:\n{shown}");
        }
    }
    assert!(brief.contains("小黑") && !brief.contains("recency"), "{brief}");
    assert_eq!(json["candidates"][0]["used"], true, "{json}");
    let nothing = run(&home, &settings, &["recall", "嗯"]).await.well();
    assert!(!nothing.contains("小黑"), "{nothing}");
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_finds_a_home_in_order_and_one_that_is_not() {
    let (home, settings) = (Home::new(), Settings::offline());
    let daemon = Daemon::start(&home, &settings).await;
    daemon.complete("self", "hello").await;
    let findings = run(&home, &settings, &["doctor", "--json"]).await.json();
    let findings = findings.as_array().unwrap();
    let checked: Vec<&str> = findings.iter().map(|finding| finding["what"].as_str().unwrap()).collect();
    let all = [
        "configuration",
        "files",
        "token",
        "tls",
        "embedding",
        "model",
        "port",
        "daemon",
        "database",
        "clock",
    ];
    assert_eq!(checked, all);
    assert!(findings.iter().all(|finding| finding["ok"] == true), "{findings:?}");
    daemon.kill();
    let settings = settings.key("server.port", 0);
    let well = run(&home, &settings, &["doctor"]).await.well();
    assert!(!well.contains('✗'), "{well}");

    std::fs::write(home.file("echovessel.db"), "not a database, whatever its name says".repeat(100)).unwrap();
    let ill = run(&home, &settings, &["doctor"]).await;
    assert_eq!(ill.code, 1, "{}", ill.out);
    assert!(ill.out.contains('✗'), "{}", ill.out);
    let before = std::fs::read(home.file("echovessel.db")).unwrap();
    let refused = run(&home, &settings, &["run", "--port", "0"]).await;
    assert_eq!(refused.code, 1, "{}", refused.err);
    assert_eq!(std::fs::read(home.file("echovessel.db")).unwrap(), before, "a foreign file was changed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_key_names_the_variable_and_its_setting() {
    let home = Home::new();
    run(&home, &Settings::none(), &["init"]).await.well();
    for (section, variable) in [
        ("provider = \"openai\"", "OPENAI_API_KEY"),
        ("provider = \"anthropic\"\napi_key_env = \"MY_KEY\"", "MY_KEY"),
    ] {
        std::fs::write(home.file("config.toml"), format!("[llm]\n{section}\nmodel = \"m\"\n")).unwrap();
        let ran = run(&home, &Settings::none(), &["run", "--port", "0"]).await;
        assert!(
            ran.code != 0 && ran.err.contains(variable) && ran.err.contains("llm.api_key_env"),
            "{}",
            ran.err
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_start_lines_name_the_address_and_contacted_hosts() {
    let model = scripts::model().await;
    let (home, settings) = (Home::new(), Settings::talking_to(&model));
    let printed = start_line(&home, &settings).await;
    let url = printed.split_whitespace().find(|word| word.starts_with("http://")).unwrap();
    assert!(printed.contains(&format!("{url}/login?code=")), "{printed}");
    let endpoint = model.origin();
    assert!(printed.contains(endpoint.strip_prefix("http://").unwrap()), "{printed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn enabling_what_is_not_implemented_stops_the_start_and_shows_in_doctor() {
    let (home, settings) = (Home::new(), Settings::none());
    run(&home, &settings, &["init", "--provider", "offline"]).await.well();
    std::fs::write(home.file("config.toml"), "[limits]\nupload = \"1GiB\"\n").unwrap();
    let started = run(&home, &settings, &["run", "--port", "0"]).await;
    assert_eq!(started.code, 2, "{}", started.err);
    assert!(started.err.contains("limits.upload: not implemented in this version"), "{}", started.err);
    let doctor = run(&home, &settings, &["doctor"]).await;
    assert_eq!(doctor.code, 1, "{}", doctor.out);
    assert!(doctor.out.contains("✗ configuration") && doctor.out.contains("limits.upload"), "{}", doctor.out);
}
