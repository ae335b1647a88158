//! Vectors are computed in the background.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use memory::nodes::NodeKind;
use memory::ports::{EmbedError, Embedder, EmbeddingStore};
use store::{Fault, without_faults};
use testkit::{Reply, WordHashEmbedder};
use tokio::sync::Notify;

use crate::embedders::StingyEmbedder;
use crate::world::{MINUTE, SECOND, WEB, World, settings, soon};

async fn missing(world: &World, fingerprint: &str) -> (usize, usize) {
    let messages = without_faults(world.store.messages_without_vector(fingerprint, 100)).await.unwrap().len();
    let nodes = without_faults(world.store.nodes_without_vector(fingerprint, 100)).await.unwrap().len();
    (messages, nodes)
}

#[tokio::test]
async fn messages_get_vectors_but_not_while_a_turn_runs() {
    let embedder = Arc::new(WordHashEmbedder::new());
    let name = embedder.fingerprint().to_owned();
    let mut world = World::with(settings(), Some(embedder.clone())).await;
    world.say(WEB, "the first line").await;
    world.until("the vector", || async { missing(&world, &name).await == (0, 0) }).await;

    let gate = Arc::new(Notify::new());
    world.model.next("reply", Reply::text("a reply").delay_first_token_until(&gate));
    world.clock.advance(2 * SECOND).await;
    soon("the question", world.model.wait_until_asked("reply", 1)).await;
    let before = embedder.recorded_calls().len();
    world.say("phone", "said while the turn runs").await;
    for _ in 0..20 {
        world.clock.advance(SECOND / 10).await;
    }
    assert_eq!(missing(&world, &name).await, (1, 0));
    assert_eq!(embedder.recorded_calls().len(), before, "the processor is the turn's");
    gate.notify_one();
    world.hear("chat.message.done").await;
    world.hear("chat.message.done").await;
    world.clock.advance(SECOND).await;
    world.until("the vectors", || async { missing(&world, &name).await == (0, 0) }).await;
}

#[tokio::test]
async fn texts_written_without_a_model_get_vectors_later() {
    let embedder = Arc::new(WordHashEmbedder::new());
    let name = embedder.fingerprint().to_owned();
    embedder.fail_with(Some(EmbedError::Unavailable("not fetched".to_owned())));
    let mut world = World::with(settings(), Some(embedder.clone())).await;
    world.talk(WEB, "i have a white cat named Shadow").await;
    let session = world.sessions().await.remove(0);
    world.runtime.sessions().close(session.id).await.unwrap();
    world.hear_until("chat.session.boundary", |data| !data["closed_session_id"].is_null()).await;
    let event = world.nodes(NodeKind::Event).await.remove(0);
    assert_eq!(missing(&world, &name).await, (2, 2), "two lines, an event and a thought");
    assert!(event.description.contains("Shadow"), "and yet it is remembered");

    embedder.fail_with(None);
    world
        .until("the vectors", || async {
            world.clock.advance(MINUTE).await;
            missing(&world, &name).await == (0, 0)
        })
        .await;
    let calls = embedder.recorded_calls().len();
    world.clock.advance(10 * MINUTE).await;
    world.clock.advance(10 * MINUTE).await;
    assert_eq!(embedder.recorded_calls().len(), calls, "once is enough");
}

#[tokio::test]
async fn a_memory_whose_embedding_failed_need_not_wait_for_the_next_line() {
    let embedder = Arc::new(WordHashEmbedder::new());
    let name = embedder.fingerprint().to_owned();
    let mut world = World::with(settings(), Some(embedder.clone())).await;
    world.talk(WEB, "i have a white cat named Shadow").await;
    world.clock.advance(SECOND).await;
    world.until("the vectors", || async { missing(&world, &name).await == (0, 0) }).await;
    let gate = Arc::new(Notify::new());
    world
        .model
        .next("reflection", Reply::json(serde_json::json!({"thoughts": []})).delay_first_token_until(&gate));
    embedder.fail_with(Some(EmbedError::Failed("for a moment".to_owned())));
    let session = world.sessions().await.remove(0);
    world.runtime.sessions().close(session.id).await.unwrap();
    soon("the reflection", world.model.wait_until_asked("reflection", 1)).await;
    assert_eq!(missing(&world, &name).await, (0, 1));
    embedder.fail_with(None);
    gate.notify_one();
    world.until("the vector", || async { missing(&world, &name).await == (0, 0) }).await;
}

#[tokio::test]
async fn a_model_that_gives_too_few_vectors_is_left_alone_for_a_while() {
    let embedder = Arc::new(StingyEmbedder::default());
    let world = World::with(settings(), Some(embedder.clone())).await;
    world.say(WEB, "hello").await;
    world.until("the first call", || async { embedder.calls.load(Ordering::SeqCst) == 1 }).await;
    // Two loops, the burst, and the rest after a failure of the model.
    soon("the rest", world.clock.wait_for_sleepers(4)).await;
    assert_eq!(missing(&world, "stingy-2").await, (1, 0), "no vector is given to the wrong text");
    assert_eq!(embedder.calls.load(Ordering::SeqCst), 1);
    world
        .until("the vector", || async {
            world.clock.advance(MINUTE).await;
            missing(&world, "stingy-2").await == (0, 0)
        })
        .await;
}

#[tokio::test]
async fn background_work_that_dies_of_a_defect_is_noticed() {
    let embedder = Arc::new(WordHashEmbedder::new());
    let world = World::with(settings(), Some(embedder)).await;
    world.store.faults().plan("nodes_without_vector", Fault::Panic);
    world.say(WEB, "hello").await;
    soon("the notice", world.runtime.wait_for_background_failure()).await;
}

#[tokio::test]
async fn a_backlog_drains_in_small_batches_the_newest_first() {
    let embedder = Arc::new(WordHashEmbedder::new());
    let name = embedder.fingerprint().to_owned();
    embedder.fail_with(Some(EmbedError::Unavailable("not fetched".to_owned())));
    let mut world = World::with(settings(), Some(embedder.clone())).await;
    for number in 0..40 {
        world.talk(WEB, &format!("line {number}")).await;
    }
    assert_eq!(missing(&world, &name).await, (80, 0));
    embedder.fail_with(None);
    let before = embedder.recorded_calls().len();
    world
        .until("the vectors", || async {
            world.clock.advance(MINUTE).await;
            missing(&world, &name).await == (0, 0)
        })
        .await;
    let batches: Vec<Vec<String>> = embedder.recorded_calls().split_off(before);
    let sizes: Vec<usize> = batches.iter().map(Vec::len).filter(|size| *size > 1).collect();
    assert!(sizes.starts_with(&[32, 32, 16]), "{sizes:?}");
    let newest = world.messages().await.pop().unwrap();
    assert_eq!(batches[0][0], newest.content);
}
