//! Reading threads, started as they are needed. Each call uses one snapshot, and never waits for the writer.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use memory::ports::StoreError;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::engine::failure::Failure;
use crate::engine::queue::{Queue, Slot};
use crate::engine::sql::Connection;
use crate::engine::writer::{closed_error, thread_error};

/// Pause after a connection that could not be opened, so that a full server is not asked for each read.
const OPENING_PAUSE: Duration = Duration::from_secs(1);

type ReadJob = Box<dyn FnOnce(&Connection) -> Result<(), Failure> + Send>;

struct ReaderJob {
    work: ReadJob,
    has_transaction: bool,
    reply: oneshot::Sender<Result<(), StoreError>>,
}

/// Opens another connection for reading. It may block.
pub(crate) type OpenConnection = Box<dyn Fn() -> Result<Connection, StoreError> + Send + Sync>;

pub(crate) struct Readers {
    queue: Arc<Queue<ReaderJob>>,
    threads: Arc<Mutex<Threads>>,
    open: Arc<OpenConnection>,
    threads_max: usize,
}

#[derive(Default)]
struct Threads {
    count: usize,
    /// One for each thread, so that a close can wait for all of them.
    finished: Vec<oneshot::Receiver<()>>,
    /// Set for a while after a connection could not be opened.
    opens_again_at: Option<Instant>,
    is_stopped: bool,
}

impl Readers {
    /// Starts a thread with the first connection. Up to `threads_max` threads open their own when they are needed: a
    /// home that is read by one conversation at a time keeps one or two connections, whose statements are prepared and
    /// whose caches are warm.
    pub(crate) fn start(
        first: Connection,
        threads_max: usize,
        open: OpenConnection,
    ) -> Result<Self, StoreError> {
        let (queue, threads) = (Arc::new(Queue::new()), Arc::default());
        let readers = Self { queue, threads, open: Arc::new(open), threads_max };
        readers.start_thread(&mut readers.threads.lock(), Some(first))?;
        Ok(readers)
    }

    fn start_thread(&self, threads: &mut Threads, connection: Option<Connection>) -> Result<(), StoreError> {
        let (done, ended) = oneshot::channel();
        let (queue, open, shared) =
            (Arc::clone(&self.queue), Arc::clone(&self.open), Arc::clone(&self.threads));
        let body = move || {
            match connection.map_or_else(|| open(), Ok) {
                Ok(connection) => serve(&queue, &connection),
                Err(error) => {
                    // The other threads serve its job.
                    tracing::warn!("no further connection for reading could be opened: {error}");
                    let mut threads = shared.lock();
                    threads.count -= 1;
                    threads.opens_again_at = Some(Instant::now() + OPENING_PAUSE);
                }
            }
            // Nobody may be waiting for the end.
            let _ = done.send(());
        };
        let name = format!("store-reader-{}", threads.count);
        thread::Builder::new().name(name).spawn(body).map_err(thread_error)?;
        threads.count += 1;
        threads.finished.push(ended);
        Ok(())
    }

    /// Starts another thread, unless there are enough. A failure is none of the caller, whose job is queued.
    fn add_thread(&self) {
        let mut threads = self.threads.lock();
        let is_pausing = threads.opens_again_at.is_some_and(|at| Instant::now() < at);
        if threads.count >= self.threads_max || threads.is_stopped || is_pausing {
            return;
        }
        if let Err(error) = self.start_thread(&mut threads, None) {
            tracing::warn!("no further thread for reading could be started: {error}");
        }
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
        let job = ReaderJob { work, has_transaction, reply };
        if !self.queue.push(job).map_err(|_| closed_error())? {
            self.add_thread();
        }
        answer.await.unwrap_or_else(|_| Err(closed_error()))
    }

    pub(crate) fn stop(&self) {
        self.threads.lock().is_stopped = true;
        self.queue.close();
    }

    /// Waits until the threads have ended and their connections are closed.
    pub(crate) async fn wait_for_end(&self) {
        let finished = std::mem::take(&mut self.threads.lock().finished);
        for ended in finished {
            // An error means that the thread ended unexpectedly.
            let _ = ended.await;
        }
    }
}

/// Serves jobs until the queue is closed and empty.
fn serve(queue: &Arc<Queue<ReaderJob>>, connection: &Connection) {
    let _guard = queue.close_on_drop();
    while let Some(jobs) = queue.take_oldest(1) {
        for ReaderJob { work, has_transaction, reply } in jobs {
            let read = if has_transaction { read_in_transaction } else { read_statement };
            // The caller may have left.
            let _ = reply.send(read(connection, work).map_err(Failure::into_read_error));
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
