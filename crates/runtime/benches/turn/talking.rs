//! Whole turns of the runtime with the offline provider: from the message to the stored reply, in a file and on a
//! server.

use std::collections::HashMap;
use std::future::ready;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use memory::consolidate::ConsolidateSettings;
use memory::ports::Clock;
use memory::recall::RecallSettings;
use memory::sessions::SessionPolicy;
use memory::vector_index::VectorIndex;
use mind::{LanguageMind, Prompts};
use offline::OfflineProvider;
use runtime::{
    Broadcast, IncomingMessage, Ledger, Metrics, OptionalParts, ProactiveSettings, Runtime, RuntimeCore,
    RuntimeParts, RuntimeSettings, TraceSettings, TurnEvent,
};

use testkit::SimulatedClock;

use crate::Failed;
use crate::measure::{Figures, processor_time};
use crate::past::{Dice, Home, Past};
use crate::recalling::{QUESTIONS, Ready};

const ROUNDS: usize = 100;
const CHANNEL: &str = "bench";

/// A clock that does not advance, so that only turns run.
struct StandingClock(SimulatedClock);

impl Clock for StandingClock {
    fn now(&self) -> Timestamp {
        self.0.now()
    }

    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        if duration.is_zero() { Box::pin(ready(())) } else { self.0.sleep(duration) }
    }
}

pub(crate) async fn measure(past: Past) -> Result<(), Failed> {
    let name = past.name();
    report(Home::copy(past).await?, format!("a turn, {name}")).await?;
    match Home::on_server(past).await? {
        Some(home) => report(home, format!("a turn on a server, {name}")).await,
        None => Ok(()),
    }
}

async fn report(home: Home, what: String) -> Result<(), Failed> {
    let (store, clock, scope) = (Arc::new(home.store), Arc::new(StandingClock(home.clock)), home.scope);
    let ledger = Ledger::start(store.clone());
    let mind = LanguageMind::new(Arc::new(OfflineProvider), clock.clone(), ledger, Prompts::load(None)?);
    let core = RuntimeCore::new(RuntimeParts {
        store: store.clone(),
        proactive: store.clone(),
        embedder: Some(Arc::new(Ready(Dice::new().vector()))),
        index: Arc::new(VectorIndex::default()),
        mind: Arc::new(mind),
        clock,
        ids: Arc::new(home.ids),
        broadcast: Broadcast::new("bench"),
        metrics: Metrics::default(),
        settings: settings(&scope),
    });
    let runtime = Runtime::new(core, OptionalParts::default());
    runtime.start().await?;
    let (mut times, mut cold) = (Vec::with_capacity(ROUNDS), None);
    let (mut spent, mut trips) = (Duration::ZERO, 0);
    for round in 0..=ROUNDS {
        let (before, trips_before, started) = (processor_time(), store.round_trips(), Instant::now());
        let message = IncomingMessage {
            scope: scope.clone(),
            channel_id: CHANNEL.to_owned(),
            content: QUESTIONS[round % QUESTIONS.len()].to_owned(),
            external_ref: None,
        };
        let (_, mut events) = runtime.turns().accept_and_subscribe(message).await?;
        loop {
            match events.recv().await {
                Some(TurnEvent::Done { .. }) => break,
                Some(TurnEvent::Started | TurnEvent::Delta(_)) => {}
                _ => return Err("the turn has no reply".into()),
            }
        }
        match round {
            0 => cold = Some(started.elapsed()),
            _ => {
                times.push(started.elapsed());
                spent += processor_time() - before;
                trips += store.round_trips() - trips_before;
            }
        }
    }
    let rounds = u32::try_from(ROUNDS)?;
    Figures { what, times, processor: spent / rounds, cold, aim: "" }.print();
    if trips > 0 {
        println!("| {:<52} | {:>6} |", "its round trips, each", trips / u64::from(rounds));
    }
    Ok(store.close().await?)
}

fn settings(scope: &memory::Scope) -> RuntimeSettings {
    const MINUTE: Duration = Duration::from_secs(60);
    RuntimeSettings {
        persona: scope.persona.clone(),
        persona_name: "Echo".to_owned(),
        zone: TimeZone::UTC,
        session: SessionPolicy { max_tokens: u64::MAX, ..SessionPolicy::default() },
        scan_every: MINUTE,
        poll_every: MINUTE,
        consolidate: ConsolidateSettings::default(),
        recall: RecallSettings::default(),
        recent_window: 20,
        debounce: HashMap::from([(CHANNEL.to_owned(), Duration::ZERO)]),
        prompt_tokens: 8_000,
        turn_timeout: 2 * MINUTE,
        answer_within: 10 * MINUTE,
        trace: TraceSettings::default(),
        proactive: ProactiveSettings::default(),
        daily_spend_cap: None,
    }
}
