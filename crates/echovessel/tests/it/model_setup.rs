//! Setup of a language model from the page: found, tried, chosen, and its key stored.

use std::os::unix::fs::PermissionsExt as _;

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use testkit::scripted_model::{Reply, ScriptedModel};

use crate::command_line::run;
use crate::daemon::{Daemon, Home, Settings, eventually};
use crate::import::is_anywhere;
use crate::owner_api::{Answer, answer};

const KEY: &str = "entered-in-the-page-0042";

/// A browser session of the owner.
pub(crate) struct Page<'a> {
    daemon: &'a Daemon,
    cookie: String,
    login: String,
}

impl<'a> Page<'a> {
    pub(crate) async fn open(daemon: &'a Daemon) -> Self {
        let link = daemon.post("/api/admin/login-code", &json!({})).await;
        let link = link["url"].as_str().unwrap().strip_prefix(&daemon.url).unwrap().to_owned();
        let entered = answer(daemon.knock(Method::GET, &link)).await.unwrap();
        let cookie = entered.headers["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
        let page = entered.headers["location"].to_str().unwrap();
        Self { daemon, cookie, login: page.strip_prefix("/#login=").unwrap().to_owned() }
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.daemon.knock(method, path);
        request.header("cookie", &self.cookie).header("x-echovessel-login", &self.login)
    }

    pub(crate) async fn send(&self, method: Method, path: &str, body: &Value) -> Answer {
        answer(self.request(method, path).json(body)).await.unwrap()
    }

    async fn try_out(&self, choice: &Value) -> Vec<Value> {
        let sent = self.request(Method::POST, "/api/admin/model/try").json(choice).send().await.unwrap();
        assert_eq!(sent.status(), 200);
        let text = sent.text().await.unwrap();
        text.lines()
            .filter_map(|line| line.strip_prefix("data: "))
            .map(|data| serde_json::from_str(data).unwrap())
            .collect()
    }
}

async fn model() -> ScriptedModel {
    let model = ScriptedModel::start().await.unwrap();
    model.answer_task("reply", |_| Reply::from_pieces(["Hello ", "from the ", "model."]).usage(10, 5, 0));
    model
}

fn choice(model: &ScriptedModel, key: Option<&str>) -> Value {
    json!({"provider": "openai", "base_url": model.base_url(), "model": "large", "key": key})
}

fn offline() -> Settings {
    Settings::quiet().key("llm.max_retries", 0)
}

#[tokio::test(flavor = "multi_thread")]
async fn model_is_listed_tried_and_chosen_and_its_key_stays_in_one_file() {
    let (home, model) = (Home::new(), model().await);
    model.require_key(KEY);
    model.set_models(&["large", "small", "text-embedding-3"]);
    let daemon = Daemon::start(&home, &offline()).await;
    let page = Page::open(&daemon).await;
    let listed =
        page.send(Method::POST, "/api/admin/model/list", &choice(&model, Some("wrong-wrong-wrong"))).await;
    assert_eq!((listed.status, listed.body["code"].as_str()), (422, Some("model_key")), "{}", listed.body);
    assert!(!listed.body.to_string().contains("wrong-wrong"), "{}", listed.body);
    let listed = page.send(Method::POST, "/api/admin/model/list", &choice(&model, Some(KEY))).await;
    assert_eq!(listed.body["models"], json!(["large", "small"]));

    let events = page.try_out(&choice(&model, Some(KEY))).await;
    let text: String = events.iter().filter_map(|event| event["text"].as_str()).collect();
    assert_eq!(text, "Hello from the model.");
    let done = events.last().unwrap();
    assert!(
        done["event"] == "done" && done["whole_ms"].as_u64() >= done["first_words_ms"].as_u64(),
        "{done}"
    );
    assert!(!home.file("secrets.toml").exists(), "a try keeps nothing");
    eventually("the try's cost", async || {
        let calls = daemon.get("/api/admin/cost/recent").await.to_string();
        (calls.contains("\"try\"") && calls.contains("\"large\"")).then_some(())
    })
    .await;

    let chosen = page.send(Method::PUT, "/api/admin/model", &choice(&model, Some(KEY))).await;
    assert_eq!(chosen.status, 200, "{}", chosen.body);
    assert_eq!(chosen.body["key"], json!({"source": "entered", "variable": "", "end": "0042"}));
    assert_eq!(chosen.body["answering"]["model"], "large");
    let said = daemon.say("self", "Good morning").await;
    eventually("a reply of the model", async || {
        let history = daemon.get("/api/chat/history").await.to_string();
        (history.contains(&said.turn_id) && history.contains("Hello from the model.")).then_some(())
    })
    .await;

    let mode = std::fs::metadata(home.file("secrets.toml")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    run(&home, &offline(), &["backup"]).await.well();
    let secrets = std::fs::read(home.file("secrets.toml")).unwrap();
    std::fs::remove_file(home.file("secrets.toml")).unwrap();
    assert!(!is_anywhere(&home, KEY), "the key is also elsewhere in the home");
    std::fs::write(home.file("secrets.toml"), secrets).unwrap();
    let answers = [
        daemon.get("/api/admin/model").await,
        daemon.get("/api/admin/config").await,
        daemon.get("/api/admin/audit").await,
    ];
    assert!(answers.iter().all(|answer| !answer.to_string().contains(KEY)));
    run(&home, &offline(), &["stop"]).await.well();
    drop(daemon);

    let daemon = Daemon::start(&home, &offline()).await;
    let shown = daemon.get("/api/admin/model").await;
    assert_eq!((&shown["key"]["source"], &shown["answering"]["model"]), (&json!("entered"), &json!("large")));
    assert!(daemon.post("/api/admin/model/check", &json!({})).await["ok"].as_bool().unwrap());
}

/// The model receives every message, so only the owner may change its address.
#[tokio::test(flavor = "multi_thread")]
async fn no_token_chooses_a_model() {
    let (home, model) = (Home::new(), model().await);
    let daemon = Daemon::start(&home, &offline()).await;
    let wanted = choice(&model, Some(KEY));
    for (method, path) in [
        (Method::PUT, "/api/admin/model"),
        (Method::POST, "/api/admin/model/list"),
        (Method::POST, "/api/admin/model/try"),
    ] {
        let refused = answer(daemon.request(method, path).json(&wanted)).await.unwrap();
        assert_eq!(refused.status, 403, "{path}: {}", refused.body);
    }
    assert!(model.requests().is_empty() && !home.file("secrets.toml").exists());
    assert_eq!(daemon.get("/api/admin/model").await["answering"]["provider"], "offline");
}

#[tokio::test(flavor = "multi_thread")]
async fn key_is_not_sent_to_another_address() {
    let (home, first, second) = (Home::new(), model().await, model().await);
    let daemon = Daemon::start(&home, &offline()).await;
    let page = Page::open(&daemon).await;
    let chosen = page.send(Method::PUT, "/api/admin/model", &choice(&first, Some(KEY))).await;
    assert_eq!(chosen.body["key"]["source"], "entered", "{}", chosen.body);
    page.send(Method::POST, "/api/admin/model/list", &choice(&second, None)).await;
    page.try_out(&choice(&second, None)).await;
    let moved = page.send(Method::PUT, "/api/admin/model", &choice(&second, None)).await;
    assert_eq!((moved.status, &moved.body["key"]["source"]), (200, &json!("none")), "{}", moved.body);
    let login =
        page.send(Method::PATCH, "/api/admin/config", &json!({"llm.base_url": second.base_url()})).await;
    assert_eq!(login.status, 200, "{}", login.body);
    daemon.say("self", "Good morning").await;
    second.wait_until_asked("reply", 2).await;
    assert!(second.requests().iter().all(|request| request.api_key().is_none()));
    // The first address still has its key until that is deleted.
    let back = page.send(Method::PUT, "/api/admin/model", &choice(&first, None)).await;
    assert_eq!(back.body["key"]["source"], "entered", "{}", back.body);
    let forgotten = page.send(Method::PUT, "/api/admin/model", &choice(&first, Some(""))).await;
    assert_eq!(forgotten.body["key"]["source"], "none", "{}", forgotten.body);
    assert!(!is_anywhere(&home, KEY));
}

/// A provider that needs a key and has none would keep the daemon from starting.
#[tokio::test(flavor = "multi_thread")]
async fn without_its_key_a_provider_is_given_up() {
    let home = Home::new();
    let daemon = Daemon::start(&home, &offline()).await;
    let page = Page::open(&daemon).await;
    let choose = async |key: &str| {
        let chosen =
            page.send(Method::PUT, "/api/admin/model", &json!({"provider": "anthropic", "key": key})).await;
        assert_eq!(chosen.status, 200, "{}", chosen.body);
        chosen.body
    };
    assert_eq!(choose(KEY).await["answering"]["provider"], "anthropic");
    let without = choose("").await;
    assert_eq!(
        (&without["provider"], &without["answering"]["provider"]),
        (&json!("auto"), &json!("offline"))
    );
    run(&home, &offline(), &["stop"]).await.well();
    drop(daemon);
    assert!(!is_anywhere(&home, KEY));
    let daemon = Daemon::start(&home, &offline()).await;
    assert_eq!(daemon.get("/api/admin/model").await["answering"]["provider"], "offline");
}

/// The environment variable is meant for the address in the file. The address chosen in the page is another service.
#[tokio::test(flavor = "multi_thread")]
async fn variable_of_the_environment_is_not_sent_to_an_address_of_the_page() {
    let variable = "key-of-the-environment";
    for named in ["", "MY_MODEL_KEY"] {
        let (home, configured, other) = (Home::new(), model().await, model().await);
        configured.require_key(variable);
        let file = format!(
            "[llm]\nprovider = \"openai\"\nbase_url = \"{}\"\nmodel = \"large\"\napi_key_env = \"{named}\"\n",
            configured.base_url()
        );
        std::fs::create_dir_all(home.path()).unwrap();
        std::fs::write(home.file("config.toml"), file).unwrap();
        let name = if named.is_empty() { "OPENAI_API_KEY" } else { named };
        let settings = offline().variable(name, variable);
        let daemon = Daemon::start(&home, &settings).await;
        let page = Page::open(&daemon).await;
        let shown = daemon.get("/api/admin/model").await;
        assert_eq!(shown["key"]["source"], "environment", "{shown}");
        page.send(Method::POST, "/api/admin/model/list", &choice(&configured, None)).await;
        page.try_out(&choice(&configured, Some(KEY))).await;
        let kept = page.send(Method::PUT, "/api/admin/model", &choice(&configured, Some(KEY))).await;
        assert_eq!(kept.body["key"]["source"], "environment", "the variable has priority: {}", kept.body);
        page.send(Method::PUT, "/api/admin/model", &choice(&configured, Some(""))).await;
        assert!(configured.requests().iter().all(|request| request.api_key() == Some(variable)));

        for key in [None, Some(KEY)] {
            page.send(Method::POST, "/api/admin/model/list", &choice(&other, key)).await;
            page.try_out(&choice(&other, key)).await;
            let chosen = page.send(Method::PUT, "/api/admin/model", &choice(&other, key)).await;
            let source = if key.is_some() { "entered" } else { "none" };
            assert_eq!(
                (chosen.status, &chosen.body["key"]["source"]),
                (200, &json!(source)),
                "{}",
                chosen.body
            );
            page.send(Method::POST, "/api/admin/model/check", &json!({})).await;
        }
        run(&home, &settings, &["stop"]).await.well();
        drop(daemon);
        let daemon = Daemon::start(&home, &settings).await;
        daemon.say("self", "Good morning").await;
        other.wait_until_asked("reply", 3).await;
        let page = Page::open(&daemon).await;
        let deleted = page.send(Method::PUT, "/api/admin/model", &choice(&other, Some(""))).await;
        assert_eq!(deleted.body["key"]["source"], "none", "{}", deleted.body);
        page.try_out(&choice(&other, None)).await;
        assert!(other.requests().iter().all(|request| request.api_key() != Some(variable)));

        let back = page.send(Method::PUT, "/api/admin/model", &choice(&configured, None)).await;
        assert_eq!(back.body["key"]["source"], "none", "the address comes from the page now: {}", back.body);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_from_the_environment_are_named() {
    let (home, model) = (Home::new(), model().await);
    model.require_key(KEY);
    let settings = offline().variable("OPENAI_API_KEY", "key-of-the-environment").key("llm.model", "fixed");
    let daemon = Daemon::start(&home, &settings).await;
    let page = Page::open(&daemon).await;
    let chosen = page.send(Method::PUT, "/api/admin/model", &choice(&model, Some(KEY))).await;
    assert_eq!(chosen.body["key"], json!({"source": "entered", "variable": "", "end": "0042"}));
    assert_eq!(
        chosen.body["environment_keys"],
        json!([{"provider": "openai", "variable": "OPENAI_API_KEY"}])
    );
    assert_eq!(chosen.body["overridden_by_environment"], json!(["llm.model"]));
    assert_eq!(chosen.body["answering"]["model"], "fixed");
    let own = page.send(Method::PUT, "/api/admin/model", &json!({"provider": "openai"})).await;
    assert_eq!(own.body["key"], json!({"source": "environment", "variable": "OPENAI_API_KEY", "end": ""}));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_choices_at_once_lose_no_key() {
    let (home, first, second) = (Home::new(), model().await, model().await);
    let daemon = Daemon::start(&home, &offline()).await;
    let page = Page::open(&daemon).await;
    let (one, other) = (choice(&first, Some(KEY)), choice(&second, Some("another-key-entered-0043")));
    let (one, other) = tokio::join!(
        page.send(Method::PUT, "/api/admin/model", &one),
        page.send(Method::PUT, "/api/admin/model", &other),
    );
    assert_eq!((one.status, other.status), (200, 200), "{} {}", one.body, other.body);
    for (model, end) in [(&first, "0042"), (&second, "0043")] {
        let chosen = page.send(Method::PUT, "/api/admin/model", &choice(model, None)).await;
        assert_eq!(chosen.body["key"]["end"], end, "{}", chosen.body);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn mistakes_name_the_field_and_change_nothing() {
    let (home, model) = (Home::new(), model().await);
    let daemon = Daemon::start(&home, &offline()).await;
    let page = Page::open(&daemon).await;
    let before = std::fs::read_to_string(home.file("config.toml")).unwrap_or_default();
    for (path, wanted, code) in [
        ("list", json!({"provider": "openai", "base_url": "127.0.0.1 port 9"}), "model_address"),
        ("list", json!({"provider": "openai", "base_url": "http://127.0.0.1:9/v1"}), "model_address"),
        ("list", json!({"provider": "openai", "base_url": "http://192.0.2.1/v1"}), "model_address"),
        ("list", json!({"provider": "anthropic"}), "model_key"),
        (
            "try",
            json!({"provider": "openai", "base_url": "http://127.0.0.1:9/v1", "model": "m"}),
            "model_address",
        ),
        ("try", json!({"provider": "telepathy"}), "model_name"),
    ] {
        let refused = page.send(Method::POST, &format!("/api/admin/model/{path}"), &wanted).await;
        assert_eq!(
            (refused.status, refused.body["code"].as_str()),
            (422, Some(code)),
            "{wanted}: {}",
            refused.body
        );
    }
    let refused = page.send(Method::PUT, "/api/admin/model", &json!({"provider": "anthropic"})).await;
    assert_eq!(refused.status, 422, "{}", refused.body);
    model.answer_task("reply", |_| Reply::error(404, "model `large` not found"));
    let refused = page.send(Method::POST, "/api/admin/model/try", &choice(&model, None)).await;
    assert_eq!(
        (refused.status, refused.body["code"].as_str()),
        (422, Some("model_name")),
        "{}",
        refused.body
    );
    assert_eq!(std::fs::read_to_string(home.file("config.toml")).unwrap_or_default(), before);
    assert!(!home.file("secrets.toml").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn check_asks_the_endpoint_and_doctor_says_the_same() {
    let (home, model) = (Home::new(), model().await);
    let settings = offline().key("llm.provider", "openai").key("llm.base_url", model.base_url());
    let settings = settings.key("llm.model", "scripted");
    let daemon = Daemon::start(&home, &settings).await;
    let check = async || daemon.post("/api/admin/model/check", &json!({})).await;
    assert_eq!(check().await["ok"], true);
    model.set_models(&["other"]);
    let missing = check().await;
    let said = missing["detail"].as_str().unwrap();
    assert!(missing["ok"] == false && said.contains("scripted") && said.contains("other"), "{missing}");
    let doctor = run(&home, &settings, &["doctor", "--json"]).await;
    assert!(doctor.code == 1 && doctor.out.contains("does not offer the model scripted"), "{}", doctor.out);
    let status = run(&home, &settings, &["status"]).await.well();
    assert!(status.contains("does not offer the model scripted"), "{status}");
    model.stop().await;
    let gone = check().await;
    assert!(gone["ok"] == false && gone["detail"].as_str().unwrap().contains("cannot be reached"), "{gone}");
}

#[tokio::test(flavor = "multi_thread")]
async fn server_that_was_found_and_went_away_is_missed_and_found_again() {
    let (home, model) = (Home::new(), model().await);
    let address = model.origin().strip_prefix("http://").unwrap().parse().unwrap();
    let daemon = Daemon::start(&home, &offline().key("llm.base_url", model.base_url())).await;
    let check = async || daemon.post("/api/admin/model/check", &json!({})).await;
    assert_eq!(check().await["llm"]["provider"], "openai", "`auto` looks at llm.base_url first");
    model.stop().await;
    let gone = check().await;
    assert!(gone["ok"] == false && gone["detail"].as_str().unwrap().contains("no longer responds"), "{gone}");
    let _again = ScriptedModel::start_at(address).await.unwrap();
    assert_eq!(check().await["ok"], true);
}
