//! Our own cases, run with the offline provider.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use eval::cases::{Outcome, Stage, StoryClock, parse, run_case, shipped_cases, table};
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, ready};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use llm::{ProviderKind, ProviderSettings, RetryTimer};
use memory::PersonaId;
use memory::consolidate::ConsolidateSettings;
use memory::recall::RecallSettings;
use memory::sessions::SessionPolicy;
use memory::vector_index::VectorIndex;
use mind::{LanguageMind, Prompts};
use offline::OfflineProvider;
use runtime::{
    Broadcast, Ledger, Metrics, OptionalParts, ProactiveSettings, Runtime, RuntimeCore, RuntimeParts,
    RuntimeSettings, TraceSettings,
};
use store::{HomeStore, StoreOptions};
use testkit::SequentialIds;

struct NoPauses;

impl RetryTimer for NoPauses {
    fn pause(&self, _: Duration) -> BoxFuture<'static, ()> {
        ready(()).boxed()
    }

    fn jitter(&self) -> f64 {
        0.0
    }
}

async fn stage(folder: &std::path::Path) -> Stage {
    let clock = Arc::new(StoryClock::new(Timestamp::UNIX_EPOCH));
    let store = Arc::new(HomeStore::open(&folder.join("home.db"), StoreOptions::default()).unwrap());
    let provider = ProviderSettings { provider: ProviderKind::Offline, ..ProviderSettings::default() };
    let provider = llm::connect(provider, Arc::new(NoPauses), Arc::new(OfflineProvider)).await.unwrap();
    let ledger = Ledger::start(store.clone());
    let prompts = Prompts::load(None).unwrap();
    let mind = LanguageMind::new(provider, clock.clone(), ledger, prompts);
    let minute = Duration::from_secs(60);
    let settings = RuntimeSettings {
        persona: PersonaId::new("echo").unwrap(),
        persona_name: "Echo".to_owned(),
        zone: TimeZone::UTC,
        session: SessionPolicy::default(),
        scan_every: minute,
        poll_every: minute,
        consolidate: ConsolidateSettings::default(),
        recall: RecallSettings::default(),
        recent_window: 20,
        debounce: HashMap::from([("eval".to_owned(), Duration::ZERO)]),
        prompt_tokens: 8_000,
        turn_timeout: 2 * minute,
        answer_within: 10 * minute,
        trace: TraceSettings::default(),
        proactive: ProactiveSettings::default(),
        daily_spend_cap: None,
    };
    let core = RuntimeCore::new(RuntimeParts {
        store: store.clone(),
        proactive: store,
        embedder: None,
        index: Arc::new(VectorIndex::default()),
        mind: Arc::new(mind),
        clock: clock.clone(),
        ids: Arc::new(SequentialIds::new(1)),
        broadcast: Broadcast::new("eval".to_owned()),
        metrics: Metrics::default(),
        settings,
    });
    Stage::new(Runtime::new(core, OptionalParts::default()), clock).await.unwrap()
}

async fn outcome(name: &str, case: &eval::cases::Case) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let mut stage = stage(folder.path()).await;
    let outcome = run_case(name, case, &mut stage, false).await.unwrap();
    stage.stop().await;
    outcome
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_case_holds() {
    let mut outcomes = Vec::new();
    for (name, case) in shipped_cases().unwrap() {
        outcomes.push(outcome(&name, &case).await);
    }
    assert!(outcomes.iter().all(|outcome| outcome.failures.is_empty()), "\n{}", table(&outcomes));
}

#[test]
fn every_file_is_shipped_in_both_languages() {
    let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/cases")).unwrap().count();
    let cases = shipped_cases().unwrap();
    assert_eq!(files, cases.len());
    let kinds = |language: &str| -> Vec<String> {
        cases.values().filter(|case| case.language == language).map(|case| case.kind.clone()).collect()
    };
    assert_eq!(kinds("en"), kinds("zh"));
}

/// Each kind of expectation can fail.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_arguments_are_reported() {
    let broken = r#"
        shows = "nothing"
        kind = "peak"
        language = "en"
        [[talk]]
        at = "2026-03-02T20:00:00Z"
        says = ["My grandmother passed away this morning.", "I have a cat called Shadow.", "We walked to the harbour."]
        [[expect]]
        holds = ["volcano"]
        [[expect]]
        holds = ["grandmother"]
        impact_at_least = 5
        [[expect]]
        holds = ["grandmother"]
        day = "2020-01-01"
        [[expect]]
        lacks = ["grandmother"]
        [[expect]]
        ask = "What is my cat called?"
        nothing_found = true
        holds = ["volcano"]
        lacks = ["Shadow"]
        passage = "I have a cat called Shadow."
        by = "me"
    "#;
    let outcome = outcome("broken", &parse(broken).unwrap()).await;
    assert_eq!(outcome.failures.len(), 8, "{:#?}", outcome.failures);
    assert!(parse("shows = \"x\"\nkind = \"peak\"\nlanguage = \"en\"\nexpect = []").is_err());
}
