//! A model that is unreachable, slow, interrupted, impolite or endless: the user's messages are safe, the error is
//! clear, the next turn works, and memory use stays bounded.

use std::sync::Arc;

use serde_json::{Value, json};
use testkit::{Reply, ScriptedModel};
use tokio::sync::Notify;

use crate::daemon::{Daemon, Home, Settings};
use crate::owner_api::{Said, completion};
use crate::scripts;
use crate::watcher::Watcher;

/// Highest memory use of the process, in MiB. The embedding model is not loaded here.
const MEMORY_MAX: u64 = 300;

/// A client that sends one message while the model misbehaves.
struct Talk {
    model: ScriptedModel,
    daemon: Daemon,
    watcher: Watcher,
    said: Said,
    _home: Home,
}

const LINE: &str = "今天过得怎么样?";

impl Talk {
    async fn with(reply: Reply) -> Self {
        Self::with_settings(reply, |settings| settings).await
    }

    async fn with_settings(reply: Reply, change: impl Fn(Settings) -> Settings) -> Self {
        let model = scripts::model().await;
        model.next("reply", reply);
        let home = Home::new();
        let daemon = Daemon::start(&home, &change(Settings::talking_to(&model))).await;
        let watcher = Watcher::open(&daemon).await;
        let said = daemon.say("self", LINE).await;
        Self { model, daemon, watcher, said, _home: home }
    }

    /// Checks that no reply was stored, that the error says everything, and that the next turn works.
    async fn ends_in_failure(mut self, retryable: bool) -> Value {
        let failed = self.watcher.wait_for_failure(&self.said.turn_id).await;
        assert_eq!(failed["user_message_ids"], json!([self.said.message_id]), "{failed}");
        assert_eq!(failed["retryable"], json!(retryable), "{failed}");
        assert_eq!(failed["source_channel_id"], "web");
        assert!(failed["reason"].as_str().is_some_and(|reason| reason.len() > 10), "{failed}");
        assert_eq!(self.daemon.said_by("self", "persona").await, [] as [String; 0], "an apology was stored");
        self.goes_on().await;
        let prompt = self.model.requests_for("reply").last().unwrap().user();
        assert!(prompt.contains(LINE), "the unanswered words are no longer in the conversation:\n{prompt}");
        failed
    }

    /// Checks that the partial reply was stored and marked, and that the next turn works. Returns the reply.
    async fn ends_incomplete(mut self) -> String {
        let done = self.watcher.wait_for_reply(&self.said.turn_id).await;
        assert_eq!(done["incomplete"], true, "{}", done["incomplete"]);
        let reply = self.daemon.history("self").await.pop().unwrap();
        assert_eq!((&reply["role"], &reply["incomplete"]), (&json!("persona"), &json!(true)));
        assert_eq!(reply["content"], done["content"]);
        self.goes_on().await;
        reply["content"].as_str().unwrap().to_owned()
    }

    /// Checks that the user's messages are stored once, that the next turn works, and that the process has not grown.
    async fn goes_on(&mut self) {
        assert_eq!(self.daemon.said_by("self", "user").await, [LINE]);
        let next = self.daemon.say("self", "你还在吗?").await;
        let done = self.watcher.wait_for_reply(&next.turn_id).await;
        assert_eq!((&done["content"], &done["incomplete"]), (&json!(scripts::REPLY), &json!(false)));
        let peak = self.daemon.memory_peak();
        assert!(peak < MEMORY_MAX, "the process took {peak} MiB");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_fails_at_once() {
    Talk::with(Reply::error(500, "the graphics card is on fire")).await.ends_in_failure(true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_does_not_know_the_key() {
    let secret = "sk-or-not-a-key-of-any-kind";
    let talk =
        Talk::with_settings(Reply::error(401, format!("Incorrect API key provided: {secret}")), |settings| {
            settings.variable("OPENAI_API_KEY", secret)
        });
    let mut talk = talk.await;
    let failed = talk.watcher.wait_for_failure(&talk.said.turn_id).await;
    assert!(!failed.to_string().contains(secret), "{failed}");
    assert_eq!(
        talk.model.requests_for("reply")[0].header("authorization"),
        Some("Bearer sk-or-not-a-key-of-any-kind")
    );
    assert_eq!(failed["user_message_ids"], json!([talk.said.message_id]));
    talk.goes_on().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_asks_for_patience() {
    let failed = Talk::with(Reply::rate_limited(7)).await.ends_in_failure(true).await;
    assert!(
        !failed["reason"].as_str().unwrap().contains("{"),
        "an error object was shown to a person: {failed}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_breaks_off_in_the_middle() {
    let cut = Reply::from_pieces(["我觉得", "今天", "还不错,", "因为"]).cut_after(3);
    assert_eq!(Talk::with(cut).await.ends_incomplete().await, "我觉得今天还不错,");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_fails_in_the_middle() {
    let failing = Reply::from_pieces(["我觉得", "今天", "还不错"]).error_after(2, "out of memory");
    assert_eq!(Talk::with(failing).await.ends_incomplete().await, "我觉得今天");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_does_not_begin() {
    let never = Arc::new(Notify::new());
    let talk = Talk::with_settings(Reply::text("at last").delay_first_token_until(&never), |settings| {
        settings.key("llm.first_token_timeout", "300ms")
    });
    talk.await.ends_in_failure(true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_speaks_no_language() {
    Talk::with(Reply::garbage()).await.ends_in_failure(true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_says_nothing() {
    Talk::with(Reply::from_pieces([""])).await.ends_in_failure(true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_does_not_stop() {
    let mut talk = Talk::with(Reply::of_size(10 * 1024 * 1024)).await;
    let done = talk.watcher.wait_for_reply(&talk.said.turn_id).await;
    let content = done["content"].as_str().unwrap();
    assert!(!content.is_empty() && content.chars().all(|letter| letter == 'a'));
    assert_eq!(done["incomplete"], true, "10 MB were taken as a whole answer");
    assert_eq!(content.chars().count(), 20_000, "as long as the longest message, and no longer");
    talk.goes_on().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_sends_one_line_without_end() {
    Talk::with(Reply::endless_line()).await.ends_in_failure(false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_is_not_there() {
    let model = scripts::model().await;
    let home = Home::new();
    let settings = Settings::talking_to(&model);
    model.stop().await;
    let daemon = Daemon::start(&home, &settings).await;
    let mut watcher = Watcher::open(&daemon).await;
    let said = daemon.say("self", LINE).await;
    let failed = watcher.wait_for_failure(&said.turn_id).await;
    assert_eq!(
        (&failed["retryable"], &failed["user_message_ids"]),
        (&json!(true), &json!([said.message_id]))
    );
    assert_eq!(daemon.said_by("self", "user").await, [LINE]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_openai_client_hears_of_it_in_its_own_language() {
    let model = scripts::model().await;
    let home = Home::new();
    let daemon = Daemon::start(&home, &Settings::talking_to(&model)).await;
    model.next("reply", Reply::error(500, "the graphics card is on fire"));
    let answer = daemon.try_post("/v1/chat/completions", &completion("self", LINE)).await;
    assert!(answer.status >= 500, "{} {}", answer.status, answer.body);
    assert!(answer.body["error"]["message"].as_str().is_some_and(|said| said.len() > 10), "{}", answer.body);
    assert_eq!(daemon.said_by("self", "user").await, [LINE]);
    assert_eq!(daemon.complete("self", "你还在吗?").await, scripts::REPLY);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_turn_is_answered_when_it_is_asked_for_again() {
    let model = scripts::model().await;
    let home = Home::new();
    let daemon = Daemon::start(&home, &Settings::talking_to(&model)).await;
    let mut watcher = Watcher::open(&daemon).await;
    model.next("reply", Reply::error(500, "busy"));
    let said = daemon.say("self", LINE).await;
    watcher.wait_for_failure(&said.turn_id).await;
    let path = format!("/api/chat/turns/{}/retry", said.turn_id);
    assert_eq!(daemon.try_post(&path, &json!({})).await.status, 202);
    assert_eq!(watcher.wait_for_reply(&said.turn_id).await["content"], scripts::REPLY);
    assert_eq!(daemon.try_post(&path, &json!({})).await.status, 409, "answered twice");
    assert_eq!(daemon.said_by("self", "user").await, [LINE]);
    assert_eq!(daemon.said_by("self", "persona").await, [scripts::REPLY]);
}
