//! Erasure while other work runs: no work in progress brings the text back, and a crash leaves all or nothing.

use std::sync::Arc;

use hub::api::sync::SyncPush;
use hub::{Caller, DocumentName};
use memory::forget::{EraseError, ErasureReceipt, ErasureRequest, ForgetMode, Selection};
use memory::identifiers::{MessageId, TurnId};
use memory::messages::{Role, TurnStatus};
use memory::nodes::NodeKind;
use memory::ports::{ConsolidationStore, ForgetStore, TurnStore};
use memory::sessions::SessionStatus;
use runtime::Delivery;
use serde_json::json;
use store::Fault;
use testkit::{Reply, WordHashEmbedder};
use tokio::sync::Notify;

use crate::world::{MINUTE, SECOND, WEB, World, scope, settings, soon};

const CAT: &str = "我养了只白猫,叫小黑";
const SISTER: &str = "我妹妹六月结婚";

fn request(selection: Selection) -> ErasureRequest {
    ErasureRequest {
        scope: scope("ann"),
        selection,
        thoughts: ForgetMode::Cascade,
        selected_by: vec!["message_ids".to_owned()],
        confirm: None,
    }
}

fn one(id: MessageId) -> Selection {
    Selection { messages: [id].into(), ..Selection::default() }
}

/// Messages of either side that mention the cat.
async fn naming_the_cat(world: &World) -> Selection {
    let naming = world.messages().await.into_iter().filter(|message| message.content.contains("小黑"));
    Selection { messages: naming.map(|message| message.id).collect(), ..Selection::default() }
}

async fn erase(world: &World, id: MessageId) -> ErasureReceipt {
    world.runtime.changes().erase(request(one(id))).await.unwrap()
}

#[tokio::test]
async fn an_extraction_of_erased_words_is_not_committed_and_the_session_still_becomes_memory() {
    let mut world = World::new().await;
    world.talk(WEB, CAT).await;
    world.talk(WEB, SISTER).await;
    let gate = Arc::new(Notify::new());
    world.model.next("extraction", Reply::json(json!({"events": [{
        "type": "event", "subject": "user", "description": "用户的妹妹六月结婚,小黑也去", "emotional_impact": 3,
        "evidence": [{"message": "m3", "quote": SISTER}], "emotion_tags": [], "relational_tags": [],
        "event_time": null, "supersedes": [], "entities": []}],
        "mentioned_entities": [{"canonical_name": "小黑", "aliases": [], "kind": "pet"}],
        "entity_clarification": null, "session_mood_signal": null, "session_summary": "小黑", "self_check_notes": ""
    })).delay_first_token_until(&gate));
    let session = world.sessions().await.remove(0);
    world.runtime.sessions().close(session.id).await.unwrap();
    soon("the question", world.model.wait_until_asked("extraction", 1)).await;
    let named = naming_the_cat(&world).await;
    let receipt = world.runtime.changes().erase(request(named.clone())).await.unwrap();
    assert_eq!(receipt.taken.messages, named.messages);
    assert_eq!(world.sessions().await[0].status, SessionStatus::Closing, "the claim was taken away");
    gate.notify_one();
    world.until("the session", || async { world.sessions().await[0].status == SessionStatus::Closed }).await;
    let asked = world.model.requests_for("extraction");
    assert_eq!(asked.len(), 2);
    assert!(asked[0].user().contains("小黑") && !asked[1].user().contains("小黑"), "{}", asked[1].user());
    let events = world.nodes(NodeKind::Event).await;
    assert!(events.iter().all(|event| !event.description.contains("小黑")), "{events:?}");
    assert!(events.iter().any(|event| event.description.contains("妹妹")), "{events:?}");
    let session = world.sessions().await.remove(0);
    assert_eq!((session.attempts, session.summary.is_some_and(|text| text.contains("小黑"))), (0, false));
    assert!(world.store.check().await.unwrap().is_intact());
}

#[tokio::test]
async fn a_thought_on_a_deleted_event_is_not_committed() {
    let mut world = World::new().await;
    world.talk(WEB, CAT).await;
    let gate = Arc::new(Notify::new());
    let thought = json!({"thoughts": [
        {"description": "TA 爱小黑", "subject": "user", "emotional_impact": 2, "filling": ["e1"]},
    ]});
    world.model.next("reflection", Reply::json(thought).delay_first_token_until(&gate));
    let session = world.sessions().await.remove(0);
    world.runtime.sessions().close(session.id).await.unwrap();
    soon("the question", world.model.wait_until_asked("reflection", 1)).await;
    let event = world.nodes(NodeKind::Event).await.remove(0);
    let selection = Selection { nodes: [event.id].into(), ..Selection::default() };
    world.runtime.changes().delete(scope("ann"), selection, ForgetMode::Orphan).await.unwrap();
    gate.notify_one();
    world.until("the session", || async { world.sessions().await[0].status == SessionStatus::Closed }).await;
    assert!(world.nodes(NodeKind::Thought).await.is_empty());
}

#[tokio::test]
async fn a_reply_that_may_hold_erased_words_is_not_kept() {
    let mut world = World::new().await;
    world.talk(WEB, CAT).await;
    let gate = Arc::new(Notify::new());
    world.model.next("reply", Reply::from_pieces(["你的", "小黑呀"]).delay_first_token_until(&gate));
    let asked = world.say("phone", "说说我的猫").await;
    soon("the question", world.model.wait_until_asked("reply", 2)).await;
    let named = naming_the_cat(&world).await;
    world.runtime.changes().erase(request(named)).await.unwrap();
    gate.notify_one();
    let failed = world.hear("chat.message.failed").await;
    assert_eq!((&failed["turn_id"], &failed["retryable"]), (&json!(asked.turn_id), &json!(true)));
    let left: Vec<String> = world.messages().await.into_iter().map(|message| message.content).collect();
    assert!(left.iter().all(|text| !text.contains("小黑")), "{left:?}");
    let mut late = world.runtime.broadcast().subscribe_after("life1-0");
    while let Some(delivery) = futures_util::FutureExt::now_or_never(late.next()) {
        let Some(Delivery::Event(_, told)) = delivery else { continue };
        assert!(!told.data.to_string().contains("小黑"), "{told:?}");
    }
    world.runtime.turns().retry(asked.turn_id).await.unwrap().unwrap();
    world.hear_until("chat.message.done", |data| data["turn_id"] == json!(asked.turn_id)).await;
    let prompt = world.last_prompt();
    assert!(!prompt.contains("小黑"), "{prompt}");
}

/// Words of a document are erased at another home while a reply is written with them.
#[tokio::test]
async fn a_reply_that_may_hold_words_erased_elsewhere_is_not_kept() {
    let mut world = World::new().await;
    let hub = world.add_hub().await;
    let kitchen = Caller {
        scope: scope("ann"),
        instance: "kitchen".parse().unwrap(),
        is_person: false,
        is_bound: true,
        is_of_one_user: false,
    };
    let push = |changes: serde_json::Value| -> SyncPush {
        let mut push = json!({"instance": {"id": "kitchen", "type": "other"}});
        push.as_object_mut().unwrap().append(&mut changes.as_object().unwrap().clone());
        serde_json::from_value(push).unwrap()
    };
    let notes = json!({"category": "custom", "filename": "notes.md", "content": "The zebrafinch sings.", "version": 1});
    hub.sync_push(&kitchen, push(json!({"identityChanges": [notes]}))).await.unwrap();
    let gate = Arc::new(Notify::new());
    world.model.next("reply", Reply::from_pieces(["Your ", "zebrafinch"]).delay_first_token_until(&gate));
    let asked = world.say("phone", "what sings?").await;
    soon("the question", world.model.wait_until_asked("reply", 1)).await;
    assert!(world.last_prompt().contains("zebrafinch"));
    let name = DocumentName::parse("custom", "notes").unwrap();
    let digest = hub::erasure::line_digest(&scope("ann"), &name, "The zebrafinch sings.").unwrap();
    let erasure = json!({"category": "custom", "filename": "notes.md", "lines": [hex::encode(digest)]});
    let pushed = hub.sync_push(&kitchen, push(json!({"erasures": [erasure]}))).await.unwrap();
    assert_eq!(pushed.erasure_results[0].reason, None);
    gate.notify_one();
    let failed = world.hear("chat.message.failed").await;
    assert_eq!((&failed["turn_id"], &failed["retryable"]), (&json!(asked.turn_id), &json!(true)));
    assert!(world.messages().await.iter().all(|message| !message.content.contains("zebrafinch")));
    world.runtime.turns().retry(asked.turn_id).await.unwrap().unwrap();
    world.hear_until("chat.message.done", |data| data["turn_id"] == json!(asked.turn_id)).await;
    assert!(!world.last_prompt().contains("zebrafinch"));
}

/// Each of the two locks a row that the other needs.
#[tokio::test]
async fn erasing_here_and_an_erasure_from_elsewhere_do_not_wait_for_each_other() {
    let mut world = World::new().await;
    let hub = world.add_hub().await;
    let kitchen = Caller {
        scope: scope("ann"),
        instance: "kitchen".parse().unwrap(),
        is_person: false,
        is_bound: true,
        is_of_one_user: false,
    };
    let name = DocumentName::parse("custom", "notes").unwrap();
    for number in 0..10 {
        let line = format!("Line {number}.");
        let said = world.say(WEB, &line).await;
        let notes = json!({"category": "custom", "filename": "notes.md", "content": line, "version": 1});
        let digest = hub::erasure::line_digest(&scope("ann"), &name, &line).unwrap();
        let erasure = json!({"category": "custom", "filename": "notes.md", "lines": [hex::encode(digest)]});
        let instance = json!({"id": "kitchen", "type": "other"});
        let push = json!({"instance": instance, "identityChanges": [notes], "erasures": [erasure]});
        let pushing = hub.sync_push(&kitchen, serde_json::from_value(push).unwrap());
        let erasing = world.runtime.changes().erase(request(one(said.message_id)));
        let (pushed, erased) = soon("both", async { tokio::join!(pushing, erasing) }).await;
        assert!(pushed.unwrap().success && !erased.unwrap().taken.is_empty());
    }
}

#[tokio::test]
async fn another_users_reply_is_not_disturbed() {
    let mut world = World::new().await;
    world.talk(WEB, CAT).await;
    let gate = Arc::new(Notify::new());
    world.model.next("reply", Reply::text("for bob").delay_first_token_until(&gate));
    world.accept("bob", "phone", "hello").await.unwrap();
    soon("the question", world.model.wait_until_asked("reply", 2)).await;
    let said = world.messages().await;
    erase(&world, said[0].id).await;
    gate.notify_one();
    let done = world.hear_until("chat.message.done", |data| data["user_id"] == "bob").await;
    assert_eq!(done["content"], "for bob");
}

#[tokio::test]
async fn a_line_that_is_deleted_before_its_turn_is_not_answered() {
    let mut world = World::new().await;
    let accepted = world.say(WEB, "that was a slip").await;
    let taken = world
        .runtime
        .changes()
        .delete(scope("ann"), one(accepted.message_id), ForgetMode::Orphan)
        .await
        .unwrap();
    assert_eq!(taken.turns, [accepted.turn_id].into());
    world.clock.advance(2 * SECOND).await;
    let failed = world.hear("chat.message.failed").await;
    assert_eq!((&failed["retryable"], &failed["user_message_ids"]), (&json!(false), &json!([])));
    assert!(world.model.requests_for("reply").is_empty(), "nobody was asked about nothing");
    assert_eq!(world.runtime.turns().retry(accepted.turn_id).await.unwrap(), None);
    world.talk(WEB, "and this is not").await;
    assert_eq!(world.messages().await.len(), 2);
}

#[tokio::test]
async fn the_question_itself_can_be_erased_while_it_is_answered() {
    let mut world = World::new().await;
    let gate = Arc::new(Notify::new());
    world.model.next("reply", Reply::text("about your slip").delay_first_token_until(&gate));
    let accepted = world.say("phone", "a slip").await;
    soon("the question", world.model.wait_until_asked("reply", 1)).await;
    erase(&world, accepted.message_id).await;
    gate.notify_one();
    let failed = world.hear("chat.message.failed").await;
    assert_eq!(failed["retryable"], false);
    assert!(world.messages().await.is_empty());
    assert_eq!(world.store.turn(accepted.turn_id).await.unwrap(), None);
}

#[tokio::test]
async fn a_session_that_lost_all_its_words_closes_in_silence() {
    let mut world = World::new().await;
    world.talk(WEB, CAT).await;
    let session = world.sessions().await.remove(0);
    let selection = Selection { sessions: [session.id].into(), ..Selection::default() };
    let taken = world.runtime.changes().delete(scope("ann"), selection, ForgetMode::Orphan).await.unwrap();
    assert_eq!(taken.messages.len(), 2);
    world.silence().await;
    let session = world.sessions().await.remove(0);
    assert_eq!((session.status, session.message_count, session.trivial), (SessionStatus::Closed, 0, true));
    assert!(world.model.requests_for("extraction").is_empty());
}

#[tokio::test]
async fn vectors_in_memory_forget_too() {
    let embedder = Arc::new(WordHashEmbedder::new());
    let mut world = World::with(settings(), Some(embedder)).await;
    world.talk(WEB, "i have a white cat named Shadow").await;
    world.silence().await;
    let texts = async |world: &World| {
        let recalled = world
            .runtime
            .recall()
            .candidates_for(scope("ann"), "the white cat Shadow".to_owned(), None)
            .await
            .unwrap();
        recalled.candidates.into_iter().map(|candidate| candidate.text).collect::<Vec<_>>()
    };
    assert!(texts(&world).await.iter().any(|text| text.contains("Shadow")));
    let said = world.messages().await;
    for message in said {
        erase(&world, message.id).await;
    }
    assert_eq!(texts(&world).await, [] as [String; 0]);
    assert!(world.nodes(NodeKind::Event).await.is_empty() && world.nodes(NodeKind::Thought).await.is_empty());
}

#[tokio::test]
async fn a_death_leaves_all_or_nothing_and_the_bytes_are_overwritten_at_the_next_start() {
    for (fault, left) in [(Fault::DeathBefore, 2), (Fault::DeathAfter, 0)] {
        let mut world = World::new().await;
        world.talk(WEB, CAT).await;
        let said: Vec<MessageId> = world.messages().await.iter().map(|message| message.id).collect();
        world.store.faults().plan("forget", fault.clone());
        let runtime = world.runtime.clone();
        let selection = Selection { messages: said.into_iter().collect(), ..Selection::default() };
        let erasing = tokio::spawn(async move { runtime.changes().erase(request(selection)).await });
        soon("the death", world.store.faults().death()).await;
        erasing.abort();
        world.restart_after(MINUTE).await;
        world.settle().await;
        assert_eq!(world.messages().await.len(), left, "{fault:?}");
        let receipts = world.store.erasure_receipts(&scope("ann"), None, 9).await.unwrap();
        assert_eq!(receipts.len(), usize::from(left == 0), "the receipt is part of the act");
        if let Some(receipt) = receipts.first() {
            world
                .until("the overwriting", || async {
                    let kept = world.store.erasure_receipt(receipt.id).await.unwrap().unwrap();
                    kept.overwritten_at.is_some()
                })
                .await;
        }
        assert!(world.store.check().await.unwrap().is_intact());
        assert!(world.store.pending_turns().await.unwrap().is_empty());
    }
}

#[tokio::test]
async fn a_text_needs_a_dry_run_and_a_persona_can_begin_anew() {
    let mut world = World::new().await;
    let done = world.talk(WEB, CAT).await;
    world.silence().await;
    let text = Selection { text: Some("小黑".to_owned()), ..Selection::default() };
    let unconfirmed = world.runtime.changes().erase(request(text.clone())).await;
    assert!(matches!(unconfirmed, Err(EraseError::Unconfirmed)), "{unconfirmed:?}");
    let shown = world.runtime.changes().erase_dry_run(request(text.clone())).await.unwrap();
    assert!(!shown.taken.messages.is_empty() && shown.taken.events.len() == 1, "{shown:?}");
    let turn: TurnId = done["turn_id"].as_str().unwrap().parse().unwrap();
    assert_eq!(world.store.turn(turn).await.unwrap().map(|turn| turn.status), Some(TurnStatus::Answered));
    let persona = scope("ann").persona;
    let counts = world.runtime.changes().reset_persona(&persona).await.unwrap().unwrap();
    assert_eq!((counts.messages, counts.nodes), (2, 2));
    world.hear("memory.forgotten").await;
    let confirmed = ErasureRequest { confirm: Some(shown.id), ..request(text) };
    let changed = world.runtime.changes().erase(confirmed).await;
    assert!(matches!(changed, Err(EraseError::Changed)), "{changed:?}");
    world.talk(WEB, SISTER).await;
    let roles: Vec<Role> = world.messages().await.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::Persona]);
    assert_eq!(world.store.events_since(&scope("ann"), jiff::Timestamp::UNIX_EPOCH, 9).await.unwrap(), []);
}
