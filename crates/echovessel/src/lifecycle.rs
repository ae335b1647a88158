//! How the program is asked to go: Ctrl-C, SIGTERM, or `echovessel stop`; a second signal means at once.

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Returns when somebody asks the program to stop.
pub(crate) async fn asked_to_stop(shutdown: CancellationToken) {
    tokio::select! {
        () = shutdown.cancelled() => tracing::info!("stopping: asked over the API"),
        () = next_signal() => tracing::info!("stopping: replies under way finish; a second signal stops at once"),
    }
}

/// Returns at the next signal.
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
        // Without signal handlers the system's own default ends the process; every word is durable by then.
        _ => std::future::pending().await,
    }
}
