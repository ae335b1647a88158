//! No evidence, no memory: a claim that the right speaker's words do not prove is kept apart, where a person can see
//! it.

use serde_json::{Value, json};
use testkit::{Reply, ScriptedModel};

use crate::daemon::{Daemon, Home, Settings};
use crate::scripts::{event, extraction, model};
use crate::watcher::Watcher;

const LINE: &str = "我妈下周要做手术,我有点怕。今天还下雨,我忘了带伞,鞋都湿了。不过晚饭很好吃。";

/// A session of one message, extracted with the given answers of the model, in order.
struct Extracted {
    model: ScriptedModel,
    daemon: Daemon,
    _home: Home,
}

impl Extracted {
    async fn from(line: &str, reply: &str, answers: impl IntoIterator<Item = Reply>) -> Self {
        let model = model().await;
        let reply = reply.to_owned();
        model.answer_task("reply", move |_| Reply::text(&reply));
        // An additional call of the model would use one answer more than was queued.
        model.answer_task("extraction", |_| Reply::error(500, "nothing more was expected"));
        answers.into_iter().for_each(|answer| model.next("extraction", answer));
        let home = Home::new();
        let settings = Settings::talking_to(&model).key("consolidate.max_retries", 0);
        let daemon = Daemon::start(&home, &settings).await;
        let mut watcher = Watcher::open(&daemon).await;
        daemon.complete("self", line).await;
        let session = daemon.end_session("self").await;
        watcher.wait_for_boundary(&session).await;
        Self { model, daemon, _home: home }
    }

    /// Number of calls of the model.
    fn asked(&self) -> usize {
        self.model.requests_for("extraction").len()
    }

    async fn events(&self) -> Vec<Value> {
        self.daemon.events("self").await
    }

    async fn descriptions(&self) -> Vec<String> {
        let events = self.events().await;
        events.iter().map(|event| event["description"].as_str().unwrap().to_owned()).collect()
    }

    async fn rejected(&self) -> Vec<Value> {
        self.daemon.rejected("self").await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fabricated_quote_is_asked_about_once_and_then_kept_apart() {
    let forged = || Reply::json(extraction([event("用户的妈妈去世了", "我妈昨天走了"), surgery()]));
    let story = Extracted::from(LINE, "嗯", [forged(), forged()]).await;
    assert_eq!(story.asked(), 2);
    let again = story.model.requests_for("extraction")[1].user();
    assert!(again.contains("我妈昨天走了") && again.contains("用户的妈妈去世了"), "{again}");
    let first = story.model.requests_for("extraction")[0].user();
    assert!(!first.contains("我妈昨天走了"));

    assert_eq!(story.descriptions().await, ["用户的妈妈下周要做手术"]);
    let rejected = story.rejected().await;
    assert_eq!(rejected.len(), 1, "{rejected:?}");
    assert_eq!(rejected[0]["description"], "用户的妈妈去世了");
    assert_eq!(rejected[0]["evidence"][0]["quote"], "我妈昨天走了");
    assert!(!rejected[0]["reason"].as_str().unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quote_that_is_put_right_becomes_memory() {
    let sloppy = Reply::json(extraction([event("用户的妈妈下周要做手术", "妈妈下周要做手术")]));
    let story = Extracted::from(LINE, "嗯", [sloppy, Reply::json(extraction([surgery()]))]).await;
    assert_eq!(story.asked(), 2);
    assert_eq!(story.descriptions().await, ["用户的妈妈下周要做手术"]);
    assert_eq!(story.events().await[0]["evidence"][0]["quote"], "我妈下周要做手术");
    assert_eq!(story.rejected().await, [] as [Value; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_persona_can_not_bear_witness_for_the_user() {
    let laundered = || {
        let mut event = event("用户非常喜欢下雨天", "你一定很喜欢下雨天");
        event["evidence"][0]["message"] = json!("m2");
        Reply::json(extraction([event]))
    };
    let story = Extracted::from(LINE, "听起来你一定很喜欢下雨天吧?", [laundered(), laundered()]).await;
    assert_eq!(story.events().await, [] as [Value; 0]);
    let rejected = story.rejected().await;
    assert_eq!(rejected.len(), 1, "{rejected:?}");
    assert_eq!(rejected[0]["description"], "用户非常喜欢下雨天");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quote_in_the_name_of_the_wrong_message_counts_where_it_truly_stands() {
    let mut mistaken = surgery();
    mistaken["evidence"][0]["message"] = json!("m2");
    let story = Extracted::from(LINE, "嗯", [Reply::json(extraction([mistaken]))]).await;
    let evidence = story.events().await[0]["evidence"][0].clone();
    let first = &story.daemon.history("self").await[0];
    assert_eq!((&evidence["message_id"], &first["role"]), (&first["id"], &json!("user")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_event_costs_only_itself() {
    let with_impact = |description: &str, quote: &str, impact: Value| {
        let mut event = event(description, quote);
        event["emotional_impact"] = impact;
        event
    };
    let answer = extraction([
        with_impact("半分", "我忘了带伞", json!(2.5)),
        with_impact("布尔", "鞋都湿了", json!(true)),
        with_impact("太重", "我有点怕", json!(11)),
        with_impact("整数写成小数", "今天还下雨", json!(2.0)),
        with_impact("正好", "晚饭很好吃", json!(3)),
    ]);
    let story = Extracted::from(LINE, "嗯", [Reply::json(answer)]).await;
    let mut kept = story.descriptions().await;
    kept.sort();
    assert_eq!(kept, ["整数写成小数", "正好"]);
    let mut rejected: Vec<String> =
        story.rejected().await.iter().map(|row| row["description"].as_str().unwrap().to_owned()).collect();
    rejected.sort();
    assert_eq!(rejected, ["半分", "太重", "布尔"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_more_than_three_events_the_heaviest_stay() {
    let quotes = ["我忘了带伞", "鞋都湿了", "我妈下周要做手术", "晚饭很好吃", "我有点怕"];
    let impacts = [-1, -2, -7, 3, -5];
    let events = quotes.iter().zip(impacts).map(|(quote, impact)| {
        let mut event = event(&format!("用户说:{quote}"), quote);
        event["emotional_impact"] = json!(impact);
        event
    });
    let story = Extracted::from(LINE, "嗯", [Reply::json(extraction(events))]).await;
    let mut impacts: Vec<i64> =
        story.events().await.iter().map(|event| event["emotional_impact"].as_i64().unwrap()).collect();
    impacts.sort_unstable();
    assert_eq!(impacts, [-7, -5, 3]);
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_answers_are_repaired_without_asking_again() {
    let whole = extraction([surgery()]).to_string();
    let with_commas = whole.replace("}]", "},]").replace("\"}", "\",}");
    assert_ne!(with_commas, whole);
    let damaged = [
        format!("```json\n{whole}\n```"),
        format!("Here is what I found:\n\n{whole}\n\nI hope that helps!"),
        with_commas,
    ];
    for answer in damaged {
        let story = Extracted::from(LINE, "嗯", [Reply::from_pieces([answer.clone()])]).await;
        assert_eq!(story.descriptions().await, ["用户的妈妈下周要做手术"], "{answer}");
        assert_eq!(story.asked(), 1, "{answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_of_the_wrong_shape_is_asked_for_once_more() {
    let answers = [Reply::text("I would rather not."), Reply::json(extraction([surgery()]))];
    let story = Extracted::from(LINE, "嗯", answers).await;
    assert_eq!((story.asked(), story.events().await.len()), (2, 1));
}

fn surgery() -> Value {
    let mut event = event("用户的妈妈下周要做手术", "我妈下周要做手术");
    event["emotional_impact"] = json!(-5);
    event
}
