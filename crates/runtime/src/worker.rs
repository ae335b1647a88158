//! The loop of all background work.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;

use crate::core::RuntimeCore;

/// Repeated work in the background.
pub(crate) trait Worker: Send + 'static {
    /// Identifies the worker in the log.
    const NAME: &str;

    /// Does the work that is due. A stop of the program waits for it; long work should end early at
    /// [`RuntimeCore::stopping`].
    fn run_once(&mut self, cause: WakeCause) -> impl Future<Output = NextRun> + Send;

    /// Returns when there may be work before the pause is over.
    fn wait_for_work(&self) -> impl Future<Output = ()> + Send {
        std::future::pending()
    }
}

/// Why the worker runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WakeCause {
    /// The program has started, or the pause is over.
    Due,
    Woken,
    /// A person has changed the settings, for example the model.
    SettingsChanged,
}

/// Time of the next run, unless the settings change before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextRun {
    /// After this time, or as soon as the worker is woken.
    Within(Duration),
    /// After this time, even if the worker is woken.
    After(Duration),
    /// Waits without a time limit until the worker is woken.
    WhenWoken,
}

impl RuntimeCore {
    /// Runs the worker until the program stops. A panic of the worker cancels [`Self::died`].
    pub(crate) fn spawn_worker<W: Worker>(self: &Arc<Self>, worker: W) {
        let core = self.clone();
        self.tasks.spawn(async move {
            if AssertUnwindSafe(run(&core, worker)).catch_unwind().await.is_err() {
                tracing::error!(work = W::NAME, "background work panicked; every message is stored");
                core.died.cancel();
            }
        });
    }
}

async fn run(core: &RuntimeCore, mut worker: impl Worker) {
    let mut cause = WakeCause::Due;
    loop {
        // Registered before the work, so that a change during it is noticed too.
        let changed = core.settings_changed.notified();
        let next = worker.run_once(cause).await;
        let pause = async {
            match next {
                NextRun::Within(pause) | NextRun::After(pause) => core.clock().sleep(pause).await,
                NextRun::WhenWoken => std::future::pending().await,
            }
        };
        cause = tokio::select! {
            () = core.stopping.cancelled() => return,
            () = changed => WakeCause::SettingsChanged,
            () = worker.wait_for_work(), if !matches!(next, NextRun::After(_)) => WakeCause::Woken,
            () = pause => WakeCause::Due,
        };
    }
}
