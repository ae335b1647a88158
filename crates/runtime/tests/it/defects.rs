//! Regression tests for defects of the earlier program, named by number. ARCHITECTURE.md lists those that are tested
//! elsewhere.

use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
use memory::nodes::NodeKind;
use memory::ports::{Embedder, EmbeddingStore, Extraction, MessageStore, UserStore};
use memory::recall::{RecallRequest, RecallSettings, recall};
use memory::sessions::SessionStatus;
use memory::vector_index::VectorIndex;
use serde_json::json;
use testkit::scripted_model::reconciliation_answer;
use testkit::{Reply, WordHashEmbedder};

use crate::embedders::ConstantEmbedder;
use crate::workshop::{Workshop, event, thought};
use crate::world::{HOUR, MINUTE, SECOND, WEB, World, scope, section, settings};

/// One of the events is damaged, and the answer is in a code fence with text around it.
#[tokio::test]
async fn defect_01_one_bad_event_costs_no_good_one_and_fences_are_read() {
    let mut world = World::new().await;
    let good = json!({"type": "event", "description": "用户养了一只白猫,叫小黑", "emotional_impact": 2,
        "evidence": [{"message": "m1", "quote": "我养了只白猫,叫小黑"}]});
    let bad = json!({"description": 7, "emotional_impact": "much"});
    let answer = json!({"events": [bad, good], "self_check_notes": ""});
    world.model.next("extraction", Reply::text(format!("Here you are:\n```json\n{answer}\n```\nDone.")));
    world.talk(WEB, "我养了只白猫,叫小黑").await;
    world.silence().await;
    let nodes = world.nodes(NodeKind::Event).await;
    assert_eq!(
        nodes.iter().map(|node| node.description.as_str()).collect::<Vec<_>>(),
        ["用户养了一只白猫,叫小黑"]
    );
}

/// A session whose answer can't be parsed is not closed as extracted.
#[tokio::test]
async fn defect_01_an_unreadable_answer_does_not_pass_for_an_extraction() {
    let mut world = World::new().await;
    world.model.answer_task("extraction", |_| Reply::text("I would rather not."));
    world.talk(WEB, "我养了只白猫,叫小黑").await;
    world.silence().await;
    let session = world.sessions().await.remove(0);
    assert!(!session.extracted && session.status != SessionStatus::Closed, "{session:?}");
}

#[tokio::test]
async fn defect_02_life_events_that_the_embedder_cannot_read_stay_two() {
    let mut workshop = Workshop::with(Some(Arc::new(ConstantEmbedder { readability: 0.0 }))).await;
    workshop.settings.trivial_user_terms = 0;
    workshop.remember("用户怀孕了", 7).await;
    workshop.remember("用户离婚了", -7).await;
    assert_eq!(workshop.nodes(NodeKind::Event).await.len(), 2);
}

async fn recalled(workshop: &Workshop, embedder: &dyn Embedder, text: &str) -> Vec<String> {
    let request = RecallRequest {
        scope: workshop.scope.clone(),
        text: text.to_owned(),
        now: workshop.clock_now(),
        zone: TimeZone::UTC,
        window: Vec::new(),
    };
    let index = VectorIndex::default();
    let found =
        recall(&*workshop.store, &index, Some(embedder), &RecallSettings::default(), request).await.unwrap();
    found.nodes.into_iter().map(|scored| scored.node.description).collect()
}

/// All vectors are equal, like an English model's of Chinese texts: the words decide, also words of two characters.
#[tokio::test]
async fn defect_03_chinese_is_recalled_by_its_words() {
    let embedder = Arc::new(ConstantEmbedder { readability: 0.1 });
    let mut workshop = Workshop::with(Some(embedder.clone())).await;
    workshop.settings.trivial_user_terms = 0;
    workshop.remember("用户每天早上喝咖啡", 8).await;
    workshop.remember("用户养了一只白猫,叫小黑", 2).await;
    assert_eq!(recalled(&workshop, &*embedder, "你还记得我的猫吗").await, ["用户养了一只白猫,叫小黑"]);
    assert_eq!(recalled(&workshop, &*embedder, "小黑呢").await, ["用户养了一只白猫,叫小黑"]);
    assert_eq!(recalled(&workshop, &*embedder, "咖啡").await, ["用户每天早上喝咖啡"]);
}

#[tokio::test]
async fn defect_04_summaries_are_no_reflections() {
    let workshop = Workshop::new().await;
    for number in 0..4 {
        let impact = if number == 3 { -9 } else { 1 };
        let text = format!("我养了只白猫,这是第{number}次说");
        workshop.said(&text).await;
        workshop.mind.extract_with(move |input| {
            let events = vec![event(input, &format!("用户第{number}次说起猫"), "我养了只白猫", impact)];
            Ok(Extraction { events, summary: Some("说了猫".to_owned()), ..Extraction::default() })
        });
        workshop.mind.reflect_with(|input| Ok(thought("她常说起猫", &[&input.events[0]])));
        workshop.consolidate().await;
        workshop.pass(HOUR).await;
    }
    // The first one by the timer, since there was none before; the last one by the shock. Four summaries block
    // neither.
    assert_eq!(workshop.mind.reflections().len(), 2);
}

#[tokio::test]
async fn defect_05_what_may_be_superseded_is_shown_and_only_that_is() {
    let mut world = World::new().await;
    let event = |description: &str, quote: &str, supersedes: &[&str]| {
        Reply::json(json!({"events": [{"type": "event", "description": description, "emotional_impact": 1,
            "evidence": [{"message": "m1", "quote": quote}], "supersedes": supersedes}], "self_check_notes": ""}))
    };
    world.model.next("extraction", event("用户住在波恩的老城", "我住在波恩的老城", &["k1"]));
    world.talk(WEB, "我住在波恩的老城,我养了一只猫").await;
    world.silence().await;
    let older = world.nodes(NodeKind::Event).await.remove(0);
    world.model.answer_task("reconciliation", |request| reconciliation_answer(request, |_| "replaces"));
    world.model.next("extraction", event("用户从波恩搬到了耶拿", "我从波恩搬到了耶拿", &["k1", "k7"]));
    world.talk(WEB, "我从波恩搬到了耶拿,我养了两只猫").await;
    world.silence().await;
    let asked = world.model.requests_for("extraction");
    assert!(!asked[0].user().contains("k1"), "there was nothing to replace");
    let last = asked.last().unwrap().user();
    assert!(last.contains("- k1: 用户住在波恩的老城"), "{last}");
    let nodes = world.nodes(NodeKind::Event).await;
    let newer = nodes.last().unwrap();
    assert_eq!((nodes[0].id, nodes[0].superseded_by), (older.id, Some(newer.id)));
    world.talk(WEB, "你还记得我住在波恩的老城吗").await;
    assert!(!section(&world.last_prompt(), "Recent things you remember happened").contains("住在波恩的老城"));
}

/// A user in Shanghai who writes after midnight: day, words for the day and age follow the user's zone, and UTC is
/// used inside.
#[tokio::test]
async fn defect_09_days_are_the_users_and_moments_are_utc() {
    let mut world = World::new().await;
    world.say(WEB, "early").await;
    world.store.set_user_timezone(&scope("ann").user, Some("Asia/Shanghai".to_owned())).await.unwrap();
    // 09:00 UTC is 17:00 in Shanghai; eight hours later it is the next day there, but not yet in UTC.
    world.pass(8 * HOUR).await;
    world.say(WEB, "过了半夜").await;
    let all = world.store.messages_before(&scope("ann"), None, 10).await.unwrap();
    let late = all.iter().find(|message| message.content == "过了半夜").unwrap();
    assert_eq!(late.day.to_string(), "2026-03-06");
    assert_eq!(late.created_at.to_string(), "2026-03-05T17:00:00Z");
    world.pass(2 * HOUR).await;
    world.talk(WEB, "早").await;
    let prompt = world.last_prompt();
    let talk = section(&prompt, "Our recent conversation");
    let (yesterday, today) = talk.split_once("## Earlier today").expect("both days");
    assert!(yesterday.contains("## Yesterday") && yesterday.contains("early"), "{talk}");
    assert!(today.contains("过了半夜"), "{talk}");
    world.pass(MINUTE + Duration::from_secs(1) + SECOND).await;
}

/// Forty messages stored while no model was available are embedded in a few calls.
#[tokio::test]
async fn defect_14_texts_are_embedded_in_batches() {
    let embedder = Arc::new(WordHashEmbedder::new());
    embedder.fail_with(Some(memory::ports::EmbedError::Unavailable("not fetched".to_owned())));
    let world = World::with(settings(), Some(embedder.clone())).await;
    for number in 0..40 {
        world.say(WEB, &format!("line number {number}")).await;
    }
    let before = embedder.recorded_calls().len();
    embedder.fail_with(None);
    let name = embedder.fingerprint().to_owned();
    world.pass(5 * MINUTE).await;
    world
        .until("all vectors", || async {
            world.store.messages_without_vector(&name, 1).await.unwrap().is_empty()
        })
        .await;
    let batches = embedder.recorded_calls().split_off(before);
    let longest = batches.iter().map(Vec::len).max();
    assert!(longest > Some(10), "{longest:?}");
    assert!(
        batches.iter().filter(|batch| batch.iter().any(|text| text.contains("line number 3"))).count() <= 8
    );
}
