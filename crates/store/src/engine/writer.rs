//! One writing thread, which commits queued work as one group, so that many callers share one flush to disk.

use std::any::{Any, TypeId};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use memory::ports::{Corpus, StoreError};
use parking_lot::Mutex;
use tokio::sync::{oneshot, watch};

use crate::engine::failure::Failure;
use crate::engine::queue::{Queue, Slot};
use crate::engine::sql::Connection;
use crate::index::words::{self, Frequencies};

/// Maximum commands in one transaction: bounds how long the first of them waits for the last.
const GROUP_MAX: usize = 1_024;
/// Time for which writes wait for an unreachable database server: a restart or a failover takes seconds.
const RECONNECT_LIMIT: Duration = Duration::from_secs(30);
/// Pause between two attempts to reach it. A starting server refuses at once, so without a pause this would be a busy
/// loop.
const RECONNECT_PAUSE: Duration = Duration::from_millis(200);

/// The connection and the pending index updates of a command. Terms wait until the end of the group: the full-text
/// index is flushed whenever a savepoint begins, and each flush makes a segment that has to be merged later.
pub(crate) struct UnitOfWork<'a> {
    pub(crate) connection: &'a Connection,
    words: Vec<WordEntry>,
}

struct WordEntry {
    /// True if the terms are added, false if they are removed.
    goes_in: bool,
    corpus: Corpus,
    seq: i64,
    scope: i64,
    terms: String,
}

impl UnitOfWork<'_> {
    /// Indexes the terms of a new row in the same transaction.
    pub(crate) fn index_words(&mut self, corpus: Corpus, seq: i64, scope: i64, terms: &str) {
        if !terms.is_empty() {
            self.words.push(WordEntry { goes_in: true, corpus, seq, scope, terms: terms.to_owned() });
        }
    }

    /// Removes the terms of a deleted row from the index, in the same transaction and in order.
    pub(crate) fn unindex_words(&mut self, corpus: Corpus, seq: i64, scope: i64, terms: &str) {
        if !terms.is_empty() {
            self.words.push(WordEntry { goes_in: false, corpus, seq, scope, terms: terms.to_owned() });
        }
    }

    /// Does the work and returns its result, but rolls back what it wrote unless `keeps` returns true.
    pub(crate) fn run_in_savepoint<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, Failure>,
        keeps: impl FnOnce(&T) -> bool,
    ) -> Result<T, Failure> {
        let words_before = self.words.len();
        run_statement(self.connection, "SAVEPOINT attempt")?;
        let outcome = work(self);
        // A failure rolls the whole command back, including this savepoint.
        let given = outcome?;
        if !keeps(&given) {
            run_statement(self.connection, "ROLLBACK TO attempt")?;
            self.words.truncate(words_before);
        }
        run_statement(self.connection, "RELEASE attempt")?;
        Ok(given)
    }

    /// Writes the terms to the indexes; true if any were removed.
    fn write_words(&self) -> Result<bool, Failure> {
        for WordEntry { goes_in, corpus, seq, scope, terms } in &self.words {
            let write = if *goes_in { words::insert } else { words::remove };
            write(self.connection, *corpus, *seq, *scope, terms)?;
        }
        Ok(self.words.iter().any(|entry| !entry.goes_in))
    }
}

/// An item of work that many callers request. Concurrent requests are processed together.
pub(crate) trait Batch: Send + Sized + 'static {
    type Output: Send + 'static;
    /// The port's method that the items come from.
    const OPERATION: &'static str;

    /// Processes all items, in their order. On an error none of them counts as done.
    fn run(unit: &mut UnitOfWork<'_>, items: &[&Self]) -> Result<Vec<Self::Output>, Failure>;
}

/// An item of a [`Batch`] and the slot of its result.
type BatchItem = Box<dyn Any + Send>;
type RunBatch = fn(&mut UnitOfWork<'_>, &[&BatchItem]) -> Result<(), Failure>;

fn run_batch<B: Batch>(unit: &mut UnitOfWork<'_>, items: &[&BatchItem]) -> Result<(), Failure> {
    let items = items.iter().filter_map(|item| item.downcast_ref::<(B, Slot<B::Output>)>());
    let (items, results): (Vec<_>, Vec<_>) = items.map(|(item, result)| (item, result)).unzip();
    for (result, output) in results.into_iter().zip(B::run(unit, &items)?) {
        result.set_result(output);
    }
    Ok(())
}

type BoxedWork = Box<dyn FnMut(&mut UnitOfWork<'_>) -> Result<(), Failure> + Send>;

/// Work that may run more than once, each time after a rollback.
enum WriteJob {
    InTransaction(BoxedWork),
    /// Work that must run alone, outside of any transaction, such as rewriting the file.
    Alone(BoxedWork),
    Batched(BatchItem, RunBatch),
}

/// A command, and the caller that waits for it. Its result is in a [`Slot`].
struct Command {
    work: WriteJob,
    reply: oneshot::Sender<Result<(), StoreError>>,
}

impl Command {
    /// The kind of a batched command; those of one kind run together.
    fn batch_kind(&self) -> Option<TypeId> {
        match &self.work {
            WriteJob::Batched(item, _) => Some(item.as_ref().type_id()),
            WriteJob::InTransaction(_) | WriteJob::Alone(_) => None,
        }
    }

    fn answer(self, outcome: Result<(), StoreError>) {
        // A caller that no longer waits changes nothing: committed work stays.
        let _ = self.reply.send(outcome);
    }
}

/// Callbacks into the rest of the store after a commit.
struct Commits {
    count: AtomicU64,
    frequencies: Arc<Frequencies>,
    taken_over: watch::Sender<bool>,
}

pub(crate) struct Writer {
    queue: Arc<Queue<Command>>,
    commits: Arc<Commits>,
    /// The result of the thread. The first close takes it; later ones have nothing to wait for.
    finished: Mutex<Option<oneshot::Receiver<Result<(), StoreError>>>>,
}

impl Writer {
    /// Starts the thread. When the queue closes it writes the remaining items, merges the log into the file and ends.
    /// The word frequencies are dropped when words are deleted, and counted again on demand. `taken_over` becomes
    /// true when a write fails because another program has taken the home.
    pub(crate) fn start(
        connection: Connection,
        frequencies: Arc<Frequencies>,
        taken_over: watch::Sender<bool>,
    ) -> Result<Self, StoreError> {
        let queue = Arc::new(Queue::new());
        let commits = Arc::new(Commits { count: AtomicU64::new(0), frequencies, taken_over });
        let (done, finished) = oneshot::channel();
        let (work, count) = (Arc::clone(&queue), Arc::clone(&commits));
        let body = move || {
            let _guard = work.close_on_drop();
            while let Some(group) = work.take_oldest(GROUP_MAX) {
                run_commands_in_order(&connection, group, &count);
            }
            let emptied = connection
                .sqlite()
                .map_or(Ok(true), crate::engine::connection::empty_log)
                .map_err(Failure::from);
            let closed = connection.close().map_err(Failure::from);
            // Nobody may be waiting for the end.
            let _ = done.send(emptied.and(closed).map_err(Failure::into_write_error));
        };
        thread::Builder::new().name("store-writer".to_owned()).spawn(body).map_err(thread_error)?;
        Ok(Self { queue, commits, finished: Mutex::new(Some(finished)) })
    }

    /// Runs the work in a transaction and returns once it is durable, or not done at all.
    pub(crate) async fn run<T, W>(&self, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: Fn(&mut UnitOfWork<'_>) -> Result<T, Failure> + Send + 'static,
    {
        let (work, result) = with_result_slot(work);
        self.submit(WriteJob::InTransaction(work)).await?;
        result.take_result()
    }

    /// Runs the work with the next transaction, or in one of its own after a moment: for work that nobody waits for.
    pub(crate) async fn run_deferred<W>(&self, work: W) -> Result<(), StoreError>
    where
        W: Fn(&mut UnitOfWork<'_>) -> Result<(), Failure> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let command = Command { work: WriteJob::InTransaction(Box::new(work)), reply };
        self.queue.push_deferred(command).map_err(|_| closed_error())?;
        answer.await.unwrap_or_else(|_| Err(closed_error()))
    }

    /// Processes the item together with concurrent ones; returns once it is durable, or not done at all.
    pub(crate) async fn run_batched<B: Batch>(&self, item: B) -> Result<B::Output, StoreError> {
        let result = Slot::default();
        self.submit(WriteJob::Batched(Box::new((item, result.clone())), run_batch::<B>)).await?;
        result.take_result()
    }

    /// Runs the work on the writing connection outside of any transaction, after everything queued before it.
    pub(crate) async fn run_alone<T, W>(&self, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: Fn(&mut UnitOfWork<'_>) -> Result<T, Failure> + Send + 'static,
    {
        let (work, result) = with_result_slot(work);
        self.submit(WriteJob::Alone(work)).await?;
        result.take_result()
    }

    async fn submit(&self, work: WriteJob) -> Result<(), StoreError> {
        let (reply, answer) = oneshot::channel();
        self.queue.push(Command { work, reply }).map_err(|_| closed_error())?;
        answer.await.unwrap_or_else(|_| Err(closed_error()))
    }

    /// Number of commits so far, for benches and tests. Relaxed: nothing else depends on it.
    pub(crate) fn commits(&self) -> u64 {
        self.commits.count.load(Ordering::Relaxed)
    }

    pub(crate) fn stop(&self) {
        self.queue.close();
    }

    /// Waits until the thread has ended; returns at once if another caller has waited already.
    pub(crate) async fn wait_for_end(&self) -> Result<(), StoreError> {
        let finished = self.finished.lock().take();
        match finished {
            Some(finished) => finished.await.unwrap_or_else(|_| Err(closed_error())),
            None => Ok(()),
        }
    }
}

/// Work that stores its result in a slot.
fn with_result_slot<T, W>(work: W) -> (BoxedWork, Slot<T>)
where
    T: Send + 'static,
    W: Fn(&mut UnitOfWork<'_>) -> Result<T, Failure> + Send + 'static,
{
    let result = Slot::default();
    let filled = result.clone();
    let work = move |unit: &mut UnitOfWork<'_>| {
        filled.set_result(work(unit)?);
        Ok(())
    };
    (Box::new(work), result)
}

pub(crate) fn closed_error() -> StoreError {
    StoreError::Failed("the store is closed".to_owned())
}

pub(crate) fn thread_error(error: std::io::Error) -> StoreError {
    StoreError::Failed(format!("no thread could be started: {error}"))
}

/// Runs commands in order: those that can share a transaction together, the others between them.
fn run_commands_in_order(connection: &Connection, commands: Vec<Command>, commits: &Commits) {
    let mut group = Vec::new();
    for mut command in commands {
        let WriteJob::Alone(work) = &mut command.work else {
            group.push(command);
            continue;
        };
        commit_all(connection, std::mem::take(&mut group), commits);
        let work = || work(&mut UnitOfWork { connection, words: Vec::new() });
        let outcome = connection.without_limit(work).map_err(Failure::from).and_then(|outcome| outcome);
        command.answer(outcome.map_err(Failure::into_write_error));
    }
    commit_all(connection, group, commits);
}

/// Commits the group, or if it fails as a whole, each command by itself.
fn commit_all(connection: &Connection, mut group: Vec<Command>, commits: &Commits) {
    if group.is_empty() {
        return;
    }
    let outcomes = match commit_again_if_lost(connection, &mut group, commits) {
        Ok(outcomes) => outcomes,
        Err(failure) => match failure.into_write_error() {
            error
                if group.len() > 1 && !matches!(error, StoreError::Busy(_) | StoreError::Unconfirmed(_)) =>
            {
                tracing::warn!("{} writes failed as a group; retrying them one by one: {error}", group.len());
                group.iter_mut().map(|command| commit_one(connection, command, commits)).collect()
            }
            // Alone it would wait for the other process just as long.
            error => vec![Err(error); group.len()],
        },
    };
    for (command, outcome) in group.into_iter().zip(outcomes) {
        command.answer(outcome);
    }
}

/// Commits the group. If the connection to a server is lost before the commit, repeats it until the server is back.
fn commit_again_if_lost(
    connection: &Connection,
    group: &mut [Command],
    commits: &Commits,
) -> Result<Vec<Result<(), StoreError>>, Failure> {
    let began = Instant::now();
    loop {
        match commit(connection, group, commits) {
            Err(failure) if failure.is_lost_connection() && began.elapsed() < RECONNECT_LIMIT => {
                tracing::warn!(
                    "the database server is not reachable, {} writes are waiting: {failure}",
                    group.len()
                );
                thread::park_timeout(RECONNECT_PAUSE);
            }
            outcome => return outcome,
        }
    }
}

fn commit_one(connection: &Connection, command: &mut Command, commits: &Commits) -> Result<(), StoreError> {
    let outcomes =
        commit(connection, std::slice::from_mut(command), commits).map_err(Failure::into_write_error)?;
    outcomes.into_iter().collect()
}

/// Runs one transaction. A failed command is rolled back alone; an error means that nothing of the group was written.
fn commit(
    connection: &Connection,
    group: &mut [Command],
    commits: &Commits,
) -> Result<Vec<Result<(), StoreError>>, Failure> {
    connection.begin_write()?;
    let outcome = run_all(connection, group).and_then(|(outcomes, words_went)| {
        connection.commit_write()?;
        if words_went {
            commits.frequencies.clear();
        }
        Ok(outcomes)
    });
    match &outcome {
        Ok(_) => _ = commits.count.fetch_add(1, Ordering::Relaxed),
        Err(failure) if failure.is_taken_over() => {
            commits.taken_over.send_replace(true);
            connection.roll_back()?;
        }
        // SQLite rolls back after some failures itself.
        Err(_) if !connection.is_in_transaction() => {}
        Err(_) => connection.roll_back()?,
    }
    outcome
}

/// The result of each command, and true if words were removed from an index.
type CommandResults = (Vec<Result<(), StoreError>>, bool);

fn run_all(connection: &Connection, group: &mut [Command]) -> Result<CommandResults, Failure> {
    let mut unit = UnitOfWork { connection, words: Vec::new() };
    if let [command] = group {
        run(&mut unit, std::slice::from_mut(command))?;
        return Ok((vec![Ok(())], unit.write_words()?));
    }
    let mut outcomes = Vec::with_capacity(group.len());
    for part in
        group.chunk_by_mut(|one, next| one.batch_kind().is_some() && one.batch_kind() == next.batch_kind())
    {
        match run_in_savepoint(&mut unit, part)? {
            Err(_) if part.len() > 1 => {
                for command in part.chunks_mut(1) {
                    outcomes.push(run_in_savepoint(&mut unit, command)?);
                }
            }
            outcome => outcomes.extend(vec![outcome; part.len()]),
        }
    }
    Ok((outcomes, unit.write_words()?))
}

/// Runs one command, or several batched ones, and rolls them back if they fail. An outer error means that the whole
/// transaction must be rolled back.
fn run_in_savepoint(
    unit: &mut UnitOfWork<'_>,
    part: &mut [Command],
) -> Result<Result<(), StoreError>, Failure> {
    let (connection, words_before) = (unit.connection, unit.words.len());
    send(connection, "SAVEPOINT command")?;
    let outcome = match run(unit, part) {
        Err(failure)
            if failure.aborts_transaction()
                || failure.may_belong_to_earlier_statement(connection)
                || !connection.is_in_transaction() =>
        {
            return Err(failure);
        }
        Err(failure) => {
            run_statement(connection, "ROLLBACK TO command")?;
            unit.words.truncate(words_before);
            Err(failure.into_write_error())
        }
        Ok(()) => Ok(()),
    };
    send(connection, "RELEASE command")?;
    Ok(outcome)
}

/// Runs one command, or several batched ones.
fn run(unit: &mut UnitOfWork<'_>, part: &mut [Command]) -> Result<(), Failure> {
    if let [Command { work: WriteJob::InTransaction(work) | WriteJob::Alone(work), .. }] = part {
        return work(unit);
    }
    let batched = part.iter().filter_map(|command| match &command.work {
        WriteJob::Batched(item, run) => Some((item, *run)),
        WriteJob::InTransaction(_) | WriteJob::Alone(_) => None,
    });
    let (items, runs): (Vec<_>, Vec<_>) = batched.unzip();
    runs.first().map_or(Ok(()), |run| run(unit, &items))
}

/// Runs a statement without waiting; a failure is reported later.
fn send(connection: &Connection, statement: &str) -> Result<(), Failure> {
    Ok(connection.prepare_cached(statement)?.send([])?)
}

fn run_statement(connection: &Connection, statement: &str) -> Result<(), Failure> {
    connection.prepare_cached(statement)?.execute([])?;
    Ok(())
}
