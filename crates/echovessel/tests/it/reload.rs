//! Changes of the configuration while the daemon runs: keys without effect, reloads that reach only part of the
//! program, and files that lose their comments (defect 18).

use reqwest::Method;
use serde_json::{Value, json};
use testkit::Reply;

use crate::command_line::run;
use crate::daemon::{Daemon, Home, Settings, eventually};
use crate::owner_api::{Answer, answer};
use crate::scripts;
use crate::watcher::Watcher;

const FILE: &str = "\
# What I set, and why.
[session]
idle = \"30m\" # a pause for coffee

[limits]
# one slow machine
turn_timeout = \"120s\"

[server]
port = 7777
";

async fn patch(daemon: &Daemon, body: &Value) -> Answer {
    answer(daemon.request(Method::PATCH, "/api/admin/config").json(body)).await.unwrap()
}

/// The owner's login. It may change settings that no token may change.
async fn log_in(daemon: &Daemon) -> [String; 2] {
    let link = daemon.login.strip_prefix(&daemon.url).unwrap();
    let entered = answer(daemon.knock(Method::GET, link)).await.unwrap();
    let cookie = entered.headers["set-cookie"].to_str().unwrap().split(';').next().unwrap();
    let page = entered.headers["location"].to_str().unwrap();
    [cookie.to_owned(), page.strip_prefix("/#login=").unwrap().to_owned()]
}

async fn patch_logged_in(daemon: &Daemon, [cookie, key]: &[String; 2], body: &Value) -> Answer {
    let request = daemon.knock(Method::PATCH, "/api/admin/config");
    let request = request.header("cookie", cookie).header("x-echovessel-login", key);
    answer(request.json(body)).await.unwrap()
}

fn write(home: &Home, text: &str) {
    std::fs::create_dir_all(home.path()).unwrap();
    std::fs::write(home.file("config.toml"), text).unwrap();
}

fn file(home: &Home) -> String {
    std::fs::read_to_string(home.file("config.toml")).unwrap()
}

async fn setting(daemon: &Daemon, key: &str) -> Value {
    daemon.get("/api/admin/config").await["settings"][key].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn channels_are_changed_by_the_legacy_names() {
    let home = Home::new();
    write(&home, FILE);
    let daemon = Daemon::start(&home, &Settings::offline()).await;
    let change = async |body: Value| {
        answer(daemon.request(Method::PATCH, "/api/admin/channels").json(&body)).await.unwrap()
    };
    let ids = json!([80_351_110_224_678_912_u64]);
    let done = change(json!({"discord": {"allowed_user_ids": ids, "debounce_ms": 500}})).await;
    assert_eq!(done.status, 200, "{}", done.body);
    let fields = json!(["channels.discord.allowed_user_ids", "channels.discord.debounce_ms"]);
    assert_eq!((&done.body["updated_fields"], &done.body["restart_required"]), (&fields, &json!(true)));
    let text = file(&home);
    assert!(text.contains("allowed_user_ids = [\"80351110224678912\"]"), "{text}");
    assert!(text.contains("debounce = \"500ms\""), "{text}");
    let refused = change(json!({"discord": {"allowed_user_ids": ["ann"]}})).await;
    assert_eq!(refused.status, 422, "{}", refused.body);
    let refused = change(json!({"discord": {"token_env": "HOME"}})).await;
    assert_eq!(refused.status, 403, "{}", refused.body);
    assert_eq!(file(&home), text, "what is refused changes nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn how_replies_are_sampled_can_be_changed_while_it_runs() {
    let home = Home::new();
    let model = scripts::model().await;
    let daemon = Daemon::start(&home, &Settings::talking_to(&model)).await;
    let shown = daemon.get("/api/admin/config").await["llm"].clone();
    assert_eq!((&shown["temperature"], &shown["max_tokens"]), (&json!(0.7), &json!(4096)));
    let asked = async || {
        daemon.complete("self", "hello").await;
        let request = model.requests_for("reply").pop().unwrap().body;
        (request["temperature"].clone(), request["max_tokens"].clone())
    };
    let (temperature, most) = asked().await;
    assert!((temperature.as_f64().unwrap() - 0.7).abs() < 1e-6 && most == 4096, "{temperature} {most}");
    let done = patch(&daemon, &json!({"llm": {"temperature": 0.25, "max_tokens": 300}})).await;
    assert_eq!(done.status, 200, "{}", done.body);
    assert_eq!(done.body["restart_required"], json!([]));
    assert_eq!(asked().await, (json!(0.25), json!(300)));
    let shown = daemon.get("/api/admin/config").await["llm"].clone();
    assert_eq!((&shown["temperature"], &shown["max_tokens"]), (&json!(0.25), &json!(300)));
    for wrong in [json!({"llm": {"temperature": 2.5}}), json!({"llm": {"max_tokens": 63}})] {
        assert_eq!(patch(&daemon, &wrong).await.status, 422, "{wrong}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn config_names_providers_as_legacy_clients_know_them() {
    let home = Home::new();
    let daemon = Daemon::start(&home, &Settings::offline()).await;
    let shown = daemon.get("/api/admin/config").await;
    assert_eq!(
        (&shown["llm"]["provider"], &shown["llm"]["api_key_present"]),
        (&json!("stub"), &json!(false))
    );
    assert_eq!(setting(&daemon, "llm.provider").await["value"], "offline", "the key keeps its own words");
    let discord = &shown["channels"]["discord"];
    assert_eq!((&discord["enabled"], &discord["debounce_ms"]), (&json!(false), &json!(2_000)));
    assert_eq!((&discord["registered"], &discord["ready"]), (&json!(false), &json!(false)));
    assert_eq!(shown["channels"]["imessage"]["debounce_ms"], 0, "this program has not got that channel");
    drop(daemon);
    let home = Home::new();
    let model = scripts::model().await;
    let daemon = Daemon::start(&home, &Settings::talking_to(&model)).await;
    assert_eq!(daemon.get("/api/admin/config").await["llm"]["provider"], "openai_compat");
}

#[tokio::test(flavor = "multi_thread")]
async fn defect_18_a_change_over_http_holds_at_once_and_the_file_keeps_its_comments() {
    let home = Home::new();
    write(&home, FILE);
    let daemon = Daemon::start(&home, &Settings::offline()).await;
    let mut watcher = Watcher::open(&daemon).await;
    let wanted = json!({
        "memory": {"retrieve_k": 4}, "session": {"idle": "9m"}, "server": {"port": 9999},
        "channels": {"web": {"debounce": "1s"}},
    });
    let done = patch(&daemon, &wanted).await;
    assert_eq!(done.status, 200, "{}", done.body);
    assert_eq!(
        done.body["updated_fields"],
        json!(["channels.web.debounce", "memory.retrieve_k", "server.port", "session.idle"])
    );
    assert_eq!(done.body["reload_triggered"], true);
    assert_eq!(done.body["restart_required"], json!(["server.port"]));
    // The tests set the debounce by an environment variable, which the file can't override.
    assert_eq!(done.body["overridden_by_environment"], json!(["channels.web.debounce"]));
    assert_eq!(setting(&daemon, "recall.k").await, json!({"value": 4, "default": 10, "live": true}));
    let port = setting(&daemon, "server.port").await;
    assert_eq!(
        (&port["value"], &port["pending"], &port["live"]),
        (&json!(7777), &json!(9999), &json!(false))
    );
    let compatible = daemon.get("/api/admin/config").await;
    assert_eq!(compatible["memory"]["retrieve_k"], 4);
    let port: u64 = daemon.url.rsplit(':').next().unwrap().parse().unwrap();
    assert_eq!(compatible["channels"]["web"]["port"], port, "where it listens, not what the file wishes");

    let text = file(&home);
    for kept in
        ["# What I set, and why.\n[session]\nidle = \"9m\" # a pause for coffee\n", "# one slow machine\n"]
    {
        assert!(text.contains(kept), "{kept} is not in\n{text}");
    }
    assert!(text.contains("port = 9999") && text.contains("k = 4"), "{text}");
    let told = watcher.until("chat.settings.updated", |_| true).await;
    assert_eq!(told["updated_fields"], json!(["recall.k", "session.idle"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_settings_change_nothing_and_say_why() {
    let home = Home::new();
    let before = format!("[llm]\nprovider = \"offline\"\n\n{FILE}");
    write(&home, &before);
    let daemon = Daemon::start(&home, &Settings::quiet()).await;
    let refused = [
        (json!({}), 400, "at least one key"),
        (json!([1]), 400, "object"),
        (json!({"recall": 4}), 400, "section"),
        (json!({"recall": {"kk": 4}}), 400, "recall.kk"),
        (json!({"memory": {"db_path": "x"}, "nothing": {"x": 1}}), 400, "memory.db_path"),
        (json!({"recall": {"k": 0}}), 422, "at least 1"),
        (json!({"recall": {"k": "many"}}), 422, "config.toml: recall.k: invalid type"),
        (json!({"session": {"idle": 30}}), 422, "config.toml: session.idle: invalid type"),
        (json!({"session": {"idle": "soon"}}), 422, "not a duration"),
        (
            json!({"llm": {"provider": "openai", "base_url": "http://203.0.113.9/v1", "model": "m"}}),
            422,
            "http",
        ),
        (json!({"recall": {"k": 3}, "session": {"max_messages": 0}}), 422, "max_messages"),
        (json!({"llm": {"api_key_env": "AWS_SECRET_ACCESS_KEY"}}), 403, "config.toml"),
        (json!({"channels": {"discord": {"token_env": "HOME"}}}), 403, "config.toml"),
        (json!({"voice": {"tts_command": ["sh"]}}), 403, "config.toml"),
    ];
    let cookie = log_in(&daemon).await;
    for (body, status, reason) in refused {
        let answer = patch_logged_in(&daemon, &cookie, &body).await;
        let detail = answer.body["detail"].as_str().unwrap().to_owned();
        assert_eq!(answer.status, status, "{body}: {detail}");
        assert!(detail.contains(reason), "{body}: {detail}");
        assert_eq!(file(&home), before, "{body}");
    }
    assert_eq!(setting(&daemon, "recall.k").await["value"], 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_not_right_changes_nothing_and_names_the_line() {
    let home = Home::new();
    write(&home, FILE);
    let settings = Settings::offline();
    let daemon = Daemon::start(&home, &settings).await;
    let wrong = [
        ("[recall]\nk = 5\n[session\n", "line 3"),
        ("[recall]\nk = 5\n\n[session]\nidel = \"1m\"\n", "line 5"),
        ("[recall]\nk = 5\nhalf_life = 14\n", "line 3"),
        ("\n[recall]\nk = 0\n", "line 3"),
    ];
    for (text, line) in wrong {
        write(&home, text);
        let refused = run(&home, &settings, &["reload"]).await;
        assert_eq!(refused.code, 1, "{text}");
        assert!(refused.err.contains(line) && refused.err.contains("nothing was changed"), "{}", refused.err);
        assert_eq!(setting(&daemon, "recall.k").await["value"], 10, "{text}");
    }
    daemon.signal("HUP");
    let log = home.log();
    eventually("the log tells of it", async || {
        std::fs::read_to_string(&log).unwrap().contains("the configuration was not changed").then_some(())
    })
    .await;
    assert_eq!(setting(&daemon, "recall.k").await["value"], 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_the_command_and_the_api_read_the_file_by_one_path() {
    let home = Home::new();
    let settings = Settings::offline();
    let daemon = Daemon::start(&home, &settings).await;
    write(&home, "[recall]\nk = 5\n[server]\nport = 1\n");
    let said = run(&home, &settings, &["reload"]).await.well();
    assert_eq!(said, "Applied: recall.k\nApplies after a restart: server.port\n");
    write(&home, "[recall]\nk = 6\n");
    let done = daemon.post("/api/admin/reload", &json!({})).await;
    assert_eq!(done, json!({"ok": true, "reloaded": ["recall.k"], "restart_required": []}));
    write(&home, "[recall]\nk = 7\n");
    daemon.signal("HUP");
    eventually("the signal is followed", async || {
        (setting(&daemon, "recall.k").await["value"] == 7).then_some(())
    })
    .await;
    assert_eq!(run(&home, &settings, &["reload"]).await.well(), "No settings changed.\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_model_answers_from_the_next_turn_on() {
    let (first, second) = (scripts::model().await, scripts::model().await);
    second.answer_task("reply", |_| Reply::from_pieces(["another voice"]));
    let home = Home::new();
    write(
        &home,
        &format!("[llm]\nprovider = \"openai\"\nbase_url = \"{}\"\nmodel = \"one\"\n", first.base_url()),
    );
    let settings = Settings::quiet();
    let daemon = Daemon::start(&home, &settings).await;
    assert_eq!(daemon.complete("self", "hello").await, scripts::REPLY);
    let prices = json!([{"model": "two", "input": 1_000.0, "output": 1_000.0}]);
    let wanted = json!({"llm": {"base_url": second.base_url(), "model": "two", "prices": prices}});
    let refused = patch(&daemon, &wanted).await;
    assert_eq!(refused.status, 403, "a token does not say who receives the words: {}", refused.body);
    let done = patch_logged_in(&daemon, &log_in(&daemon).await, &wanted).await;
    assert_eq!(done.body["reloaded"], json!(["llm.base_url", "llm.model", "llm.prices"]), "{}", done.body);
    assert_eq!(daemon.complete("self", "hello again").await, "another voice");
    assert_eq!(daemon.get("/api/state").await["llm"]["model"], "two");
    eventually("the call costs what was set", async || {
        let summary = daemon.get("/api/admin/cost/summary?range=today").await;
        (summary["total_usd"].as_f64().unwrap() > 0.0).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_limits_recall_and_name_go_by_their_new_values() {
    let home = Home::new();
    let daemon = Daemon::start(&home, &Settings::offline()).await;
    daemon.complete("self", "I moved to Lisbon last week with my sister Ana").await;
    assert_eq!(daemon.sessions("self", "open").await.len(), 1);
    let body = json!({
        "session": {"idle": "0ms"}, "limits": {"body": "300B"}, "persona": {"display_name": "Vesper"},
        "recall": {"min_relevance": 0.99, "k": 1},
    });
    let done = patch(&daemon, &body).await;
    assert_eq!((done.status, &done.body["restart_required"]), (200, &json!([])), "{}", done.body);
    eventually("the session ends at once", async || {
        daemon.sessions("self", "open").await.is_empty().then_some(())
    })
    .await;
    assert_eq!(daemon.get("/api/state").await["persona"]["display_name"], "Vesper");
    let long = daemon.try_post("/api/chat/send", &json!({"content": "x".repeat(400)})).await;
    assert_eq!(long.status, 413, "{}", long.body);
    eventually("the session is remembered", async || (!daemon.events("self").await.is_empty()).then_some(()))
        .await;
    let nodes = async || {
        let found = daemon.recall("self", "tell me about trains").await;
        found.iter().filter(|candidate| candidate["kind"] == "node" && candidate["used"] == true).count()
    };
    assert_eq!(nodes().await, 0, "nothing is as relevant as 0.99");
    patch(&daemon, &json!({"limits": {"requests_per_second": 1, "burst": 1}})).await;
    let made = daemon.post("/api/admin/tokens", &json!({"scopes": ["chat"]})).await;
    let token = made["token"].as_str().unwrap();
    let mut refused = false;
    for _ in 0..10 {
        let asked = answer(daemon.knock(Method::GET, "/api/chat/history").bearer_auth(token)).await.unwrap();
        refused |= asked.status == 429 && asked.headers.contains_key("retry-after");
    }
    assert!(refused, "the limit holds at once");
}
