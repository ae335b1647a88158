//! A corrected value is never stated as current: one test for each path into a prompt.

use memory::nodes::{Node, NodeKind};
use memory::ports::{EntityStore, LedgerStore, NodeStore, PersonaStore};
use memory::recall::OmittedValue;
use runtime::RuntimeSettings;
use serde_json::{Value, json};
use testkit::Reply;
use testkit::scripted_model::{AskedPair, RecordedRequest, reconciliation_answer};

use crate::diary::{diary, hub_of};
use crate::world::{HOUR, MINUTE, SECOND, WEB, World, scope, section, settings};

pub(crate) const NO_LONGER: &str = "What is no longer so";
const OWN_WORDS: &str = "Their own words";
pub(crate) const HAPPENED: &str = "Recent things you remember happened";

/// A recent window of two messages, so that older ones can only be in the prompt as passages.
pub(crate) fn short_window() -> RuntimeSettings {
    RuntimeSettings { recent_window: 2, ..settings() }
}

/// The handle of an older memory in the prompt.
pub(crate) fn handle_of(request: &RecordedRequest, description: &str) -> Option<String> {
    let user = request.user();
    let line = user.lines().find(|line| line.starts_with("- k") && line.contains(description))?;
    line.strip_prefix("- ")?.split(':').next().map(str::to_owned)
}

/// A session of one line that the model extracts as `description`, replacing an older memory if one is given.
pub(crate) async fn live(
    world: &mut World,
    line: &'static str,
    description: &'static str,
    replaces: Option<&'static str>,
) -> Node {
    live_with(world, line, description, replaces, json!({})).await
}

/// [`live`], with further members of the model's answer.
pub(crate) async fn live_with(
    world: &mut World,
    line: &'static str,
    description: &'static str,
    replaces: Option<&'static str>,
    more: Value,
) -> Node {
    world.model.answer_task("extraction", move |request| {
        let supersedes: Vec<String> =
            replaces.and_then(|older| handle_of(request, older)).into_iter().collect();
        let mut answer = json!({"self_check_notes": "", "events": [{
            "type": "event", "description": description, "emotional_impact": 2, "supersedes": supersedes,
            "evidence": [{"message": "m1", "quote": line}],
        }]});
        for (name, member) in more.as_object().unwrap() {
            answer[name] = member.clone();
        }
        Reply::json(answer)
    });
    let verdict = move |pair: &AskedPair| {
        let is_replaced = replaces.is_some_and(|older| pair.older == older && pair.newer == description);
        if is_replaced { "replaces" } else { "adds" }
    };
    talk_and_remember(world, line, description, verdict).await
}

/// A session of one line that becomes this memory, with these answers about the memory that it may replace.
pub(crate) async fn talk_and_remember(
    world: &mut World,
    line: &str,
    description: &str,
    verdict: impl Fn(&AskedPair) -> &'static str + Copy + Send + Sync + 'static,
) -> Node {
    world.model.answer_task("reconciliation", move |request| reconciliation_answer(request, verdict));
    world.talk(WEB, line).await;
    world.silence().await;
    let nodes = world.nodes(NodeKind::Event).await;
    let known: Vec<&str> = nodes.iter().map(|node| node.description.as_str()).collect();
    nodes.iter().find(|node| node.description == description).unwrap_or_else(|| panic!("{known:?}")).clone()
}

pub(crate) const BERLIN_SAID: &str = "i have a small flat and i live in Berlin by the river";
pub(crate) const BERLIN: &str = "The user has a small flat in Berlin by the river";
pub(crate) const LYON_SAID: &str = "i have left that flat, i live in Lyon near the station now";
pub(crate) const LYON: &str = "The user has a flat in Lyon near the station";

/// A flat in Berlin, then one in Lyon.
pub(crate) async fn moved(world: &mut World) -> (Node, Node) {
    let berlin = live(world, BERLIN_SAID, BERLIN, None).await;
    world.pass(48 * HOUR).await;
    let lyon = live(world, LYON_SAID, LYON, Some(BERLIN)).await;
    let berlin = world.store.node(berlin.id).await.unwrap().unwrap().node;
    assert_eq!(berlin.superseded_by, Some(lyon.id), "the model replaced it");
    world.pass(48 * HOUR).await;
    (berlin, lyon)
}

/// Lines that state the value without saying that it is not current.
pub(crate) fn stale<'a>(prompt: &'a str, value: &str) -> Vec<&'a str> {
    let (lines, said) = prompt.split_once("# What they just said").unwrap();
    assert!(!said.contains("# "), "nothing stands below what was just said");
    let notes = [
        "no longer so since",
        "wrong, corrected on",
        "- until ",
        "never so, corrected",
        "may be out of date",
    ];
    lines
        .lines()
        .filter(|line| line.contains(value) && !notes.iter().any(|note| line.contains(note)))
        .collect()
}

async fn held_back(world: &World, done: &Value) -> Vec<OmittedValue> {
    let turn = serde_json::from_value(done["turn_id"].clone()).unwrap();
    world.store.receipt(turn).await.unwrap().unwrap().held_back
}

#[tokio::test]
async fn passage_of_replaced_words_has_a_dated_note() {
    let mut world = World::with(short_window(), None).await;
    moved(&mut world).await;
    world.talk(WEB, "it rained all day").await;
    let done = world.talk(WEB, "do you know my flat by the river in Berlin?").await;
    let prompt = world.last_prompt();
    let passages = section(&prompt, OWN_WORDS);
    let line = passages.lines().find(|line| line.contains(BERLIN_SAID)).unwrap_or_else(|| panic!("{prompt}"));
    assert!(line.contains("no longer so since 2026-03-07") && line.contains(LYON), "{line}");
    assert!(section(&prompt, NO_LONGER).contains(BERLIN), "{prompt}");
    assert_eq!(stale(&prompt, "Berlin"), Vec::<&str>::new());
    let held = held_back(&world, &done).await;
    assert_eq!((held.len(), held[0].text.as_str(), held[0].current_text.as_str()), (1, BERLIN, LYON));
    assert!(held[0].places.contains("message"), "{held:?}");
}

#[tokio::test]
async fn recent_window_says_what_was_replaced() {
    let mut world = World::new().await;
    moved(&mut world).await;
    world.talk(WEB, "how are you?").await;
    let prompt = world.last_prompt();
    assert!(section(&prompt, "Our recent conversation").contains(BERLIN_SAID), "{prompt}");
    assert_eq!(stale(&prompt, "Berlin"), Vec::<&str>::new(), "{prompt}");
}

#[tokio::test]
async fn question_about_the_past_finds_the_former_value_with_its_dates() {
    let mut world = World::with(short_window(), None).await;
    moved(&mut world).await;
    world.talk(WEB, "it rained all day").await;
    world.talk(WEB, "where was my flat before, near which station?").await;
    let prompt = world.last_prompt();
    let lines = section(&prompt, NO_LONGER);
    assert!(lines.contains(&format!("until 2026-03-07, said on 2026-03-05: \"{BERLIN}\"")), "{prompt}");
    assert!(lines.contains(LYON), "{prompt}");
}

#[tokio::test]
async fn a_thought_about_a_replaced_event_is_left_out() {
    let mut world = World::with(short_window(), None).await;
    let thought = "They love the calm of their home by the water";
    world.model.answer_task("reflection", move |_| {
        Reply::json(json!({"thoughts": [{"description": thought, "subject": "user", "filling": ["e1"]}]}))
    });
    live(&mut world, BERLIN_SAID, BERLIN, None).await;
    world.talk(WEB, "hello there").await;
    assert!(world.last_prompt().contains(thought), "{}", world.last_prompt());
    world.pass(24 * HOUR).await;
    world.model.answer_task("reflection", |_| Reply::json(json!({"thoughts": []})));
    let lyon = live(&mut world, LYON_SAID, LYON, Some(BERLIN)).await;
    let done = world.talk(WEB, "hello again").await;
    assert!(!world.last_prompt().contains(thought), "{}", world.last_prompt());
    assert!(held_back(&world, &done).await.iter().any(|held| held.places.contains("thought")));
    world.runtime.changes().undo_node(lyon.id).await.unwrap().unwrap();
    world.talk(WEB, "hello once more").await;
    assert!(world.last_prompt().contains(thought), "undo gives it back: {}", world.last_prompt());
}

#[tokio::test]
async fn session_summary_loses_the_sentence() {
    let mut world = World::with(short_window(), None).await;
    let more = json!({"session_summary": "They are tired. They told of the flat in Berlin."});
    live_with(&mut world, BERLIN_SAID, BERLIN, None, more).await;
    world.talk(WEB, "hello").await;
    assert!(section(&world.last_prompt(), "Recent sessions").contains("the flat in Berlin"));
    world.pass(24 * HOUR).await;
    live(&mut world, LYON_SAID, LYON, Some(BERLIN)).await;
    world.talk(WEB, "hello").await;
    let prompt = world.last_prompt();
    let sessions = section(&prompt, "Recent sessions");
    assert!(sessions.contains("They are tired.") && !sessions.contains("Berlin"), "{prompt}");
}

#[tokio::test]
async fn mood_loses_the_signal() {
    let mut world = World::with(short_window(), None).await;
    let mood = json!({"session_mood_signal": {"mood": "warm", "energy": 6, "last_user_signal": "glad about Berlin"}});
    let node = live_with(&mut world, BERLIN_SAID, BERLIN, None, mood).await;
    world.talk(WEB, "hello").await;
    assert!(world.last_prompt().contains("glad about Berlin"));
    world.runtime.changes().correct_node(node.id, LYON).await.unwrap().unwrap();
    world.talk(WEB, "hello").await;
    let prompt = world.last_prompt();
    assert!(prompt.contains("warm, energy 6/10") && !prompt.contains("glad about Berlin"), "{prompt}");
    assert_eq!(world.store.mood(&scope("ann")).await.unwrap().unwrap().mood, "warm");
}

#[tokio::test]
async fn an_outdated_entity_description_is_left_out() {
    let mut world = World::with(short_window(), None).await;
    let entity =
        || json!({"mentioned_entities": [{"canonical_name": "Mila", "kind": "person", "aliases": []}]});
    let said = "i have a sister named Mila and she lives in Berlin";
    let event = "The user's sister Mila lives in Berlin";
    let berlin = live_with(&mut world, said, event, None, entity()).await;
    let scope = scope("ann");
    let mila = world.store.entities(&scope, 10).await.unwrap().remove(0);
    let description = "The sister, often on the phone".to_owned();
    world.store.describe_entity(&scope, mila.id, &description, world.runtime.clock().now()).await.unwrap();
    world.talk(WEB, "how is Mila?").await;
    assert!(
        section(&world.last_prompt(), "What else is written down").contains(&description),
        "{}",
        world.last_prompt()
    );
    world.pass(HOUR).await;
    let said = "no, my sister Mila lives in Lyon now";
    live_with(&mut world, said, "The user's sister Mila lives in Lyon", Some(event), entity()).await;
    world.talk(WEB, "how is Mila?").await;
    let prompt = world.last_prompt();
    assert!(!prompt.contains(&description), "it may tell what was so before: {prompt}");
    assert_eq!(stale(&prompt, "Berlin"), Vec::<&str>::new(), "{prompt}");
    assert_eq!(berlin.superseded_by, None);
}

#[tokio::test]
async fn retelling_the_former_value_does_not_bring_it_back() {
    let mut world = World::with(short_window(), None).await;
    live(&mut world, "i have a cat named Mochi", "The user has a cat named Mochi", None).await;
    for line in [
        "i have a cat named Mochi who sleeps",
        "i have a cat named Mochi who eats",
        "i have a cat named Mochi",
    ] {
        world.pass(HOUR).await;
        world.talk(WEB, line).await;
        world.silence().await;
    }
    world.pass(HOUR).await;
    let said = "no, my cat is called Snow now";
    live(
        &mut world,
        said,
        "The user has a cat that is now called Snow",
        Some("The user has a cat named Mochi"),
    )
    .await;
    world.pass(HOUR).await;
    world.talk(WEB, "it rained").await;
    world.talk(WEB, "what is my cat called?").await;
    let prompt = world.last_prompt();
    assert!(section(&prompt, HAPPENED).contains("Snow"), "{prompt}");
    assert!(!section(&prompt, HAPPENED).contains("Mochi"), "{prompt}");
    assert_eq!(stale(&prompt, "Mochi"), Vec::<&str>::new(), "{prompt}");
}

#[tokio::test]
async fn correction_that_is_minutes_old_is_told_with_the_window() {
    let mut world = World::new().await;
    live(&mut world, "我养了只猫叫小黑", "用户养了一只猫，叫小黑", None).await;
    world.pass(HOUR).await;
    world.talk(WEB, "不是小黑，是小白").await;
    world.talk(WEB, "你还记得我的猫吗").await;
    let prompt = world.last_prompt();
    let lines = section(&prompt, NO_LONGER);
    assert!(lines.contains("不是小黑，是小白") && lines.contains("may be out of date"), "{prompt}");
    let remembered = section(&prompt, HAPPENED).lines().find(|line| line.contains("小黑")).unwrap();
    assert!(remembered.contains("they have just said that this is wrong"), "{remembered}");
}

#[tokio::test]
async fn undo_gives_back_exactly_what_was() {
    let mut world = World::with(short_window(), None).await;
    let berlin = live(&mut world, BERLIN_SAID, BERLIN, None).await;
    world.talk(WEB, "it rained").await;
    let asked = "do you know my flat by the river?";
    let before = world.runtime.recall().candidates_for(scope("ann"), asked.to_owned(), None).await.unwrap();
    world.runtime.changes().correct_node(berlin.id, LYON).await.unwrap().unwrap();
    let corrected =
        world.runtime.recall().candidates_for(scope("ann"), asked.to_owned(), None).await.unwrap();
    assert!(corrected.corrected.messages.values().all(|value| value.mistaken && value.text == BERLIN));
    assert!(!corrected.corrected.messages.is_empty());
    world.runtime.changes().undo_node(berlin.id).await.unwrap().unwrap();
    let after = world.runtime.recall().candidates_for(scope("ann"), asked.to_owned(), None).await.unwrap();
    assert!(after.corrected.messages.is_empty() && after.corrected.held_back.is_empty());
    let lines = |found: &memory::recall::RecallResult| {
        let nodes: Vec<Node> = found.nodes.iter().map(|scored| scored.node.clone()).collect();
        (nodes, found.passages.clone())
    };
    assert_eq!(lines(&after), lines(&before));
}

#[tokio::test]
async fn diary_line_of_a_replaced_event_is_dated_and_undo_takes_the_date_away() {
    let mut world = World::with(short_window(), None).await;
    let hub = hub_of(&world).await;
    live(&mut world, BERLIN_SAID, BERLIN, None).await;
    hub.write_diary().await.unwrap();
    world.pass(24 * HOUR).await;
    let lyon = live(&mut world, LYON_SAID, LYON, Some(BERLIN)).await;
    assert_eq!(hub.correct_diary().await.unwrap(), 1);
    let dated = format!("{BERLIN} (no longer so since 2026-03-06) [chat:");
    assert!(diary(&world).contains(&dated), "{}", diary(&world));
    world.runtime.changes().undo_node(lyon.id).await.unwrap().unwrap();
    assert_eq!(hub.correct_diary().await.unwrap(), 1);
    assert!(diary(&world).contains(&format!("{BERLIN} [chat:")), "{}", diary(&world));
}

#[tokio::test]
async fn corrections_in_a_row_rewrite_the_day_of_the_diary_once_a_minute() {
    let mut world = World::with(short_window(), None).await;
    let hub = world.add_hub().await;
    let berlin = live(&mut world, BERLIN_SAID, BERLIN, None).await;
    hub.write_diary().await.unwrap();
    let versions = async || hub.document_list(&scope("ann")).await.unwrap()[0].version;
    let before = versions().await;
    for number in 0..40 {
        let text = format!("The user has {number} small flats");
        world.runtime.changes().correct_node(berlin.id, &text).await.unwrap().unwrap();
        hub.wake();
        world.pass(SECOND).await;
    }
    assert!(versions().await <= before + 1, "the first at once, the others wait");
    world.pass(2 * MINUTE).await;
    let last = "The user has 39 small flats";
    world.until("the last correction", || async { diary(&world).contains(last) }).await;
    assert!(versions().await <= before + 2);
}

#[tokio::test]
async fn extraction_is_not_shown_what_was_replaced() {
    let mut world = World::with(short_window(), None).await;
    moved(&mut world).await;
    live(
        &mut world,
        "i have a new sofa in my flat by the river",
        "The user has a new sofa in the flat",
        None,
    )
    .await;
    let asked = world.model.requests_for("extraction").pop().unwrap().user();
    let known = section(&asked, "Older memories");
    assert!(known.contains(LYON) && !known.contains(BERLIN), "{asked}");
}
