//! The cost ledger at a stop.

use std::sync::Arc;

use jiff::Timestamp;
use memory::ledger::ModelCall;
use memory::ports::LedgerStore as _;
use mind::CallObserver as _;
use runtime::Ledger;
use store::{HomeStore, StoreOptions};

const CALLS: usize = 201;

fn call() -> ModelCall {
    ModelCall {
        at: Timestamp::UNIX_EPOCH,
        task: "reply".to_owned(),
        tier: "large".to_owned(),
        provider: "openai".to_owned(),
        model: "scripted".to_owned(),
        input_tokens: 1,
        output_tokens: 1,
        cached_tokens: 0,
        latency_ms: 1,
        outcome: "ok".to_owned(),
        turn_id: None,
        session_id: None,
        prompt_hash: String::new(),
        cost_usd: None,
    }
}

#[tokio::test]
async fn closing_the_ledger_writes_every_call_that_waits() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(HomeStore::open(&folder.path().join("home.db"), StoreOptions::default()).unwrap());
    let ledger = Ledger::start(store.clone());
    // No other task runs in between: all of them still wait.
    (0..CALLS).for_each(|_| ledger.observe(call()));
    ledger.close().await;
    assert_eq!(store.recent_calls(None, 1_000).await.unwrap().len(), CALLS);
    ledger.observe(call());
    ledger.close().await;
    store.close().await.unwrap();
}
