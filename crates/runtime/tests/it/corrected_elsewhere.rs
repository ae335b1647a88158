//! A corrected value is never stated as current by other programs, documents and proactive messages.

use std::time::Duration;

use hub::Caller;
use hub::api::identity::IdentityText;
use hub::api::memories::{MemoryCreate, MemorySearch};
use memory::nodes::NodeKind;
use memory::ports::{Clock, NodeStore as _, PersonaStore as _};
use runtime::{ProactiveSettings, RuntimeSettings};
use serde_json::json;
use testkit::Reply;

use crate::corrected::{
    BERLIN, BERLIN_SAID, HAPPENED, LYON, LYON_SAID, NO_LONGER, live, live_with, moved, short_window, stale,
    talk_and_remember,
};
use crate::diary::hub_of;
use crate::plans::{Plan, commit_plan};
use crate::world::{HOUR, WEB, World, scope, section};

const ASKED: &str = "do you know my flat by the river?";

fn notebook() -> Caller {
    Caller {
        scope: scope("ann"),
        instance: "notebook".parse().unwrap(),
        is_person: false,
        is_bound: false,
        is_of_one_user: false,
    }
}

#[tokio::test]
async fn other_programs_see_which_values_are_outdated() {
    let mut world = World::with(short_window(), None).await;
    let mood = json!({"session_mood_signal": {"mood": "warm", "energy": 6, "last_user_signal": "glad about Berlin"}});
    let berlin = live_with(&mut world, BERLIN_SAID, BERLIN, None, mood).await;
    world.runtime.changes().correct_node(berlin.id, LYON).await.unwrap().unwrap();
    world.talk(WEB, "it rained").await;
    let remembered =
        world.runtime.recall().recall_for_text(scope("ann"), ASKED.to_owned(), None).await.unwrap();
    let saying: Vec<_> =
        remembered.recalled.candidates.iter().filter(|found| found.text.contains("Berlin")).collect();
    assert!(!saying.is_empty(), "the words stay in the log");
    for found in saying {
        let former = found.no_longer_current.as_ref().unwrap_or_else(|| panic!("{found:?}"));
        assert_eq!((former.current_text.as_str(), former.mistaken), (LYON, true));
    }
    let current = remembered.recalled.candidates.iter().find(|found| found.text == LYON).unwrap();
    assert_eq!((current.used, &current.no_longer_current), (true, &None));
    assert_eq!(remembered.mood.unwrap().last_user_signal, None);
    assert!(world.store.mood(&scope("ann")).await.unwrap().unwrap().last_user_signal.is_some(), "it is kept");
}

#[tokio::test]
async fn other_programs_see_a_correction_within_minutes() {
    let mut world = World::new().await;
    live(&mut world, "我养了只猫叫小黑", "用户养了一只猫，叫小黑", None).await;
    world.talk(WEB, "不是小黑，是小白").await;
    let recalled =
        world.runtime.recall().candidates_for(scope("ann"), "我的猫叫什么".to_owned(), None).await.unwrap();
    assert!(
        recalled
            .corrected
            .correction_denying("用户养了一只猫，叫小黑", jiff::Timestamp::UNIX_EPOCH)
            .is_some(),
        "{:?}",
        recalled.corrected
    );
    world.pass(25 * HOUR).await;
    let recalled =
        world.runtime.recall().candidates_for(scope("ann"), "我的猫叫什么".to_owned(), None).await.unwrap();
    assert_eq!(recalled.corrected.fresh, [], "then it has become memory");
}

#[tokio::test]
async fn a_correction_holds_however_much_is_said_after_it() {
    let mut world = World::with(short_window(), None).await;
    live(&mut world, "我养了只猫叫小黑", "用户养了一只猫，叫小黑", None).await;
    world.talk(WEB, "不是小黑，是小白").await;
    for line in ["今天下雨了", "晚饭吃什么好呢", "地铁又晚点了", "周末去爬山", "好困"].repeat(3)
    {
        world.talk(WEB, line).await;
    }
    let denies = async |world: &World| {
        let recalled = world
            .runtime
            .recall()
            .candidates_for(scope("ann"), "我的猫叫什么".to_owned(), None)
            .await
            .unwrap();
        recalled.corrected.correction_denying("用户养了一只猫，叫小黑", jiff::Timestamp::UNIX_EPOCH).is_some()
    };
    assert!(denies(&world).await);
    // A question about an earlier day: what was recorded then stays.
    let later = Some(Clock::now(&world.clock) + jiff::SignedDuration::from_hours(48));
    let then =
        world.runtime.recall().candidates_for(scope("ann"), "我的猫叫什么".to_owned(), later).await.unwrap();
    assert_eq!(then.corrected.fresh, []);
    assert!(denies(&world).await);
    world.talk(WEB, "我的猫叫什么？").await;
    let prompt = world.last_prompt();
    assert!(prompt.contains("they have just said that this is wrong"), "{prompt}");
}

#[tokio::test]
async fn search_in_documents_says_what_a_correction_replaced_since() {
    let mut world = World::with(short_window(), None).await;
    let hub = hub_of(&world).await;
    let text = "# A visit\nThey showed me the flat in Berlin by the river.";
    let memory =
        json!({"granularity": "daily", "date": "2026-03-01", "content": text, "instanceId": "notebook"});
    let memory: MemoryCreate = serde_json::from_value(memory).unwrap();
    hub.memory_create(&notebook(), memory).await.unwrap();
    let search = async || {
        let search = json!({"query": "the flat by the river", "instanceId": "notebook"});
        let search: MemorySearch = serde_json::from_value(search).unwrap();
        hub.memory_search(&notebook(), search).await.unwrap().results.remove(0)
    };
    moved(&mut world).await;
    let found = search().await;
    assert!(found.excerpt.contains("Berlin"), "what a person wrote stays as it is: {found:?}");
    let former = found.no_longer_current.expect("a note");
    assert_eq!((former.text.as_str(), former.current_text.as_str(), former.mistaken), (BERLIN, LYON, false));
    let lyon = world.nodes(NodeKind::Event).await.into_iter().find(|node| node.description == LYON).unwrap();
    world.runtime.changes().undo_node(lyon.id).await.unwrap().unwrap();
    assert_eq!(search().await.no_longer_current, None, "undo takes the note away");
}

#[tokio::test]
async fn roll_up_loses_the_sentence_though_the_past_is_asked_for() {
    let mut world = World::with(short_window(), None).await;
    let hub = world.add_hub().await;
    moved(&mut world).await;
    let week = "# Week\nIt rained on most days. They love the flat in Berlin.";
    let week =
        json!({"granularity": "weekly", "date": "2026-W10", "content": week, "instanceId": "notebook"});
    hub.memory_create(&notebook(), serde_json::from_value(week).unwrap()).await.unwrap();
    world.talk(WEB, "where did I live in the first week of March 2026, 2026-03-02 to 2026-03-08?").await;
    let prompt = world.last_prompt();
    assert!(prompt.contains("It rained on most days."), "{prompt}");
    assert_eq!(stale(&prompt, "Berlin"), Vec::<&str>::new(), "{prompt}");
    assert!(section(&prompt, NO_LONGER).contains("Berlin"), "the past is told with its dates: {prompt}");
}

#[tokio::test]
async fn document_of_a_person_stays_and_the_prompt_says_what_is_out_of_date() {
    let mut world = World::with(short_window(), None).await;
    let hub = world.add_hub().await;
    let text = "They live in Berlin and they paint.";
    let identity = json!({"category": "relationship", "filename": "their_home.md", "content": text, "instanceId": "notebook"});
    let identity: IdentityText = serde_json::from_value(identity).unwrap();
    hub.identity_write(&notebook(), identity).await.unwrap();
    moved(&mut world).await;
    world.talk(WEB, "hello").await;
    let prompt = world.last_prompt();
    assert!(prompt.contains(text), "{prompt}");
    let note = section(&prompt, NO_LONGER);
    assert!(note.contains(BERLIN) && note.contains(LYON), "{prompt}");
}

#[tokio::test]
async fn message_of_its_own_accord_is_not_written_from_what_is_no_longer_so() {
    let proactive =
        ProactiveSettings { enabled: true, tick: Duration::from_secs(600), ..ProactiveSettings::default() };
    let mut world = World::with(RuntimeSettings { proactive, ..short_window() }, None).await;
    let mood = json!({"session_mood_signal": {"mood": "warm", "energy": 6, "last_user_signal": "glad about Berlin"}});
    let berlin = live_with(&mut world, BERLIN_SAID, BERLIN, None, mood).await;
    let start = world.runtime.clock().now() + jiff::SignedDuration::from_hours(72);
    let plan = |text, kind, number| Plan { kind, text, start, number };
    commit_plan(&world, &berlin, plan("They paint the flat in Berlin", NodeKind::Expectation, 1)).await;
    let lyon = live(&mut world, LYON_SAID, LYON, Some(BERLIN)).await;
    commit_plan(&world, &lyon, plan("Ask how the paint dried", NodeKind::Intention, 2)).await;
    let asked = world.model.requests_for("proactive").len();
    world.model.answer_task("proactive", |_| {
        Reply::json(json!({"message": "Has the paint dried?", "reason": "due"}))
    });
    world.pass(74 * HOUR).await;
    let requests = world.model.requests_for("proactive").split_off(asked);
    assert!(!requests.is_empty(), "the promise does not rest on it");
    for request in requests {
        let prompt = request.user();
        assert!(!prompt.contains("They paint the flat in Berlin"), "{prompt}");
        assert!(!prompt.contains("glad about Berlin"), "{prompt}");
    }
}

#[tokio::test]
async fn a_hundred_retellings_do_not_raise_the_former_value() {
    let mut world = World::with(short_window(), None).await;
    moved(&mut world).await;
    let found = async |world: &World| {
        let recalled = world
            .runtime
            .recall()
            .candidates_for(scope("ann"), "which flat do i have?".to_owned(), None)
            .await
            .unwrap();
        let nodes = recalled.nodes.iter().map(|scored| scored.node.description.clone());
        nodes.collect::<Vec<_>>()
    };
    assert_eq!(found(&world).await, [LYON]);
    world.model.answer_task("extraction", |_| Reply::json(json!({"events": [], "self_check_notes": ""})));
    for number in 0..100 {
        world
            .talk(
                WEB,
                &format!("my aunt told neighbour {number} that i have a small flat in Berlin by the river"),
            )
            .await;
        if number % 10 == 9 {
            world.silence().await;
        }
    }
    assert_eq!(found(&world).await, [LYON]);
    world.talk(WEB, "which flat do i have?").await;
    let prompt = world.last_prompt();
    assert!(section(&prompt, HAPPENED).contains(LYON), "{prompt}");
    assert_eq!(stale(&prompt, "Berlin"), Vec::<&str>::new(), "{prompt}");
}

#[tokio::test]
async fn undecidable_contradictions_are_uncertain_and_asked_about_once() {
    for (certain_said, certain, doubted_said, doubted, asked) in [
        (
            "my birthday is on 3 May, write it down",
            "The user's birthday is on 3 May",
            "hm, i have to look: maybe my birthday is on 8 June",
            "The user's birthday might be on 8 June",
            "when is my birthday?",
        ),
        (
            "我的生日是五月三日，记下来",
            "用户的生日是五月三日",
            "我要查一下，我的生日好像是六月八日",
            "用户的生日好像是六月八日",
            "我的生日是哪天？",
        ),
    ] {
        let mut world = World::with(short_window(), None).await;
        let first = live(&mut world, certain_said, certain, None).await;
        world.pass(HOUR).await;
        world.model.answer_task("extraction", move |_| {
            Reply::json(json!({"self_check_notes": "", "events": [{
                "type": "event", "description": doubted, "emotional_impact": 2,
                "evidence": [{"message": "m1", "quote": doubted_said}],
            }]}))
        });
        talk_and_remember(&mut world, doubted_said, doubted, |_| "unsure").await;
        let first = world.store.node(first.id).await.unwrap().unwrap().node;
        assert_eq!(first.superseded_by, None, "a doubt replaces nothing");
        world.talk(WEB, asked).await;
        let prompt = world.last_prompt();
        let question = format!("\"{certain}\" or \"{doubted}\"");
        assert!(section(&prompt, "What you are not certain of").contains(&question), "{prompt}");
        let remembered = section(&prompt, HAPPENED);
        for text in [certain, doubted] {
            let line = remembered.lines().find(|line| line.starts_with(&format!("- {text}"))).unwrap();
            assert!(line.contains("not certain; they have also said"), "{line}");
        }
        world.pass(HOUR).await;
        world.talk(WEB, asked).await;
        let prompt = world.last_prompt();
        assert!(!prompt.contains("What you are not certain of"), "asked once: {prompt}");
        assert!(prompt.contains("not certain; they have also said"), "{prompt}");
        // The answer resolves it.
        let settled = if certain.is_ascii() {
            "yes, my birthday is on 3 May"
        } else {
            "对，我的生日是五月三日"
        };
        let certain_again = if certain.is_ascii() {
            "The user's birthday is on 3 May, as they had said"
        } else {
            "用户的生日是五月三日，没有变"
        };
        live(&mut world, settled, certain_again, Some(doubted)).await;
        world.talk(WEB, asked).await;
        let prompt = world.last_prompt();
        assert!(!prompt.contains("not certain;"), "{prompt}");
        let events = world.nodes(NodeKind::Event).await;
        let doubt = events.iter().find(|event| event.description == doubted).unwrap();
        assert!(doubt.superseded_by.is_some(), "{events:?}");
    }
}

#[tokio::test]
async fn a_correction_marks_every_line_with_the_old_value_until_it_is_memory() {
    for (said, known, corrected, asked, value) in [
        (
            "i live in Hamburg in a flat",
            "The user lives in Hamburg in a flat",
            "no, i live in Porto now",
            "where do i live, in which flat?",
            "Hamburg",
        ),
        ("我住在北京的公寓", "用户住在北京的公寓", "我搬到了上海", "我住在哪个公寓？", "北京"),
    ] {
        let mut world = World::with(short_window(), None).await;
        live(&mut world, said, known, None).await;
        world.pass(HOUR).await;
        world.talk(WEB, corrected).await;
        for line in ["今天下雨了", "the train was late again"].repeat(6) {
            world.talk(WEB, line).await;
        }
        world.talk(WEB, asked).await;
        let prompt = world.last_prompt();
        let lines = prompt
            .lines()
            .filter(|line| line.contains(value) && !line.contains("just said that this is wrong"));
        assert_eq!(lines.collect::<Vec<_>>(), Vec::<&str>::new(), "{prompt}");
        assert!(prompt.contains(value), "{prompt}");
        let recalled =
            world.runtime.recall().candidates_for(scope("ann"), asked.to_owned(), None).await.unwrap();
        let saying = recalled.candidates.iter().filter(|found| found.text.contains(value));
        let unmarked: Vec<_> = saying.filter(|found| found.denied.is_none()).collect();
        assert!(unmarked.is_empty(), "{unmarked:?}");
    }
}

#[tokio::test]
async fn a_value_to_which_the_user_has_returned_is_current() {
    const AGAIN: &str = "The user lives in the flat in Berlin by the river again";
    let mut world = World::with(short_window(), None).await;
    moved(&mut world).await;
    live(&mut world, "i live in Berlin by the river again, in the old flat", AGAIN, Some(LYON)).await;
    world.pass(48 * HOUR).await;
    world.talk(WEB, "what is my flat by the river like?").await;
    let prompt = world.last_prompt();
    assert!(section(&prompt, HAPPENED).contains(AGAIN), "{prompt}");
    let noted = prompt.lines().filter(|line| line.contains("no longer so since") && !line.contains("Lyon"));
    assert_eq!(noted.collect::<Vec<_>>(), Vec::<&str>::new(), "{prompt}");
    assert_eq!(stale(&prompt, "Lyon"), Vec::<&str>::new(), "{prompt}");
}
