//! Writes every model call to the cost ledger, after the call and without delaying it.

use std::sync::Arc;

use arc_swap::ArcSwap;
use futures_util::future::join_all;
use memory::ledger::{ModelCall, Prices};
use memory::ports::Store;
use mind::CallObserver;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::metrics::Metrics;

/// Maximum calls that wait to be written; further ones are only logged.
const WAITING_MAX: usize = 1_024;

/// Receives calls from the mind and writes them to the store.
pub struct Ledger {
    /// `None` once the ledger is closed.
    calls: Mutex<Option<mpsc::Sender<ModelCall>>>,
    /// Taken by the first call that closes the ledger; a second one has nothing to wait for.
    writer: Mutex<Option<JoinHandle<()>>>,
    metrics: Metrics,
}

impl Ledger {
    /// Starts a ledger that only knows the price of the offline provider.
    pub fn start(store: Arc<dyn Store>) -> Arc<Self> {
        Self::start_with_prices(store, Arc::default(), Metrics::default())
    }

    /// Starts a ledger that also counts each call in `metrics`, and prices it when it is written.
    pub fn start_with_prices(
        store: Arc<dyn Store>,
        prices: Arc<ArcSwap<Prices>>,
        metrics: Metrics,
    ) -> Arc<Self> {
        let (calls, mut waiting) = mpsc::channel::<ModelCall>(WAITING_MAX);
        let writer = tokio::spawn(async move {
            let mut calls = Vec::new();
            while waiting.recv_many(&mut calls, WAITING_MAX).await > 0 {
                // In one transaction.
                let written = calls.drain(..).map(|mut call| {
                    let price = prices.load().price_of_model(&call.provider, &call.model);
                    // Speech has an estimated price of its own, as it is not counted in tokens.
                    call.cost_usd = call.cost_usd.or(price.map(|price| price.cost_in_dollars(call.usage())));
                    store.record_call(call)
                });
                for error in join_all(written).await.into_iter().filter_map(Result::err) {
                    tracing::warn!(%error, "a model call is missing in the cost ledger");
                }
            }
        });
        Arc::new(Self { calls: Mutex::new(Some(calls)), writer: Mutex::new(Some(writer)), metrics })
    }

    /// Accepts no more calls, and returns once all waiting ones are written. Await it before closing the store.
    pub async fn close(&self) {
        drop(self.calls.lock().take());
        let writer = self.writer.lock().take();
        if let Some(writer) = writer
            && writer.await.is_err()
        {
            tracing::error!("the cost ledger stopped early; the last calls are missing in it");
        }
    }
}

impl CallObserver for Ledger {
    fn observe(&self, call: ModelCall) {
        self.metrics.call(&call);
        let calls = self.calls.lock();
        let is_queued = calls.as_ref().is_some_and(|calls| calls.try_send(call).is_ok());
        if !is_queued {
            tracing::warn!(
                "a model call is missing in the cost ledger: too many calls are waiting, or EchoVessel is \
                    stopping"
            );
        }
    }
}
