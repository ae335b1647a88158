//! Starts tasks that nobody owns.

use futures_util::future::BoxFuture;
use tokio::task::JoinHandle;

/// Runs a task to its end, even if the request that started it ends.
///
/// Boxed, so that the machinery of a task is compiled once and not for each.
pub(crate) fn spawn(task: BoxFuture<'static, ()>) -> JoinHandle<()> {
    tokio::spawn(task)
}
