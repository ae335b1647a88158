//! Signals: SIGHUP reloads the configuration; Ctrl-C, SIGTERM and `echovessel stop` stop the program, a second signal at once.

use std::sync::Arc;

use server::Configuration;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Returns when the API or a signal asks the program to stop.
pub(crate) async fn stop_requested(shutdown: CancellationToken) {
    tokio::select! {
        () = shutdown.cancelled() => tracing::info!("stopping on request of the API"),
        () = next_signal() => tracing::info!("stopping: running replies finish; a second signal stops at once"),
    }
}

/// Returns when a signal asks the program to stop.
pub(crate) async fn stop_signal() {
    next_signal().await;
}

/// Returns at the next signal, with which a person asks to stop at once.
pub(crate) async fn second_signal() {
    next_signal().await;
}

async fn next_signal() {
    let (interrupt, terminate) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
    match (interrupt, terminate) {
        (Ok(mut interrupt), Ok(mut terminate)) => {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        }
        // Without signal handlers the default action ends the process; every message is durable by then.
        _ => std::future::pending().await,
    }
}

/// Ignores SIGHUP, which would end a process that does not reload its configuration.
pub(crate) async fn ignore_hangup() {
    let Ok(mut hangup) = signal(SignalKind::hangup()) else { return };
    while hangup.recv().await.is_some() {
        tracing::warn!("this daemon is on standby: changes to the configuration apply after its restart");
    }
}

/// Reloads the configuration at each SIGHUP until it is aborted. An invalid file changes nothing and is logged.
pub(crate) async fn reload_on_hangup(configuration: Arc<dyn Configuration>) {
    let Ok(mut hangup) = signal(SignalKind::hangup()) else { return };
    while hangup.recv().await.is_some() {
        if let Err(error) = configuration.reload().await {
            tracing::error!("the configuration was not changed: {error}");
        }
    }
}
