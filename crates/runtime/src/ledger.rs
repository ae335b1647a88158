//! Writes every model call to the cost ledger, behind the call and never in its way.

use std::sync::Arc;

use memory::ledger::{ModelCall, Prices};
use memory::ports::Store;
use mind::CallObserver;
use tokio::sync::mpsc;

use crate::metrics::Metrics;
use crate::reloadable::Reloadable;

/// Calls that may wait to be written; beyond that they are told to the log only.
const WAITING_MAX: usize = 1_024;

/// Takes calls from the mind and hands them to the store.
pub struct Ledger {
    calls: mpsc::Sender<ModelCall>,
    metrics: Metrics,
}

impl Ledger {
    /// Begins to write, with no price known but that of the offline provider. Ends when the ledger is dropped and all
    /// that waits is written.
    pub fn start(store: Arc<dyn Store>) -> Arc<Self> {
        Self::start_counted(store, Arc::new(Reloadable::new(Prices::default())), Metrics::default())
    }

    /// Like [`Ledger::start`], with what models cost, and counts each call. A call keeps the price of its day.
    pub fn start_counted(
        store: Arc<dyn Store>,
        prices: Arc<Reloadable<Prices>>,
        metrics: Metrics,
    ) -> Arc<Self> {
        let (calls, mut waiting) = mpsc::channel::<ModelCall>(WAITING_MAX);
        tokio::spawn(async move {
            while let Some(mut call) = waiting.recv().await {
                call.cost_usd = prices.of(&call.provider, &call.model).map(|price| price.cost(call.usage()));
                if let Err(error) = store.record_call(call).await {
                    tracing::warn!("a model call is missing in the cost ledger: {error}");
                }
            }
        });
        Arc::new(Self { calls, metrics })
    }
}

impl CallObserver for Ledger {
    fn observe(&self, call: ModelCall) {
        self.metrics.call(&call);
        if let Err(error) = self.calls.try_send(call) {
            tracing::warn!("a model call is missing in the cost ledger: {error}");
        }
    }
}
