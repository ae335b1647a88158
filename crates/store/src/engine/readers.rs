//! A few threads that read, each call from one snapshot; they never wait for the writer.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use memory::ports::StoreError;
use tokio::sync::oneshot;

use crate::engine::callers_connections::CallersConnections;
use crate::engine::failure::Failure;
use crate::engine::queue::{Queue, Slot};
use crate::engine::sql::Connection;
use crate::engine::writer::{closed_error, no_thread};

type Work = Box<dyn FnOnce(&Connection) -> Result<(), Failure> + Send>;

/// Length of a read, as far as it is known before it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadKind {
    /// One statement, which gives a few rows.
    Statement,
    /// Statements that give a few rows, whatever the home holds.
    Brief,
    /// Statements that may give all rows of a home.
    Long,
}

struct Job {
    work: Work,
    kind: ReadKind,
    reply: oneshot::Sender<Result<(), StoreError>>,
}

impl Job {
    /// Runs the work, from one snapshot of the database.
    fn run(self, connection: &Connection) {
        let read = if self.kind == ReadKind::Statement { read_statement } else { read_in_transaction };
        // The caller may have gone.
        let _ = self.reply.send(read(connection, self.work).map_err(Failure::of_read));
    }
}

pub(crate) struct Readers {
    queue: Arc<Queue<Job>>,
    at_callers: CallersConnections,
    finished: Mutex<Vec<oneshot::Receiver<()>>>,
}

impl Readers {
    /// Starts a thread for each connection to a server. Of those to a file, half are for brief reads on the threads of their callers:
    /// these take less time than the handing over to another thread.
    pub(crate) fn start(mut connections: Vec<Connection>) -> Result<Self, StoreError> {
        let on_file = |connection: &Connection| matches!(connection, Connection::Sqlite(_));
        let threads =
            if connections.iter().all(on_file) { connections.len().div_ceil(2) } else { connections.len() };
        let at_callers = CallersConnections::new(connections.split_off(threads));
        let queue: Arc<Queue<Job>> = Arc::new(Queue::new());
        let mut finished = Vec::with_capacity(connections.len());
        for (number, connection) in connections.into_iter().enumerate() {
            let work = Arc::clone(&queue);
            let (done, ended) = oneshot::channel();
            finished.push(ended);
            let body = move || {
                let _guard = work.abandoned_at_end();
                while let Some(jobs) = work.take_oldest(1) {
                    jobs.into_iter().for_each(|job| job.run(&connection));
                }
                drop(connection);
                // Nobody may be waiting for the end.
                let _ = done.send(());
            };
            thread::Builder::new().name(format!("store-reader-{number}")).spawn(body).map_err(no_thread)?;
        }
        Ok(Self { queue, at_callers, finished: Mutex::new(finished) })
    }

    /// Runs the work on one snapshot of the database.
    pub(crate) async fn run<T, W>(&self, kind: ReadKind, work: W) -> Result<T, StoreError>
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
        self.submit(Box::new(work), kind).await?;
        result.take_result()
    }

    async fn submit(&self, work: Work, kind: ReadKind) -> Result<(), StoreError> {
        let (reply, answer) = oneshot::channel();
        let job = Job { work, kind, reply };
        let idle = if kind == ReadKind::Long { None } else { self.at_callers.borrow_idle() };
        match idle {
            Some(connection) => connection.run(|connection| job.run(connection)),
            None => self.queue.push(job).map_err(|_| closed_error())?,
        }
        answer.await.unwrap_or_else(|_| Err(closed_error()))
    }

    pub(crate) fn stop(&self) {
        self.queue.close();
        self.at_callers.close();
    }

    /// Waits until the threads have ended and all connections are closed.
    pub(crate) async fn wait_for_end(&self) {
        let finished = std::mem::take(&mut *self.finished.lock().unwrap_or_else(PoisonError::into_inner));
        for ended in finished {
            // An error is a thread that ended without a word.
            let _ = ended.await;
        }
        self.at_callers.wait_for_end().await;
    }
}

/// One snapshot for all that the work asks. Its two statements stay prepared, which those of a
/// [`rusqlite::Transaction`] do not.
fn read_in_transaction(connection: &Connection, work: Work) -> Result<(), Failure> {
    connection.begin_read()?;
    let result = work(connection);
    connection.end_read()?;
    result
}

/// A statement sees one snapshot by itself.
fn read_statement(connection: &Connection, work: Work) -> Result<(), Failure> {
    connection.begin_statement()?;
    let result = work(connection);
    connection.end_statement();
    result
}
