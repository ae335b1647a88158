//! Change of the embedding model: the earlier model is used until the vectors of the new one are complete.

use std::sync::Arc;

use memory::ports::{EmbedError, Embedder, Embedding, EmbeddingStore, MessageStore};
use memory::recall::{Candidate, RecallResult};
use runtime::VectorState;
use store::{Fault, without_faults};
use testkit::WordHashEmbedder;

use crate::world::{MINUTE, SECOND, WEB, World, scope, settings, soon};

fn model(name: &str) -> Arc<WordHashEmbedder> {
    Arc::new(WordHashEmbedder::new().with_fingerprint(name))
}

async fn waiting(world: &World, name: &str) -> usize {
    let messages = without_faults(world.store.messages_without_vector(name, 1_000)).await.unwrap();
    messages.len() + without_faults(world.store.nodes_without_vector(name, 1_000)).await.unwrap().len()
}

async fn stored(world: &World) -> Vec<(String, u64)> {
    let models = without_faults(world.store.embedding_models()).await.unwrap();
    models.into_iter().map(|model| (model.fingerprint, model.vectors)).collect()
}

/// A home with vectors of the model "old", in which "new" is configured now.
async fn with_another_model(new: &Arc<WordHashEmbedder>, previous: Option<&Arc<WordHashEmbedder>>) -> World {
    let mut world = World::with(settings(), Some(model("old"))).await;
    world.talk(WEB, "i have a white cat named Shadow").await;
    world.clock.advance(SECOND).await;
    world.until("the old vectors", || async { waiting(&world, "old").await == 0 }).await;
    world.change_embedder(new.clone(), previous.map(|previous| previous.clone() as Arc<dyn Embedder>)).await;
    world
}

async fn recall(world: &World, text: &str) -> RecallResult {
    world.runtime.recall().candidates_for(scope("ann"), text.to_owned(), None).await.unwrap()
}

/// Whether any memory was found by its vector.
fn compared(recalled: &RecallResult) -> bool {
    let meaning = |candidate: &Candidate| candidate.parts.as_ref()?.get("meaning").copied();
    recalled.candidates.iter().filter_map(meaning).any(|part| part > 0.0)
}

async fn state(world: &World) -> VectorState {
    world.runtime.vectors().state().await.unwrap().unwrap()
}

fn asked_for(model: &WordHashEmbedder, text: &str) -> bool {
    model.recorded_calls().iter().flatten().any(|asked| asked == text)
}

#[tokio::test]
async fn the_model_before_serves_until_the_new_vectors_are_complete() {
    let (old, new) = (model("old"), model("new"));
    new.fail_with(Some(EmbedError::Failed("not yet".to_owned())));
    let world = with_another_model(&new, Some(&old)).await;
    let recalled = recall(&world, "the white cat?").await;
    assert_eq!(recalled.words_only, None);
    assert!(asked_for(&old, "the white cat?"), "its vectors are the only ones there are");
    assert!(compared(&recalled));
    let now = state(&world).await;
    assert_eq!((now.with_vector, now.serving_meanwhile.as_deref()), (0, Some("old")));
    world.until("the failure", || async { state(&world).await.failure.is_some() }).await;

    new.fail_with(None);
    world
        .until("the new vectors", || async {
            world.clock.advance(MINUTE).await;
            stored(&world).await.iter().all(|(name, count)| (name == "new") == (*count > 0))
        })
        .await;
    let ended = |now: &VectorState| now.serving_meanwhile.is_none() && now.failure.is_none();
    world.until("the end", || async { ended(&state(&world).await) }).await;
    let calls = old.recorded_calls().len();
    let recalled = recall(&world, "and the white cat?").await;
    assert!(compared(&recalled));
    assert!(asked_for(&new, "and the white cat?"));
    assert_eq!(old.recorded_calls().len(), calls, "the model before was let go");
    let now = state(&world).await;
    assert_eq!(now.with_vector, now.rows);
    assert_eq!((now.model.as_deref(), now.failure), (Some("new"), None));
}

#[tokio::test]
async fn without_the_model_before_words_serve_and_the_newest_come_first() {
    let new = model("new");
    new.fail_with(Some(EmbedError::Failed("not yet".to_owned())));
    let world = with_another_model(&new, None).await;
    let recalled = recall(&world, "the white cat").await;
    assert!(recalled.words_only.is_some_and(|reason| reason.contains("not yet")));
    assert!(!recalled.candidates.is_empty(), "words find it");
    new.fail_with(None);
    world
        .until("the new vectors", || async {
            world.clock.advance(MINUTE).await;
            waiting(&world, "new").await == 0
        })
        .await;
    let calls = new.recorded_calls();
    let first = calls.iter().rev().find(|texts| texts.len() > 1).unwrap();
    let newest = world.store.messages_before(&scope("ann"), None, 9).await.unwrap();
    assert_eq!(first.last(), newest.last().map(|message| &message.content));
}

#[tokio::test]
async fn a_crash_in_between_costs_nothing_that_was_done() {
    let new = model("new");
    let mut world = with_another_model(&new, None).await;
    world.until("the new vectors", || async { waiting(&world, "new").await == 0 }).await;
    world.restart_after(SECOND).await;
    let embedded = new.recorded_calls().len();
    world.until("the old ones to go", || async { stored(&world).await[0] == ("old".to_owned(), 0) }).await;
    world.clock.advance(MINUTE).await;
    assert_eq!(new.recorded_calls().len(), embedded, "nothing is embedded twice");
}

#[tokio::test]
async fn changing_the_model_back_needs_no_new_vectors() {
    let (old, new) = (model("old"), model("new"));
    let mut world = with_another_model(&new, None).await;
    world.store.faults().plan("remove_other_vectors", Fault::DeathBefore);
    world.until("the new vectors", || async { waiting(&world, "new").await == 0 }).await;
    soon("the death", world.store.faults().death()).await;
    world.change_embedder(old.clone(), None).await;
    world
        .until("only the old ones", || async {
            stored(&world).await.iter().all(|(name, count)| (name == "old") == (*count > 0))
        })
        .await;
    assert!(old.recorded_calls().is_empty(), "they were still there");
}

/// Does not answer while a turn runs.
struct Endless;

#[async_trait::async_trait]
impl Embedder for Endless {
    fn dimension(&self) -> usize {
        2
    }
    fn fingerprint(&self) -> &str {
        "endless"
    }
    async fn embed(&self, texts: &[String]) -> Result<Vec<Embedding>, EmbedError> {
        Ok(texts.iter().map(|_| Embedding { vector: vec![1.0, 0.0], readability: 1.0 }).collect())
    }
}

#[tokio::test]
async fn vectors_are_made_even_if_somebody_always_writes() {
    let world = World::with(settings(), Some(Arc::new(Endless))).await;
    let gate = Arc::new(tokio::sync::Notify::new());
    world.model.next("reply", testkit::Reply::text("a reply").delay_first_token_until(&gate));
    world.say(WEB, "the first line").await;
    world.clock.advance(2 * SECOND).await;
    soon("the question", world.model.wait_until_asked("reply", 1)).await;
    world.say("phone", "said while the turn runs").await;
    world
        .until("the vector", || async {
            world.clock.advance(SECOND / 50).await;
            waiting(&world, "endless").await == 0
        })
        .await;
    gate.notify_one();
}
