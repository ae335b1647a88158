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

/// Threads that are started as soon as a read finds none that waits. One conversation reads two things at a time.
const EAGER_THREADS: usize = 2;
/// Time for which a read waits before a further thread is started for it. The reads of a recall, several at a time, are
/// done sooner, even those of the first one after a start. More connections to a server would take turns on the same
/// processors, and each has statements to plan: a turn took 17.6 instead of 15.5 ms with fifteen, and its p95 32
/// instead of 21 ms.
const READ_PATIENCE: Duration = Duration::from_millis(30);
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

pub(crate) struct Readers(Arc<Pool>);

struct Pool {
    queue: Arc<Queue<ReaderJob>>,
    threads: Mutex<Threads>,
    open: OpenConnection,
    threads_max: usize,
}

#[derive(Default)]
struct Threads {
    count: usize,
    /// True while one of them opens its connection, which may serve all reads that wait.
    is_opening: bool,
    /// One for each thread, so that a close can wait for all of them.
    finished: Vec<oneshot::Receiver<()>>,
    /// Set for a while after a connection could not be opened.
    opens_again_at: Option<Instant>,
    is_stopped: bool,
}

impl Pool {
    fn start_thread(
        self: &Arc<Self>,
        threads: &mut Threads,
        connection: Option<Connection>,
    ) -> Result<(), StoreError> {
        let (done, ended) = oneshot::channel();
        let (pool, is_opening) = (Arc::clone(self), connection.is_none());
        let body = move || {
            match connection.map_or_else(|| pool.open_connection(), Ok) {
                Ok(connection) => serve(&pool.queue, &connection),
                // The other threads serve its job.
                Err(error) => tracing::warn!("no further connection for reading could be opened: {error}"),
            }
            // Nobody may be waiting for the end.
            let _ = done.send(());
        };
        let name = format!("store-reader-{}", threads.count);
        thread::Builder::new().name(name).spawn(body).map_err(thread_error)?;
        threads.count += 1;
        threads.is_opening = is_opening;
        threads.finished.push(ended);
        Ok(())
    }

    fn open_connection(&self) -> Result<Connection, StoreError> {
        let opened = (self.open)();
        let mut threads = self.threads.lock();
        threads.is_opening = false;
        if opened.is_err() {
            threads.count -= 1;
            threads.opens_again_at = Some(Instant::now() + OPENING_PAUSE);
        }
        opened
    }

    /// Starts another thread, unless there are enough. A failure is none of the caller, whose job is queued.
    fn add_thread(self: &Arc<Self>, threads_max: usize) {
        let mut threads = self.threads.lock();
        let is_pausing = threads.opens_again_at.is_some_and(|at| Instant::now() < at);
        if threads.count >= threads_max || threads.is_opening || threads.is_stopped || is_pausing {
            return;
        }
        if let Err(error) = self.start_thread(&mut threads, None) {
            tracing::warn!("no further thread for reading could be started: {error}");
        }
    }
}

impl Readers {
    /// Starts a thread with the first connection. Up to `threads_max` threads open their own when reads have to wait, one
    /// after the other: a home that is read by one conversation at a time keeps a few connections, whose statements
    /// are prepared and whose caches are warm.
    pub(crate) fn start(
        first: Connection,
        threads_max: usize,
        open: OpenConnection,
    ) -> Result<Self, StoreError> {
        let pool =
            Arc::new(Pool { queue: Arc::new(Queue::new()), threads: Mutex::default(), open, threads_max });
        pool.start_thread(&mut pool.threads.lock(), Some(first))?;
        Ok(Self(pool))
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
        let (reply, mut answer) = oneshot::channel();
        let job = ReaderJob { work, has_transaction, reply };
        let Self(pool) = self;
        if !pool.queue.push(job).map_err(|_| closed_error())? {
            pool.add_thread(pool.threads_max.min(EAGER_THREADS));
        }
        let mut patience = READ_PATIENCE;
        loop {
            match tokio::time::timeout(patience, &mut answer).await {
                Ok(answered) => return answered.unwrap_or_else(|_| Err(closed_error())),
                Err(_) if pool.queue.is_empty() => {}
                Err(_) => pool.add_thread(pool.threads_max),
            }
            // Long reads wait for themselves, not for a thread.
            patience *= 2;
        }
    }

    pub(crate) fn stop(&self) {
        self.0.threads.lock().is_stopped = true;
        self.0.queue.close();
    }

    /// Waits until the threads have ended and their connections are closed.
    pub(crate) async fn wait_for_end(&self) {
        let finished = std::mem::take(&mut self.0.threads.lock().finished);
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

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    use futures_util::future::{join, join_all};
    use futures_util::poll;

    use super::*;

    fn connect() -> Connection {
        rusqlite::Connection::open_in_memory().unwrap().into()
    }

    /// Readers, and the number of connections that they have asked for besides the first.
    fn start(
        threads_max: usize,
        open: impl Fn() -> Result<Connection, StoreError> + Send + Sync + 'static,
    ) -> (Readers, Arc<AtomicUsize>) {
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&asked);
        let open: OpenConnection = Box::new(move || {
            counted.fetch_add(1, Ordering::SeqCst);
            open()
        });
        (Readers::start(connect(), threads_max, open).unwrap(), asked)
    }

    #[tokio::test]
    async fn reads_one_after_the_other_keep_a_single_connection() {
        let (readers, asked) = start(4, || Ok(connect()));
        // The thread waits for a job again only shortly after it has answered.
        while readers.0.queue.waiting_count() == 0 {
            thread::yield_now();
        }
        readers.run(false, |_| Ok(())).await.unwrap();
        assert_eq!((asked.load(Ordering::SeqCst), readers.0.threads.lock().count), (0, 1));
    }

    #[tokio::test]
    async fn reads_at_the_same_time_have_a_connection_each() {
        let (readers, asked) = start(3, || Ok(connect()));
        // Each read waits for the two others: with fewer connections none of them would end.
        let barrier = Arc::new(Barrier::new(3));
        let read = || {
            let barrier = Arc::clone(&barrier);
            readers.run(true, move |_| {
                barrier.wait();
                Ok(())
            })
        };
        assert!(join_all([read(), read(), read()]).await.iter().all(Result::is_ok));
        assert_eq!(asked.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn a_burst_of_reads_opens_one_connection_at_a_time() {
        let (release, released) = mpsc::channel::<()>();
        let (opening, opens) = mpsc::channel();
        let (released, opening) = (Mutex::new(released), Mutex::new(opening));
        let (readers, asked) = start(9, move || {
            let _ = opening.lock().send(());
            // An error means that all may open.
            let _ = released.lock().recv();
            Ok(connect())
        });
        // The only connection is busy while the others are asked for.
        let (finish, finished) = mpsc::channel();
        let busy = readers.run(false, move |_| {
            finished.recv().unwrap();
            Ok(())
        });
        let mut reads = std::pin::pin!(join(busy, join_all((0..8).map(|_| readers.run(false, |_| Ok(()))))));
        assert!(poll!(&mut reads).is_pending());
        opens.recv().unwrap();
        assert_eq!((asked.load(Ordering::SeqCst), readers.0.threads.lock().count), (1, 2));
        drop(release);
        finish.send(()).unwrap();
        let (busy, reads) = reads.await;
        assert!(busy.is_ok() && reads.iter().all(Result::is_ok));
    }

    #[tokio::test]
    async fn there_are_never_more_connections_than_the_limit() {
        let (readers, asked) = start(2, || Ok(connect()));
        let running = Arc::new(AtomicUsize::new(0));
        let reads = (0..50).map(|number| {
            let running = Arc::clone(&running);
            readers.run(false, move |_| {
                let most = running.fetch_add(1, Ordering::SeqCst) + 1;
                thread::yield_now();
                running.fetch_sub(1, Ordering::SeqCst);
                Ok((number, most))
            })
        });
        for (expected, result) in join_all(reads).await.into_iter().enumerate() {
            let (number, most) = result.unwrap();
            assert!(number == expected && most <= 2, "{number} {most}");
        }
        assert_eq!(readers.0.threads.lock().count, 2);
        assert!(asked.load(Ordering::SeqCst) <= 1);
    }

    #[tokio::test]
    async fn a_refused_connection_leaves_the_reads_to_the_others() {
        let (refused, refusals) = mpsc::channel();
        let (readers, asked) = start(4, move || {
            // Only the first refusal is awaited.
            let _ = refused.send(());
            Err(StoreError::Unusable("too many clients".to_owned()))
        });
        // The only connection is busy until another one has been refused.
        let busy = readers.run(false, move |_| {
            refusals.recv().unwrap();
            Ok(())
        });
        let (first, second) = join(busy, readers.run(false, |_| Ok(()))).await;
        first.and(second).unwrap();
        while readers.0.threads.lock().count != 1 {
            thread::yield_now();
        }
        // None is opened during the pause, which is made long here.
        readers.0.threads.lock().opens_again_at = Some(Instant::now() + Duration::from_secs(3600));
        let asked_before = asked.load(Ordering::SeqCst);
        let reads = join_all((0..20).map(|_| readers.run(false, |_| Ok(())))).await;
        assert!(reads.iter().all(Result::is_ok));
        assert_eq!(asked.load(Ordering::SeqCst), asked_before);
    }

    #[tokio::test]
    async fn a_close_waits_for_every_read() {
        let (readers, _) = start(2, || Ok(connect()));
        let (release, released) = mpsc::channel();
        let barrier = Arc::new(Barrier::new(2));
        let other = Arc::clone(&barrier);
        let held = readers.run(false, move |_| {
            barrier.wait();
            released.recv().unwrap();
            Ok("held")
        });
        let quick = readers.run(false, move |_| {
            other.wait();
            Ok("quick")
        });
        let closing = async {
            readers.stop();
            let mut end = std::pin::pin!(readers.wait_for_end());
            assert!(poll!(&mut end).is_pending());
            release.send(()).unwrap();
            end.await;
        };
        let ((held, quick), ()) = join(join(held, quick), closing).await;
        assert_eq!((held.unwrap(), quick.unwrap()), ("held", "quick"));
        let refused = readers.run(false, |_| Ok(())).await;
        assert!(refused.unwrap_err().to_string().contains("closed"));
    }
}
