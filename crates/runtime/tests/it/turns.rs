//! One turn: its inputs, how it ends, and its guarantees.

use std::collections::BTreeSet;
use std::sync::Arc;

use memory::identifiers::NodeId;
use memory::messages::{Role, TurnStatus};
use memory::nodes::NodeKind;
use memory::ports::{LedgerStore, StoreError, TurnStore};
use memory::sessions::SessionStatus;
use runtime::{IncomingMessage, TurnEvent};
use serde_json::{Value, json};
use store::Fault;
use testkit::Reply;
use tokio::sync::Notify;

use crate::embedders::HangingEmbedder;
use crate::world::{HOUR, MINUTE, SECOND, WEB, World, incoming, scope, section, settings, soon};

const CAT: &str = "我养了只白猫,叫小黑";

async fn status(world: &World, done: &Value) -> TurnStatus {
    let turn = done["turn_id"].as_str().unwrap().parse().unwrap();
    world.store.turn(turn).await.unwrap().unwrap().status
}

#[tokio::test]
async fn the_window_crosses_sessions_and_channels_and_leaves_out_what_was_just_said() {
    let mut world = World::new().await;
    world.talk("phone", "早上在电话里聊到过茶").await;
    world.silence().await;
    world.talk(WEB, "现在说咖啡").await;
    let prompt = world.last_prompt();
    let window = section(&prompt, "Our recent conversation");
    assert!(window.contains("早上在电话里聊到过茶"), "{prompt}");
    assert!(!window.contains("现在说咖啡"), "{prompt}");
    assert_eq!(section(&prompt, "What they just said").trim(), "them: 现在说咖啡");
    let sessions = world.sessions().await;
    assert_eq!(
        sessions.iter().map(|session| session.channel_id.as_str()).collect::<Vec<_>>(),
        ["phone", "web"]
    );
}

#[tokio::test]
async fn a_receipt_names_exactly_the_nodes_that_were_in_the_prompt() {
    let question = "你还记得小黑和银行的工作吗";
    // Two events are included because of the text; the thought, which shares no word with it, is always included.
    for (prompt_tokens, text, counts) in
        [(8_000, question, (2, 1)), (8_000, "嗯", (0, 1)), (1, question, (0, 0))]
    {
        let mut settings = settings();
        settings.prompt_tokens = prompt_tokens;
        let mut world = World::with(settings, None).await;
        for told in [CAT, "我有一份新工作,在银行", "我对花生过敏,很严重"] {
            world.talk(WEB, told).await;
            world.silence().await;
        }
        let done = world.talk(WEB, text).await;
        let turn = done["turn_id"].as_str().unwrap().parse().unwrap();
        let receipt = world.store.receipt(turn).await.unwrap().unwrap();
        let used = receipt.used.iter().map(|candidate| NodeId(candidate.id)).chain(receipt.pinned.clone());
        let named: BTreeSet<NodeId> = used.collect();
        assert!(receipt.used.iter().all(|candidate| candidate.used));

        let prompt = world.last_prompt();
        let mut nodes = world.nodes(NodeKind::Event).await;
        nodes.extend(world.nodes(NodeKind::Thought).await);
        assert!(nodes.len() >= 4, "{nodes:?}");
        let shown = nodes.iter().filter(|node| prompt.contains(&node.description)).map(|node| node.id);
        assert_eq!(named, shown.collect(), "with {prompt_tokens} tokens for {text}:\n{prompt}");
        assert_eq!((receipt.used.len(), receipt.pinned.len()), counts, "{text}");
        assert_eq!(receipt.cut.is_empty(), prompt_tokens != 1, "{:?}", receipt.cut);
        assert_eq!((receipt.model.as_str(), receipt.usage.input_tokens), ("scripted", 100));
        assert_eq!(status(&world, &done).await, TurnStatus::Answered);
    }
}

#[tokio::test]
async fn a_model_that_says_nothing_in_time_fails_the_turn() {
    let mut world = World::new().await;
    let never = Arc::new(Notify::new());
    world.model.next("reply", Reply::text("too late").delay_first_token_until(&never));
    let accepted = world.say("phone", "在吗").await;
    soon("the question", world.model.wait_until_asked("reply", 1)).await;
    world.clock.advance(2 * MINUTE - SECOND).await;
    assert!(!world.take_event_names().await.contains(&"chat.message.failed"));
    world.clock.advance(SECOND).await;
    let failed = world.hear("chat.message.failed").await;
    assert_eq!(failed["turn_id"], json!(accepted.turn_id));
    assert_eq!(
        (&failed["retryable"], &failed["user_message_ids"]),
        (&json!(true), &json!([accepted.message_id]))
    );
    assert!(failed["reason"].as_str().unwrap().contains("turn_timeout"), "{failed}");
    assert_eq!(status(&world, &failed).await, TurnStatus::Failed);
    assert_eq!(world.messages().await.len(), 1, "an excuse is not the persona's words");
    soon("the hang-up", world.model.hung_up(1)).await;
    world.talk("phone", "现在呢").await;
}

#[tokio::test]
async fn text_before_a_timeout_is_saved_as_incomplete() {
    let mut world = World::new().await;
    let slow = Reply::from_pieces(["我想", "说的是"]).delay_between_deltas(24 * HOUR);
    world.model.next("reply", slow);
    world.say("phone", "你想说什么").await;
    world.hear("chat.message.token").await;
    world.clock.advance(2 * MINUTE).await;
    let done = world.hear("chat.message.done").await;
    assert_eq!((&done["content"], &done["incomplete"]), (&json!("我想"), &json!(true)));
    let last = world.messages().await.pop().unwrap();
    assert_eq!((last.content.as_str(), last.role, last.incomplete), ("我想", Role::Persona, true));
    assert_eq!(status(&world, &done).await, TurnStatus::Answered);
}

#[tokio::test]
async fn a_model_that_is_cut_off_keeps_its_words_and_one_that_fails_at_once_has_none() {
    let mut world = World::new().await;
    world.model.next("reply", Reply::from_pieces(["half a ", "sentence"]).cut_after(1));
    let done = world.talk(WEB, "tell me").await;
    assert_eq!((&done["content"], &done["incomplete"]), (&json!("half a "), &json!(true)));
    for broken in [Reply::error(500, "down"), Reply::text("x").error_after(0, "boom"), Reply::text(" ")] {
        world.model.next("reply", broken);
        world.say("phone", "and now?").await;
        let failed = world.hear("chat.message.failed").await;
        assert_eq!(failed["retryable"], true);
        assert_eq!(status(&world, &failed).await, TurnStatus::Failed);
    }
    let said: Vec<_> = world.messages().await.into_iter().filter(|m| m.role == Role::Persona).collect();
    assert_eq!(said.len(), 1);
}

#[tokio::test]
async fn the_time_limit_holds_for_what_comes_before_the_model_too() {
    let embedder = Arc::new(HangingEmbedder { word: "hang" });
    let mut world = World::with(settings(), Some(embedder)).await;
    world.say("phone", "hang on").await;
    world.hear("chat.message.typing_started").await;
    world.clock.advance(2 * MINUTE).await;
    world.hear("chat.message.failed").await;
    world.talk("phone", "go on").await;
}

#[tokio::test]
async fn a_panic_in_a_port_fails_the_turn_and_the_next_one_works() {
    let mut world = World::new().await;
    world.store.faults().plan("messages_before", Fault::Panic);
    world.say("phone", "first").await;
    let failed = world.hear("chat.message.failed").await;
    assert!(failed["reason"].as_str().unwrap().contains("internal error"), "{failed}");
    assert_eq!(status(&world, &failed).await, TurnStatus::Failed);
    world.store.faults().plan("messages_before", Fault::Panic);
    world.store.faults().plan("fail_turn", Fault::Panic);
    world.say("phone", "second").await;
    world.hear("chat.message.failed").await;
    assert_eq!(
        world.store.faults().calls("fail_turn"),
        2,
        "the failure is reported even if it could not be stored"
    );
    world.talk("phone", "third").await;
}

#[tokio::test]
async fn a_turn_that_the_database_interrupted_is_answered_when_it_is_back() {
    let mut world = World::new().await;
    for method in ["messages_before", "turn"] {
        world.store.faults().plan(method, Fault::Error(StoreError::Busy("the server restarts".to_owned())));
    }
    world.say("phone", "are you there?").await;
    world.until("the failure", || async { world.store.faults().calls("messages_before") == 1 }).await;
    // The first check finds the database unreachable too.
    world.pass(6 * SECOND).await;
    let told = world.take_event_names().await;
    assert!(!told.contains(&"chat.message.failed"), "nobody has to ask again: {told:?}");
    world.pass(6 * SECOND).await;
    let done = world.hear("chat.message.done").await;
    assert_eq!(status(&world, &done).await, TurnStatus::Answered);
}

/// The message is stored, and its sender was told that it may not be.
#[tokio::test]
async fn a_message_whose_capture_was_not_confirmed_is_answered() {
    let mut world = World::new().await;
    world.store.faults().plan("capture", Fault::Unconfirmed);
    let line = incoming("ann", "phone", "did this arrive?");
    assert!(world.runtime.turns().accept(line).await.is_err());
    world.pass(3 * MINUTE).await;
    let done = world.hear("chat.message.done").await;
    assert_eq!(status(&world, &done).await, TurnStatus::Answered);
    assert_eq!(world.messages_of("ann").await.len(), 2);
}

#[tokio::test]
async fn a_failed_turn_that_could_not_be_marked_is_marked_later_and_its_session_ends() {
    let mut world = World::new().await;
    world.model.next("reply", Reply::error(400, "no"));
    world.store.faults().plan("fail_turn", Fault::Error(StoreError::Busy("a backup runs".to_owned())));
    world.say("phone", "are you there?").await;
    let failed = world.hear("chat.message.failed").await;
    assert_eq!(status(&world, &failed).await, TurnStatus::Pending);
    world.clock.advance(MINUTE).await;
    world.until("the mark", || async { world.store.faults().calls("fail_turn") == 2 }).await;
    world.silence().await;
    assert_eq!(status(&world, &failed).await, TurnStatus::Failed);
    assert_eq!(world.sessions().await[0].status, SessionStatus::Closed);
}

#[tokio::test]
async fn a_failed_turn_that_waits_for_its_mark_is_not_answered_meanwhile() {
    let mut world = World::new().await;
    world.model.next("reply", Reply::error(400, "no"));
    for _ in 0..4 {
        world.store.faults().plan("fail_turn", Fault::Error(StoreError::Busy("a backup runs".to_owned())));
    }
    world.say("phone", "are you there?").await;
    let failed = world.hear("chat.message.failed").await;
    world.pass(4 * MINUTE).await;
    world.until("the mark", || async { world.store.faults().calls("fail_turn") == 5 }).await;
    world.silence().await;
    assert_eq!(status(&world, &failed).await, TurnStatus::Failed);
    let told = world.take_event_names().await;
    assert!(!told.contains(&"chat.message.done"), "its sender was told that it failed: {told:?}");
}

#[tokio::test]
async fn a_reply_that_cannot_be_stored_is_not_called_done() {
    let mut world = World::new().await;
    world.say(WEB, "hello").await;
    world
        .store
        .faults()
        .plan("capture", Fault::Error(StoreError::Unwritable("there is no room left".to_owned())));
    world.clock.advance(2 * SECOND).await;
    let failed = world.hear("chat.message.failed").await;
    assert!(failed["reason"].as_str().unwrap().contains("no room left"), "{failed}");
    assert!(!world.take_event_names().await.contains(&"chat.message.done"));
    assert_eq!(world.messages().await.len(), 1);
}

#[tokio::test]
async fn a_watcher_hears_its_turn_and_one_that_leaves_changes_nothing() {
    let mut world = World::new().await;
    let (_, mut watching) =
        world.runtime.turns().accept_and_subscribe(incoming("ann", "phone", "one")).await.unwrap();
    let mut heard = String::new();
    loop {
        match soon("the turn", watching.recv()).await.unwrap() {
            TurnEvent::Started => heard.push('>'),
            TurnEvent::Delta(delta) => heard.push_str(&delta),
            TurnEvent::Done { message, incomplete, model, .. } => {
                assert_eq!((format!(">{}", message.content), incomplete), (heard, false));
                assert_eq!(model, "scripted");
                break;
            }
            TurnEvent::Failed { reason, .. } | TurnEvent::Withdrawn { reason } => panic!("{reason}"),
        }
    }
    world.hear("chat.message.done").await;
    let (accepted, leaving) =
        world.runtime.turns().accept_and_subscribe(incoming("ann", "phone", "two")).await.unwrap();
    drop(leaving);
    let done = world.hear("chat.message.done").await;
    assert_eq!(done["turn_id"], json!(accepted.turn_id));
    assert_eq!(world.messages().await.len(), 4);
}

#[tokio::test]
async fn a_watcher_of_a_turn_that_the_stop_leaves_for_later_does_not_wait() {
    let world = World::new().await;
    let (_, mut watching) =
        world.runtime.turns().accept_and_subscribe(incoming("ann", WEB, "one")).await.unwrap();
    world.runtime.stop().await;
    assert!(soon("the end of the waiting", watching.recv()).await.is_none());
    assert_eq!(world.store.pending_turns().await.unwrap().len(), 1, "the next start answers it");
}

#[tokio::test]
async fn a_reply_whose_question_has_no_name_to_be_read_is_told_all_the_same() {
    let mut world = World::new().await;
    let line = IncomingMessage { external_ref: Some("c1".to_owned()), ..incoming("ann", "phone", "one") };
    world.runtime.turns().accept(line).await.unwrap();
    assert_eq!(world.hear("chat.message.done").await["in_reply_to"], json!("c1"));
    world
        .store
        .faults()
        .plan("turn_external_ref", Fault::Error(StoreError::Busy("a backup runs".to_owned())));
    let line = IncomingMessage { external_ref: Some("c2".to_owned()), ..incoming("ann", "phone", "two") };
    world.runtime.turns().accept(line).await.unwrap();
    assert_eq!(world.hear("chat.message.done").await["in_reply_to"], Value::Null);
}

#[tokio::test]
async fn recall_is_counted_after_the_turn_and_does_not_make_a_memory_younger() {
    let mut world = World::new().await;
    world.talk(WEB, CAT).await;
    world.silence().await;
    let later = world.runtime.clock().now() + jiff::SignedDuration::from_hours(24 * 14);
    let recency = async |world: &World| {
        let recalled = world
            .runtime
            .recall()
            .candidates_for(scope("ann"), "小黑".to_owned(), Some(later))
            .await
            .unwrap();
        recalled.candidates.iter().find_map(|candidate| candidate.recency).unwrap()
    };
    let before = recency(&world).await;
    assert!((before - 0.5).abs() < 0.01, "{before}");
    assert_eq!(world.nodes(NodeKind::Event).await[0].access_count, 0);
    world.talk(WEB, "小黑呢").await;
    world.until("the count", || async { world.nodes(NodeKind::Event).await[0].access_count == 1 }).await;
    assert!(world.nodes(NodeKind::Event).await[0].last_accessed_at.is_some());
    assert_eq!(recency(&world).await, before);
}

#[tokio::test]
async fn every_call_is_in_the_cost_ledger() {
    let mut world = World::new().await;
    world.talk(WEB, CAT).await;
    world.silence().await;
    world.until("four calls", || async { world.store.faults().calls("record_call") == 4 }).await;
    assert_eq!(world.model.requests().len(), 4, "reply, extraction, reflection, slow cycle");
}
