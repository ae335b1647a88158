//! Search of the hub's memories.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use hub::api::memories::{MemoryList, MemorySearch, SearchMethod};
use hub::graph::{Graph, NodeSearch};
use hub::ports::HubStore as _;
use memory::ports::{EmbedError, Embedder, Embedding};
use serde_json::json;
use testkit::{SequentialIds, WordHashEmbedder};

use crate::home::Home;

fn search(query: &str) -> MemorySearch {
    MemorySearch {
        query: query.to_owned(),
        instance_id: "home".parse().unwrap(),
        query_embedding: None,
        min_score: None,
        max_results: None,
    }
}

#[tokio::test]
async fn the_score_is_the_sum_of_its_parts() {
    let home = Home::open().await;
    home.create("daily", "2026-07-05", "- we adopted a white cat [chat:c] [via:home]").await;
    home.create_as("phone", "daily", "2026-07-14", "- paid the rent [chat:d] [via:phone]").await;
    home.hub.embed_all(&home.caller.scope).await.unwrap();
    let found = home.hub.memory_search(&home.caller, search("the white cat")).await.unwrap();
    assert_eq!(found.search_method, SearchMethod::Vector);
    let best = &found.results[0];
    assert_eq!((best.id.as_str(), best.age_days), ("daily-2026-07-05_home", 10));
    assert!((best.recency_score - 1.0 / 1.07).abs() < 1e-12);
    let sum = 0.8 * best.vector_score
        + 0.05 * best.recency_score
        + 0.05 * best.graph_score
        + 0.1 * best.instance_score;
    assert!((best.score - sum).abs() < 1e-12);
    assert!(best.instance_score == 1.0 && best.vector_score > 0.9);
}

#[tokio::test]
async fn search_distinguishes_relevant_from_near_documents() {
    let home = Home::open().await;
    home.create("daily", "2026-07-05", "- we adopted a white cat [chat:c] [via:home]").await;
    home.create("daily", "2026-07-14", "- the walls of the white house need paint [chat:d] [via:home]").await;
    home.hub.embed_all(&home.caller.scope).await.unwrap();
    let meant = async |asked: &str| -> Vec<(String, bool)> {
        let found =
            home.hub.memory_search(&home.caller, MemorySearch { min_score: Some(0.0), ..search(asked) });
        found.await.unwrap().results.into_iter().map(|found| (found.id, found.is_meant)).collect()
    };
    let (cat, house) = ("daily-2026-07-05_home".to_owned(), "daily-2026-07-14_home".to_owned());
    assert_eq!(meant("when did we adopt the white cat?").await, [(cat, true), (house, false)]);
    let nothing = meant("who won the white marathon in Osaka yesterday evening?").await;
    assert!(nothing.iter().all(|(_, is_meant)| !is_meant), "{nothing:?}");
}

#[tokio::test]
async fn chinese_is_found_by_its_words() {
    let home = Home::open().await;
    home.create("daily", "2026-07-05", "- 用户养了一只白猫,叫小黑 [chat:c] [via:home]").await;
    home.create("daily", "2026-07-06", "- 用户换了新的工作 [chat:d] [via:home]").await;
    let found = home.hub.memory_search(&home.caller, search("你还记得我的猫吗")).await.unwrap();
    assert_eq!(found.results[0].id, "daily-2026-07-05_home");
    assert_eq!(found.results.len(), 1);
}

#[tokio::test]
async fn a_long_memory_answers_with_the_part_that_fits() {
    let home = Home::open().await;
    let filler = "- ordinary matters of no interest [chat:c] [via:home]\n".repeat(120);
    let text = format!("# A full day\n\n{filler}- the lighthouse keeper sang [chat:z] [via:home]\n{filler}");
    home.create("weekly", "2026-W20", &text).await;
    let found = home.hub.memory_search(&home.caller, search("lighthouse keeper")).await.unwrap();
    let excerpt = &found.results[0].excerpt;
    assert!(excerpt.contains("lighthouse") && excerpt.starts_with("# A full day"), "{excerpt}");
    assert!(excerpt.chars().count() <= 2_000);
}

#[tokio::test]
async fn lists_keep_to_their_bounds() {
    let home = Home::open().await;
    home.create("weekly", "2026-W05", "- week").await;
    home.create("daily", "2026-01-28", "- day [chat:c] [via:home]").await;
    home.create("daily", "2026-03-01", "- later [chat:c] [via:home]").await;
    let before = MemoryList { before_date: Some("2026-02-01".parse().unwrap()), ..MemoryList::default() };
    let listed = home.hub.memory_list(&home.caller, before).await.unwrap();
    let dates: Vec<&str> = listed.memories.iter().map(|memory| memory.date.as_str()).collect();
    assert_eq!(dates, ["2026-01-28", "2026-W05"]);
    let one = MemoryList { limit: Some(1), offset: Some(1), ..MemoryList::default() };
    let listed = home.hub.memory_list(&home.caller, one).await.unwrap();
    assert_eq!((listed.memories.len(), listed.total), (1, 3));
}

async fn ids(home: &Home, query: &str) -> Vec<String> {
    let search = MemorySearch { min_score: Some(0.5), ..search(query) };
    let found = home.hub.memory_search(&home.caller, search).await.unwrap();
    found.results.into_iter().map(|memory| memory.id).collect()
}

#[tokio::test]
async fn search_follows_edits_and_deletions() {
    let home = Home::open().await;
    home.create("weekly", "2026-W20", "- we bought a lantern").await;
    home.create("weekly", "2026-W21", "- we sold the piano").await;
    home.hub.embed_all(&home.caller.scope).await.unwrap();
    assert_eq!(ids(&home, "lantern").await, ["weekly-2026-W20"]);
    home.create("weekly", "2026-W20", "- we bought a telescope").await;
    assert_eq!(ids(&home, "lantern").await, [] as [&str; 0]);
    assert_eq!(ids(&home, "telescope").await, ["weekly-2026-W20"]);
    home.hub.embed_all(&home.caller.scope).await.unwrap();
    assert_eq!(ids(&home, "telescope").await, ["weekly-2026-W20"]);
    home.hub.memory_delete(&home.caller, crate::home::reference("weekly", "2026-W20")).await.unwrap();
    assert_eq!(ids(&home, "telescope").await, [] as [&str; 0]);
    let check = home.store.check().await.unwrap();
    assert!(check.is_intact(), "{check:?}");
}

/// Vectors that another process wrote are found too, and deleted ones are not.
#[tokio::test]
async fn vectors_are_read_again_when_others_have_written_some() {
    let one = Home::open().await;
    let other = Home::for_instance("home", one.folder.clone(), "home.db").await;
    one.create("weekly", "2026-W20", "- we bought a lantern").await;
    assert_eq!(ids(&one, "lantern").await, ["weekly-2026-W20"]);
    other.hub.embed_all(&one.caller.scope).await.unwrap();
    let found = one.hub.memory_search(&one.caller, search("bought a lantern")).await.unwrap();
    assert_eq!((found.results.len(), found.search_method), (1, SearchMethod::Vector));
    let purged = other.hub.memory_embedding_purge(&other.caller).await.unwrap();
    assert_eq!(purged.purged, 1);
    assert_eq!(ids(&one, "lantern").await, ["weekly-2026-W20"]);
    let rebuilt = one.hub.memory_embedding_rebuild(&one.caller).await.unwrap();
    assert_eq!((rebuilt.rebuilt, rebuilt.failed, rebuilt.total), (1, 0, 1));
}

/// A mock embedder that succeeds for this many batches and then fails.
struct Tired {
    model: WordHashEmbedder,
    left: AtomicUsize,
}

#[async_trait]
impl Embedder for Tired {
    fn dimension(&self) -> usize {
        self.model.dimension()
    }

    fn fingerprint(&self) -> &str {
        self.model.fingerprint()
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Embedding>, EmbedError> {
        let left = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        self.model.fail_with(left.is_err().then(|| EmbedError::Unavailable("it is tired".to_owned())));
        self.model.embed(texts).await
    }
}

#[tokio::test]
async fn vectors_made_before_a_model_fails_are_saved() {
    let home = Home::without_files().await;
    for day in 1..=28 {
        home.create("daily", &format!("2026-06-{day:02}"), "- swam [chat:c] [via:home]").await;
    }
    let model = Arc::new(Tired { model: WordHashEmbedder::new(), left: AtomicUsize::new(1) });
    let hub = home.beside(Arc::new(home.clock.clone()), model.clone());
    let scope = &home.caller.scope;
    assert_eq!(hub.embed_batch(scope).await.unwrap(), 0, "the rest waits for a model that works");
    let known = home.store.embedded_memories(scope, model.fingerprint()).await.unwrap();
    assert_eq!((known.embedded, known.memories), (16, 28));
    model.left.store(usize::MAX, Ordering::Relaxed);
    assert_eq!(hub.embed_batch(scope).await.unwrap(), 12);
    let known = home.store.embedded_memories(scope, model.fingerprint()).await.unwrap();
    assert_eq!(known.embedded, 28);
}

/// If more memories contain a word than are examined, the newest ones are examined, whatever the order of writing.
#[tokio::test]
async fn of_very_many_the_newest_are_found() {
    let home = Home::without_files().await;
    let days = |month: i8| (1..=28).map(move |day| format!("2025-{month:02}-{day:02}"));
    let mut changes = Vec::new();
    for (number, date) in (1..=12).rev().flat_map(days).cycle().take(2_600).enumerate() {
        let mut change = crate::home::change(
            &format!("m{number}"),
            Some("a lantern in the window"),
            "2026-07-02T00:00:00Z",
            &format!("a:{}", number + 1),
        );
        change.date = date;
        changes.push(change);
    }
    home.push("a", changes).await;
    let found = home.hub.memory_search(&home.caller, search("lantern")).await.unwrap();
    assert_eq!(found.results.len(), 10);
    assert!(found.results.iter().all(|memory| memory.date.to_string().as_str() >= "2025-12-27"), "{found:?}");
}

/// The graph follows the same rule as recall.
#[tokio::test]
async fn a_node_whose_text_the_model_can_t_read_is_not_compared_by_its_vector() {
    let home = Home::without_files().await;
    let model = Arc::new(WordHashEmbedder::new().with_readability(0.55));
    let (store, clock) = (home.store.clone(), Arc::new(home.clock.clone()));
    let graph =
        Graph::new(store.clone(), store.clone(), store, Some(model), clock, Arc::new(SequentialIds::new(8)));
    let node = json!({"type": "topic", "label": "chess", "instanceId": "laptop"});
    graph.create_node(&home.caller.scope, serde_json::from_value(node).unwrap()).await.unwrap();
    let vector = WordHashEmbedder::new().embed(&["chess".to_owned()]).await.unwrap().remove(0).vector;
    let asked = NodeSearch { query_embedding: Some(vector), ..NodeSearch::default() };
    assert_eq!(graph.search_nodes(&home.caller.scope, asked).await.unwrap().results.len(), 0);
}
