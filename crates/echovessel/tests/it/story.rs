//! One message about a cat is extracted and recalled weeks later, on another channel, in two languages.

use std::path::PathBuf;

use embed::{ALL_MINILM_L6_V2, model_files};
use serde_json::{Value, json};
use testkit::{Reply, ScriptedModel};

use crate::daemon::{Daemon, Home, Settings};
use crate::scripts::{self, section};
use crate::watcher::Watcher;

const REMEMBERED: &str = "Recent things you remember happened";

/// One version of the story.
struct Story {
    sentence: &'static str,
    quote: &'static str,
    event: &'static str,
    thought: &'static str,
    name: &'static str,
    /// A question about the cat without its name.
    question: &'static str,
    /// Messages that recall no memory.
    murmur: &'static str,
    /// Ten unrelated events, each mentioned in a session of its own.
    others: [&'static str; 10],
}

const CHINESE: Story = Story {
    sentence: "我养了只白猫,叫小黑。他超调皮,老在半夜跳到我脸上。",
    quote: "我养了只白猫,叫小黑",
    event: "用户养了一只白猫,叫小黑,半夜常跳到用户脸上",
    thought: "小黑让 TA 的夜晚热闹起来,说起它的时候 TA 是笑着的。",
    name: "小黑",
    question: "你还记得我的猫吗",
    murmur: "嗯",
    others: [
        "我叫林一,在海边的城市长大",
        "我在一家软件公司工作,写后端",
        "我妈下个月要做膝盖手术",
        "我喜欢周末去爬山,上次爬了九个小时",
        "我住在三楼,楼下是一家面馆",
        "我怕坐飞机,每次都要提前吃药",
        "我爸退休以后开始学钢琴",
        "我对花生过敏,吃一点就起疹子",
        "我买了一台二手相机,打算拍星空",
        "我生日是十一月的最后一天",
    ],
};

const ENGLISH: Story = Story {
    sentence: "I have a white cat called Shadow. He is cheeky and keeps jumping on my face at midnight.",
    quote: "I have a white cat called Shadow",
    event: "The user has a white cat called Shadow that jumps on their face at midnight.",
    thought: "Shadow brings some noise into their nights, and they smile when they tell of it.",
    name: "Shadow",
    question: "Do you remember my cat?",
    murmur: "ok",
    others: [
        "I am called Robin and I grew up in a harbour town",
        "I work for a software company, on the backend",
        "My mother is having knee surgery next month",
        "I like hiking on weekends, last time it was nine hours",
        "I live on the third floor above a noodle shop",
        "I'm afraid of flying and take pills before every trip",
        "My father is learning the piano since he retired",
        "I'm allergic to peanuts, they give me a rash",
        "I bought a used camera to photograph the stars",
        "My birthday is on the last day of November",
    ],
};

#[tokio::test(flavor = "multi_thread")]
async fn the_cat_is_remembered_in_chinese() {
    let model = scripts::remembering_model().await;
    tell(&CHINESE, &model, Settings::talking_to(&model)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cat_is_remembered_in_english() {
    let model = scripts::remembering_model().await;
    tell(&ENGLISH, &model, Settings::talking_to(&model)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cat_is_remembered_in_chinese_beside_a_model_that_reads_english_only() {
    let model = scripts::remembering_model().await;
    tell(&CHINESE, &model, with_vectors(&model)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cat_is_remembered_by_meaning_where_no_word_is_the_same() {
    let model = scripts::remembering_model().await;
    let (_home, daemon) = tell(&ENGLISH, &model, with_vectors(&model)).await;
    let candidates = daemon.recall("self", "Tell me about your kitten, the naughty feline").await;
    let used: Vec<&Value> = used_nodes(&candidates).collect();
    let event = used.iter().find(|candidate| candidate["text"] == ENGLISH.event).unwrap();
    assert!(event["vector_relevance"].as_f64().unwrap() >= 0.4, "{event}");
    assert_eq!((&event["word_relevance"], &event["readable"]), (&json!(0.0), &json!(1.0)), "{event}");
    assert!(used.iter().all(|candidate| candidate["text"].as_str().unwrap().contains("Shadow")), "{used:?}");
}

/// With the embedding model that `make model` installs.
pub(crate) fn with_vectors(model: &ScriptedModel) -> Settings {
    let folder = std::env::var_os("ECHOVESSEL_MODEL_DIR").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../.cache/models").join(ALL_MINILM_L6_V2.name),
        PathBuf::from,
    );
    if let Err(error) = model_files::check_present(&folder, &ALL_MINILM_L6_V2) {
        panic!("{error}: run `make model`, or set ECHOVESSEL_MODEL_DIR");
    }
    Settings::talking_to(model)
        .key("embedding.provider", "local")
        .variable("ECHOVESSEL_MODEL_DIR", folder.display())
}

/// Runs the whole story. Returns the home and the daemon for further questions.
async fn tell(story: &Story, model: &ScriptedModel, settings: Settings) -> (Home, Daemon) {
    let home = Home::new();
    let daemon = Daemon::start(&home, &settings).await;
    it_becomes_memory(story, model, &daemon).await;
    other_things_are_told(story, &daemon).await;
    it_comes_back(story, model, &daemon).await;
    (home, daemon)
}

async fn it_becomes_memory(story: &Story, model: &ScriptedModel, daemon: &Daemon) {
    let mut event = scripts::event(story.event, story.quote);
    event["entities"] = json!([story.name]);
    event["emotional_impact"] = json!(3);
    let mut extraction = scripts::extraction([event]);
    extraction["mentioned_entities"] = json!([{"canonical_name": story.name, "aliases": [], "kind": "pet"}]);
    extraction["session_mood_signal"] = json!({"mood": "warm", "energy": 6, "last_user_signal": "fond"});
    model.next("extraction", Reply::json(extraction));
    model.next("reflection", Reply::json(scripts::thought(story.thought)));

    let mut watcher = Watcher::open(daemon).await;
    assert_eq!(daemon.complete("self", story.sentence).await, scripts::REPLY);
    let session = daemon.end_session("self").await;
    let closed = watcher.wait_for_boundary(&session).await;
    assert_eq!((&closed["events_count"], &closed["thoughts_count"]), (&json!(1), &json!(1)), "{closed}");

    let created = watcher.until("memory.event.created", |_| true).await;
    assert_eq!(created["description"], story.event);
    assert_eq!((&created["emotional_impact"], &created["session_id"]), (&json!(3), &json!(session)));
    let entity = watcher.until("memory.entity.confirmed", |_| true).await;
    assert_eq!((&entity["canonical_name"], &entity["kind"]), (&json!(story.name), &json!("pet")));
    let mood = watcher.until("chat.mood.update", |_| true).await;
    assert!(mood["mood_summary"].as_str().unwrap().contains("warm"), "{mood}");
    let thought = watcher.until("memory.thought.created", |_| true).await;
    assert_eq!(thought["description"], story.thought);
    assert_eq!(thought["filling_event_ids"], json!([created["event_id"]]));

    let boundary = |frame: &&crate::watcher::Frame| frame.data["closed_session_id"] == session;
    let places = [
        watcher.place_of("chat.message.done"),
        watcher.place_of("memory.event.created"),
        watcher.place_of("memory.entity.confirmed"),
        watcher.place_of("chat.mood.update"),
        watcher.place_of("memory.thought.created"),
        watcher.seen().iter().position(|frame| boundary(&frame)),
    ];
    assert!(places.is_sorted() && places[0].is_some(), "not in the order of the commits: {places:?}");

    let event = &daemon.events("self").await[0];
    assert_eq!(event["evidence"][0]["quote"], story.quote, "{event}");
    let persona = daemon.get("/api/admin/persona").await;
    assert_eq!(persona["episodic_state"]["mood"], "warm", "{persona}");
}

/// Ten sessions that are extracted, then more messages than the recent window holds.
async fn other_things_are_told(story: &Story, daemon: &Daemon) {
    let mut watcher = Watcher::open(daemon).await;
    for line in story.others {
        daemon.complete("self", line).await;
        let session = daemon.end_session("self").await;
        let closed = watcher.wait_for_boundary(&session).await;
        assert_eq!(closed["events_count"], 1, "{line}: {closed}");
    }
    for number in 0..11 {
        daemon.complete("self", &format!("{} {number}", story.murmur)).await;
    }
    assert_eq!(daemon.events("self").await.len(), 11);
}

/// The question is asked on the page's channel, weeks of messages later.
async fn it_comes_back(story: &Story, model: &ScriptedModel, daemon: &Daemon) {
    let mut watcher = Watcher::open(daemon).await;
    let turn = daemon.say("self", story.question).await.turn_id;
    watcher.wait_for_reply(&turn).await;
    let prompt = model.requests_for("reply").last().unwrap().user();
    let window = section(&prompt, "Our recent conversation").unwrap_or_default();
    assert!(!window.contains(story.name), "the cat is still in the recent window:\n{window}");
    let remembered = section(&prompt, REMEMBERED).unwrap_or_default();
    assert!(remembered.contains(story.name), "not remembered:\n{prompt}");

    let candidates = daemon.recall("self", story.question).await;
    let best = used_nodes(&candidates).next().unwrap();
    assert!(best["text"].as_str().unwrap().contains(story.name), "{best}");
    let receipt = daemon.receipt(&turn).await;
    assert_eq!(receipt.status, 200);
    let used = receipt.body["used"].as_array().unwrap();
    assert!(used.iter().any(|candidate| candidate["text"] == story.event), "{}", receipt.body);

    let turn = daemon.say("self", story.murmur).await.turn_id;
    watcher.wait_for_reply(&turn).await;
    let prompt = model.requests_for("reply").last().unwrap().user();
    assert_eq!(section(&prompt, REMEMBERED), None, "a murmur called something to mind:\n{prompt}");
    let candidates = daemon.recall("self", story.murmur).await;
    assert_eq!(used_nodes(&candidates).count(), 0, "{candidates:?}");
}

/// The memories in the prompt, best first.
fn used_nodes(candidates: &[Value]) -> impl Iterator<Item = &Value> {
    candidates.iter().filter(|candidate| candidate["kind"] == "node" && candidate["used"] == true)
}
