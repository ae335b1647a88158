//! The worker of the hub: writes the diary and its roll-ups, and does the hub's other background work.

use std::sync::Arc;
use std::time::Duration;

use hub::{Hub, HubWork, WorkingHours};

use crate::core::RuntimeCore;
use crate::worker::{NextRun, WakeCause, Worker};

/// Runs the hub's background work. Work that a stop interrupts is repeated at the next start.
pub(crate) struct HubWorker {
    core: Arc<RuntimeCore>,
    hub: Hub,
    hours: WorkingHours,
    work: Option<HubWork>,
}

impl HubWorker {
    pub(crate) fn new(core: Arc<RuntimeCore>, (hub, hours): (Hub, WorkingHours)) -> Self {
        Self { core, hub, hours, work: None }
    }

    async fn do_next_work(&mut self) -> Duration {
        let work = match self.work.take() {
            Some(work) => work,
            None => self.hub.background_work(self.hours).await,
        };
        self.work.insert(work).run_once().await
    }
}

impl Worker for HubWorker {
    const NAME: &str = "hub";

    async fn run_once(&mut self, _: WakeCause) -> NextRun {
        let core = self.core.clone();
        tokio::select! {
            pause = self.do_next_work() => NextRun::Within(pause),
            () = core.stopping.cancelled() => NextRun::WhenWoken,
        }
    }

    async fn wait_for_work(&self) {
        self.hub.background_work_waits().await;
    }
}
