//! Writes every model call to the cost ledger, behind the call and never in its way.

use std::sync::Arc;

use memory::ledger::ModelCall;
use memory::ports::Store;
use mind::CallObserver;
use tokio::sync::mpsc;

use crate::metrics::Metrics;

/// Calls that may wait to be written; beyond that they are told to the log only.
const WAITING_MAX: usize = 1_024;

/// Takes calls from the mind and hands them to the store.
pub struct Ledger {
    calls: mpsc::Sender<ModelCall>,
    metrics: Metrics,
}

impl Ledger {
    /// Begins to write. Ends when the ledger is dropped and all that waits is written.
    pub fn start(store: Arc<dyn Store>) -> Arc<Self> {
        Self::start_counted(store, Metrics::default())
    }

    /// The same, and counts each call.
    pub fn start_counted(store: Arc<dyn Store>, metrics: Metrics) -> Arc<Self> {
        let (calls, mut waiting) = mpsc::channel(WAITING_MAX);
        tokio::spawn(async move {
            while let Some(call) = waiting.recv().await {
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
