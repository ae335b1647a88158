//! A few reading threads. Each call uses one snapshot, and never waits for the writer.

use std::sync::Arc;
use std::thread;

use memory::ports::StoreError;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::engine::failure::Failure;
use crate::engine::queue::{Queue, Slot};
use crate::engine::sql::Connection;
use crate::engine::writer::{closed_error, thread_error};

type ReadJob = Box<dyn FnOnce(&Connection) -> Result<(), Failure> + Send>;

struct ReaderJob {
    work: ReadJob,
    has_transaction: bool,
    reply: oneshot::Sender<Result<(), StoreError>>,
}

pub(crate) struct Readers {
    queue: Arc<Queue<ReaderJob>>,
    /// One for each thread, so that a close can wait for all of them.
    finished: Mutex<Vec<oneshot::Receiver<()>>>,
}

impl Readers {
    /// Starts a thread for each connection.
    pub(crate) fn start(connections: Vec<Connection>) -> Result<Self, StoreError> {
        let queue: Arc<Queue<ReaderJob>> = Arc::new(Queue::new());
        let mut finished = Vec::with_capacity(connections.len());
        for (number, connection) in connections.into_iter().enumerate() {
            let work = Arc::clone(&queue);
            let (done, ended) = oneshot::channel();
            finished.push(ended);
            let body = move || {
                let _guard = work.close_on_drop();
                while let Some(jobs) = work.take_oldest(1) {
                    for ReaderJob { work, has_transaction, reply } in jobs {
                        let read = if has_transaction { read_in_transaction } else { read_statement };
                        // The caller may have left.
                        let _ = reply.send(read(&connection, work).map_err(Failure::into_read_error));
                    }
                }
                drop(connection);
                // Nobody may be waiting for the end.
                let _ = done.send(());
            };
            thread::Builder::new()
                .name(format!("store-reader-{number}"))
                .spawn(body)
                .map_err(thread_error)?;
        }
        Ok(Self { queue, finished: Mutex::new(finished) })
    }

    /// Runs the work on one snapshot of the database. Without a transaction it may run only one statement.
    pub(crate) async fn run<T, W>(&self, has_transaction: bool, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
    {
        let result = Slot::default();
        let filled = result.clone();
        let work = move |connection: &Connection| {
            filled.set_result(work(connection)?);
            Ok(())
        };
        self.submit(Box::new(work), has_transaction).await?;
        result.take_result()
    }

    async fn submit(&self, work: ReadJob, has_transaction: bool) -> Result<(), StoreError> {
        let (reply, answer) = oneshot::channel();
        self.queue.push(ReaderJob { work, has_transaction, reply }).map_err(|_| closed_error())?;
        answer.await.unwrap_or_else(|_| Err(closed_error()))
    }

    pub(crate) fn stop(&self) {
        self.queue.close();
    }

    /// Waits until the threads have ended and their connections are closed.
    pub(crate) async fn wait_for_end(&self) {
        let finished = std::mem::take(&mut *self.finished.lock());
        for ended in finished {
            // An error means that the thread ended unexpectedly.
            let _ = ended.await;
        }
    }
}

/// Runs the work in a transaction, on one snapshot. Its two statements stay prepared, unlike those of a
/// [`rusqlite::Transaction`].
fn read_in_transaction(connection: &Connection, work: ReadJob) -> Result<(), Failure> {
    connection.begin_read()?;
    let result = work(connection);
    connection.end_read()?;
    result
}

/// Runs a single statement, which uses one snapshot without a transaction.
fn read_statement(connection: &Connection, work: ReadJob) -> Result<(), Failure> {
    connection.begin_statement()?;
    let result = work(connection);
    connection.end_statement();
    result
}
