//! "Don't bring this up again": a memory is deleted, and its messages stay in the conversation but are not recalled
//! any more.

use memory::forget::{ForgetMode, Selection};
use memory::nodes::{Node, NodeKind};
use serde_json::json;
use testkit::Reply;
use testkit::scripted_model::RecordedRequest;

use crate::corrected::{live, short_window};
use crate::world::{HOUR, WEB, World, scope};

/// A message, the sentence and the memory of it that are deleted, the remaining sentence, a question about each, and
/// the persona's reply.
const LIVES: [(&str, &str, &str, &str, &str, &str, &str); 2] = [
    (
        "My marriage to Robert ended. I bought a red kayak.",
        "My marriage to Robert ended.",
        "The user's marriage to Robert ended",
        "I bought a red kayak.",
        "do you remember Robert and my marriage?",
        "what kayak did i buy?",
        "Your marriage to Robert ended, I'm so sorry. Tell me more!",
    ),
    (
        "我和罗伯特的婚姻结束了。我买了一条红色皮划艇。",
        "我和罗伯特的婚姻结束了。",
        "用户和罗伯特的婚姻结束了",
        "我买了一条红色皮划艇。",
        "你还记得我和罗伯特的婚姻吗？",
        "我买了什么皮划艇？",
        "你和罗伯特的婚姻结束了，我很难过。再跟我说说吧！",
    ),
];

async fn delete(world: &World, node: &Node, silences: bool) {
    let selection = Selection { nodes: [node.id].into(), silences, ..Selection::default() };
    world.runtime.changes().delete(scope("ann"), selection, ForgetMode::Cascade).await.unwrap();
}

/// The part of a prompt before the user's last message.
fn prompt_of(world: &World) -> String {
    let prompt = world.last_prompt();
    prompt.split_once("# What they just said").unwrap().0.to_owned()
}

#[tokio::test]
async fn silenced_words_are_not_brought_up_and_stay_in_the_conversation() {
    for (said, sentence, description, rest, asked, asked_of_the_rest, reply) in LIVES {
        let mut world = World::with(short_window(), None).await;
        world.model.answer_task("reply", move |_| Reply::text(reply));
        world.model.answer_task("extraction", move |_| {
            Reply::json(json!({"self_check_notes": "", "events": [{
                "type": "event", "description": description, "emotional_impact": -6,
                "evidence": [{"message": "m1", "quote": sentence}],
            }]}))
        });
        world.talk(WEB, said).await;
        world.silence().await;
        let event = world.nodes(NodeKind::Event).await.remove(0);
        world.model.answer_task("reply", |_| Reply::text("Mm."));
        world.model.answer_task("extraction", |_| Reply::json(json!({"self_check_notes": "", "events": []})));
        delete(&world, &event, true).await;
        let kept: Vec<String> = world.messages().await.into_iter().map(|message| message.content).collect();
        assert!(kept.iter().any(|content| content == said) && kept.iter().any(|content| content == reply));
        // In the recent window first, then in passages.
        for turns in 0..3 {
            world.talk(WEB, asked).await;
            assert!(!prompt_of(&world).contains(sentence), "{turns}: {}", prompt_of(&world));
            let again = reply.split_once(['.', '。']).unwrap().0;
            assert!(!prompt_of(&world).contains(again), "the persona's own words too: {}", prompt_of(&world));
            let found =
                world.runtime.recall().candidates_for(scope("ann"), asked.to_owned(), None).await.unwrap();
            let texts: Vec<&String> = found.candidates.iter().map(|candidate| &candidate.text).collect();
            assert!(!texts.iter().any(|text| text.contains(sentence)), "{texts:?}");
            world.pass(HOUR).await;
        }
        world.talk(WEB, asked_of_the_rest).await;
        assert!(
            prompt_of(&world).contains(rest) && !prompt_of(&world).contains(sentence),
            "{}",
            prompt_of(&world)
        );
        // A user who says it again makes it known again.
        let again = live(&mut world, sentence, description, None).await;
        world.talk(WEB, asked).await;
        assert!(prompt_of(&world).contains(&again.description), "{}", prompt_of(&world));
    }
}

#[tokio::test]
async fn a_memory_that_is_deleted_alone_leaves_its_words() {
    let mut world = World::with(short_window(), None).await;
    let (_, sentence, description, _, asked, ..) = LIVES[0];
    let event = live(&mut world, sentence, description, None).await;
    delete(&world, &event, false).await;
    world.talk(WEB, "it rained").await;
    world.talk(WEB, asked).await;
    assert!(prompt_of(&world).contains(sentence), "{}", prompt_of(&world));
}

#[tokio::test]
async fn silenced_correction_is_not_brought_up_as_one_of_the_open_conversation() {
    const SAID: &str = "no, that's wrong, my marriage to Robert ended in May";
    let mut world = World::with(short_window(), None).await;
    let event = live(&mut world, SAID, "The user's marriage to Robert ended in May", None).await;
    world.model.answer_task("reply", |_| Reply::text("Mm."));
    world.model.answer_task("extraction", |_| Reply::json(json!({"self_check_notes": "", "events": []})));
    for line in ["it rained", "the train was late"] {
        world.talk(WEB, line).await;
    }
    assert!(prompt_of(&world).contains(SAID), "it counts until it is silenced: {}", prompt_of(&world));
    delete(&world, &event, true).await;
    world.talk(WEB, "so tired today").await;
    assert!(!prompt_of(&world).contains("Robert"), "{}", prompt_of(&world));
}

#[tokio::test]
async fn message_that_moves_up_is_shown_with_the_messages_around_it() {
    const BEST: &str = "my grandfather's old violin hangs in the attic";
    const NEXT: &str = "i play an old violin in the attic";
    const AROUND: &str = "Mondays at nine it is.";
    for is_silenced in [false, true] {
        let mut world = World::with(short_window(), None).await;
        let nothing = |_: &RecordedRequest| Reply::json(json!({"self_check_notes": "", "events": []}));
        world.model.answer_task("extraction", nothing);
        world.model.answer_task("reply", |_| Reply::text(AROUND));
        world.talk(WEB, "lessons begin soon").await;
        world.model.answer_task("reply", |_| Reply::text("Mm."));
        world.talk(WEB, NEXT).await;
        world.silence().await;
        let event = live(&mut world, BEST, "The user's grandfather had a violin", None).await;
        world.model.answer_task("extraction", nothing);
        world.talk(WEB, "it rained").await;
        if is_silenced {
            delete(&world, &event, true).await;
        }
        world.talk(WEB, "where does my grandfather's old violin hang in the attic?").await;
        let prompt = prompt_of(&world);
        assert_eq!(prompt.contains(BEST), !is_silenced, "{prompt}");
        assert_eq!(prompt.contains(NEXT), is_silenced, "only what is near the best is shown: {prompt}");
        assert_eq!(prompt.contains(AROUND), is_silenced, "{prompt}");
    }
}
