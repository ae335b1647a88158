//! The PostgreSQL engine: a connection, its statements and their values.

mod address;
mod daemons;
mod dialect;
mod erased_words;
mod holder;
mod open;
mod standby;
mod streams;
mod tls;
mod values;
mod word_search;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, NoTls, SimpleQueryMessage, Statement};

use crate::engine::sql::error::{Error, Result};
use crate::engine::sql::parameters::{Parameters, params};
use crate::engine::sql::values::FromSql as _;

pub use address::ServerAddress;
pub use daemons::{DaemonEntry, DaemonState, HomeState, NewDaemon, SharedAccess};
pub(crate) use daemons::{drain, list_daemons};
pub(crate) use erased_words::{clear_erased_words, note_cleared};
pub(crate) use holder::ProgramHeartbeats;
pub use open::home_state;
pub(crate) use open::{begin_home, is_empty, is_held, open_for_reading, open_for_writing};
pub use standby::{HomeHolder, Standby};
pub(crate) use values::{ServerRow, SqlValue};
pub(crate) use word_search::TEXT_SEARCH;

/// Records the id of a transaction in the row of its program. The result is not waited for, so the statement itself
/// must fail if the row belongs to another program.
const NOTE_COMMIT: &str = "
    WITH noted AS (
        UPDATE writer SET commits = ?1, seen_at = clock_timestamp() WHERE CAST(program AS TEXT) = ?2 RETURNING number
    )
    SELECT 1 / count(*) FROM noted";
/// Begins a transaction whose reads use one snapshot.
const BEGIN_READ: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
/// Time after which the server ends an idle transaction, for instance of a stopped process. Until then other
/// transactions wait for its locks.
const STANDSTILL_LIMIT: Duration = Duration::from_secs(10);
/// Time for which a program tries to find out about a commit that the server has not confirmed. A failover takes that
/// long.
const CONFIRMATION_LIMIT: Duration = Duration::from_secs(30);
/// Maximum statements to send before waiting for one: bounds the memory of their answers.
const UNANSWERED_MAX: usize = 1_024;
/// Pause between two attempts to reach a server. A starting server refuses at once, so without a pause this would be
/// a busy loop.
const RETRY_PAUSE: Duration = Duration::from_millis(200);

/// The future answer of a statement.
type SentStatement = Pin<Box<dyn Future<Output = Result<(), tokio_postgres::Error>> + Send>>;

/// A connection to a home's database on a server. Its thread blocks for each answer.
pub(crate) struct Server {
    address: ServerAddress,
    /// Drives the connection while the thread blocks.
    runtime: Runtime,
    client: RefCell<Arc<Client>>,
    /// Answers to statements that were sent without waiting.
    sent: RefCell<Vec<SentStatement>>,
    driver: RefCell<JoinHandle<()>>,
    /// Prepared statements by their original text, before translation.
    statements: RefCell<HashMap<String, Statement>>,
    in_transaction: Cell<bool>,
    /// True if a reading transaction has to begin together with the next statement.
    begins_with_next: Cell<bool>,
    /// Number of statements that may be run outside of a transaction; `None` for no limit.
    statements_left: Cell<Option<u32>>,
    /// Time limit of an answer; `None` for no limit.
    answer_limit: Cell<Option<Duration>>,
    /// The program that holds the home, if this connection writes for it.
    program: RefCell<Option<String>>,
    /// Number of the program's last transaction.
    commits: Cell<i64>,
}

impl Server {
    pub(crate) fn connect(address: &ServerAddress) -> Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build().map_err(Error::Thread)?;
        let (client, driver) = runtime.block_on(connect_first(address))?;
        Ok(Self {
            address: address.clone(),
            runtime,
            client: RefCell::new(Arc::new(client)),
            sent: RefCell::default(),
            driver: RefCell::new(driver),
            statements: RefCell::default(),
            in_transaction: Cell::new(false),
            begins_with_next: Cell::new(false),
            statements_left: Cell::new(None),
            answer_limit: Cell::new(None),
            program: RefCell::default(),
            commits: Cell::new(0),
        })
    }

    /// Waits for an answer, and before it for those of earlier statements. One that does not arrive in time ends the
    /// connection, because later answers could not be assigned.
    fn receive<T>(&self, answer: impl Future<Output = Result<T, tokio_postgres::Error>>) -> Result<T> {
        // Only a number for benches and tests.
        self.address.round_trips.fetch_add(1, Ordering::Relaxed);
        let client = self.client.borrow();
        let begins = self.begins_with_next.take();
        let sent = futures_util::future::try_join_all(self.sent.take());
        let answer = async {
            if !begins {
                let (sent, answered) = tokio::join!(sent, answer);
                // After a failed statement the server refuses all others, so the first error is the cause.
                return sent.and(answered);
            }
            // Both are sent before either is waited for.
            let (begun, answered) = tokio::join!(client.batch_execute(BEGIN_READ), answer);
            begun.and(answered)
        };
        let Some(limit) = self.answer_limit.get() else {
            return self.runtime.block_on(answer).map_err(|error| self.explain(error));
        };
        match self.runtime.block_on(async { tokio::time::timeout(limit, answer).await }) {
            Ok(answered) => answered.map_err(|error| self.explain(error)),
            Err(_) => {
                self.close_connection();
                Err(Error::NoAnswer(limit))
            }
        }
    }

    /// Closes the connection. The next transaction opens another one.
    fn close_connection(&self) {
        self.driver.borrow().abort();
        // Lets the aborted task end, which closes the socket.
        self.runtime.block_on(tokio::task::yield_now());
    }

    /// Sets the time limit of answers from now on, also after a reconnect.
    pub(crate) fn limit_answers(&self, limit: Duration) -> Result<()> {
        self.answer_limit.set(Some(limit));
        self.execute_script(&session_settings(limit))
    }

    /// Runs an operation without a time limit, for those that read or rewrite everything.
    pub(crate) fn without_limit<T>(&self, work: impl FnOnce() -> T) -> Result<T> {
        let limit = self.answer_limit.take();
        self.execute_script("SET statement_timeout = 0")?;
        let done = work();
        self.answer_limit.set(limit);
        if let Some(limit) = limit
            && !self.is_lost()
        {
            self.execute_script(&session_settings(limit))?;
        }
        Ok(done)
    }

    pub(crate) fn prepare(&self, statement: &str) -> Result<Statement> {
        if let Some(known) = self.statements.borrow().get(statement) {
            return Ok(known.clone());
        }
        let prepared = self.receive(self.client.borrow().prepare(&dialect::translate(statement)))?;
        self.statements.borrow_mut().insert(statement.to_owned(), prepared.clone());
        Ok(prepared)
    }

    pub(crate) fn execute(&self, statement: &Statement, parameters: impl Parameters) -> Result<usize> {
        let values = to_sql_values(parameters)?;
        let changed = self.receive(self.client.borrow().execute(statement, &as_parameters(&values)))?;
        usize::try_from(changed).map_err(|_| Error::OutOfRange(changed.to_string()))
    }

    pub(crate) fn query(&self, statement: &Statement, parameters: impl Parameters) -> Result<Vec<ServerRow>> {
        match self.statements_left.get() {
            Some(0) => return Err(Error::SecondStatement),
            left => self.statements_left.set(left.map(|left| left - 1)),
        }
        let values = to_sql_values(parameters)?;
        let rows = self.receive(self.client.borrow().query(statement, &as_parameters(&values)))?;
        Ok(rows.into_iter().map(ServerRow::from).collect())
    }

    /// Returns the rows of several queries, which are all sent before the first answer.
    pub(crate) fn query_all(&self, queries: Vec<(Statement, Vec<SqlValue>)>) -> Result<Vec<Vec<ServerRow>>> {
        if queries.is_empty() {
            return Ok(Vec::new());
        }
        if self.statements_left.get().is_some() {
            return Err(Error::SecondStatement);
        }
        let client = self.client.borrow();
        let parameters: Vec<_> = queries.iter().map(|(_, values)| as_parameters(values)).collect();
        let asked = queries.iter().zip(&parameters).map(|((query, _), values)| client.query(query, values));
        let answers = self.receive(futures_util::future::try_join_all(asked))?;
        Ok(answers.into_iter().map(|rows| rows.into_iter().map(ServerRow::from).collect()).collect())
    }

    /// Sends a statement without waiting for its answer. The next [`receive`](Self::receive) does that.
    pub(crate) fn send(&self, statement: &Statement, parameters: impl Parameters) -> Result<()> {
        let values = to_sql_values(parameters)?;
        let (client, statement) = (Arc::clone(&self.client.borrow()), statement.clone());
        self.queue(Box::pin(
            async move { client.execute(&statement, &as_parameters(&values)).await.map(drop) },
        ))
    }

    fn queue(&self, mut answer: SentStatement) -> Result<()> {
        // The first poll passes the statement to the driver, which sends it while something is waited for.
        if let Poll::Ready(answered) = answer.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return Ok(answered?);
        }
        self.sent.borrow_mut().push(answer);
        if self.sent.borrow().len() >= UNANSWERED_MAX { self.receive(async { Ok(()) }) } else { Ok(()) }
    }

    /// Inserts rows, each by a statement of its own; returns their new numbers. All are sent before the first answer.
    pub(crate) fn insert_each(&self, statement: &Statement, rows: Vec<Vec<SqlValue>>) -> Result<Vec<i64>> {
        let last_number = self.prepare("SELECT lastval()")?;
        let client = self.client.borrow();
        let rows: Vec<_> = rows.iter().map(|values| as_parameters(values)).collect();
        let inserted = rows.iter().map(|values| async {
            tokio::try_join!(client.execute(statement, values), client.query_one(&last_number, &[]))
        });
        let inserted = self.receive(futures_util::future::try_join_all(inserted))?;
        let numbers = inserted.into_iter().map(|(changed, row)| match changed {
            1 => Ok(row.try_get(0)?),
            changed => Err(Error::ChangedRows(usize::try_from(changed).unwrap_or(usize::MAX))),
        });
        numbers.collect()
    }

    /// Runs statements of the store, separated by semicolons.
    pub(crate) fn execute_batch(&self, statements: &str) -> Result<()> {
        self.execute_script(&dialect::translate(statements))
    }

    /// Runs statements in PostgreSQL's dialect.
    pub(crate) fn execute_script(&self, statements: &str) -> Result<()> {
        self.receive(self.client.borrow().batch_execute(statements))
    }

    /// Runs statements in PostgreSQL's dialect; returns the number of rows that the last one changed.
    fn change(&self, statements: &str) -> Result<u64> {
        let answers = self.receive(self.client.borrow().simple_query(statements))?;
        let changed = answers.iter().rev().find_map(|answer| match answer {
            SimpleQueryMessage::CommandComplete(changed) => Some(*changed),
            _ => None,
        });
        Ok(changed.unwrap_or(0))
    }

    /// A setting of the session; `None` if it is not set.
    fn setting(&self, name: &str) -> Result<Option<String>> {
        let answers = self
            .receive(self.client.borrow().simple_query(&format!("SELECT current_setting('{name}', true)")))?;
        let value = answers.iter().find_map(|answer| match answer {
            SimpleQueryMessage::Row(row) => row.get(0),
            _ => None,
        });
        Ok(value.map(str::to_owned))
    }

    /// Tracks the effect of a statement on the transaction, which the driver does not report. At the beginning of
    /// one, a lost connection is opened again.
    pub(crate) fn note(&self, statement: &str) -> Result<()> {
        match statement.split_ascii_whitespace().next() {
            Some("BEGIN") => {
                self.reconnect_if_lost()?;
                self.in_transaction.set(true);
            }
            Some("COMMIT") => self.in_transaction.set(false),
            Some("ROLLBACK") if !statement.contains(" TO ") => self.in_transaction.set(false),
            _ => {}
        }
        Ok(())
    }

    pub(crate) fn is_in_transaction(&self) -> bool {
        self.in_transaction.get()
    }

    /// True if the connection was closed by either side.
    pub(crate) fn is_lost(&self) -> bool {
        self.client.borrow().is_closed()
    }

    pub(crate) fn reconnect_if_lost(&self) -> Result<()> {
        if !self.is_lost() {
            return Ok(());
        }
        self.statements.borrow_mut().clear();
        self.sent.take();
        self.in_transaction.set(false);
        let (client, driver) = self.runtime.block_on(connect_first(&self.address))?;
        *self.client.borrow_mut() = Arc::new(client);
        *self.driver.borrow_mut() = driver;
        if let Some(limit) = self.answer_limit.get() {
            self.limit_answers(limit)?;
        }
        tracing::info!("connected to the database again");
        Ok(())
    }

    /// Sets the program for which this connection writes.
    pub(super) fn set_program(&self, program: String) {
        *self.program.borrow_mut() = Some(program);
        self.commits.set(0);
    }

    pub(crate) fn program_name(&self) -> Option<String> {
        self.program.borrow().clone()
    }

    /// Begins a reading transaction, without a round trip.
    pub(crate) fn begin_read(&self) -> Result<()> {
        self.detect_closed_connection();
        self.note("BEGIN")?;
        self.begins_with_next.set(true);
        Ok(())
    }

    /// Prepares for a single reading statement.
    pub(crate) fn begin_statement(&self) -> Result<()> {
        self.detect_closed_connection();
        self.reconnect_if_lost()?;
        self.statements_left.set(Some(1));
        Ok(())
    }

    pub(crate) fn end_statement(&self) {
        self.statements_left.set(None);
    }

    /// Lets the driver notice that the server has closed an idle connection.
    fn detect_closed_connection(&self) {
        self.runtime.block_on(async {
            tokio::task::yield_now().await;
            tokio::task::yield_now().await;
        });
    }

    /// Ends a reading transaction, without waiting for the server.
    pub(crate) fn end_read(&self) {
        self.in_transaction.set(false);
        if self.begins_with_next.take() {
            return;
        }
        let client = self.client.borrow();
        self.runtime.block_on(async {
            let mut ended = pin!(client.batch_execute("ROLLBACK"));
            // The first poll passes it to the driver, which sends it in order. If the connection is lost, the next
            // reader finds out.
            let _sent = futures_util::poll!(&mut ended);
            tokio::task::yield_now().await;
        });
    }

    /// Begins a writing transaction, and records its number. Both are sent with the first statement, whose failure is
    /// interpreted by [`explain`](Self::explain).
    pub(crate) fn begin_write(&self) -> Result<()> {
        self.note("BEGIN")?;
        let Some(program) = self.program_name() else { return self.execute_script("BEGIN") };
        let note = self.prepare(NOTE_COMMIT)?;
        let client = Arc::clone(&self.client.borrow());
        self.queue(Box::pin(async move { client.batch_execute("BEGIN").await }))?;
        self.commits.set(self.commits.get() + 1);
        self.send(&note, params![self.commits.get(), program])
    }

    /// Interprets a failure in a writing transaction: [`Error::InUse`] if another program has taken the home.
    fn explain(&self, error: tokio_postgres::Error) -> Error {
        let state = error.code().filter(|_| self.in_transaction.get() && self.program.borrow().is_some());
        if state == Some(&SqlState::READ_ONLY_SQL_TRANSACTION) {
            // The server has become a replica: another of the hosts accepts writes, or will soon.
            self.in_transaction.set(false);
            self.close_connection();
            return Error::NotCommitted;
        }
        match state {
            Some(state) if *state == SqlState::DIVISION_BY_ZERO => Error::InUse,
            _ => error.into(),
        }
    }

    /// Commits. If the server did not confirm it, finds out what happened.
    ///
    /// # Errors
    ///
    /// [`Error::NotCommitted`] if nothing was written and the work may be repeated, [`Error::MaybeCommitted`] if the
    /// server could not be asked.
    pub(crate) fn commit_write(&self) -> Result<()> {
        // Failures of statements that were not waited for are noticed here, still within the transaction.
        let committed = self.execute_script("COMMIT");
        self.in_transaction.set(false);
        match committed {
            Err(error) if error.is_lost_connection() && self.program.borrow().is_some() => self.find_commit(),
            outcome => outcome,
        }
    }

    fn find_commit(&self) -> Result<()> {
        let began = Instant::now();
        loop {
            match self.last_commit() {
                Ok(Some(number)) if number == self.commits.get() => {
                    tracing::info!("a commit without confirmation was found to be complete");
                    return Ok(());
                }
                Ok(Some(_)) => return Err(Error::NotCommitted),
                // Another program has taken the home.
                Ok(None) => return Err(Error::MaybeCommitted),
                Err(_) if began.elapsed() < CONFIRMATION_LIMIT => thread::park_timeout(RETRY_PAUSE),
                Err(_) => return Err(Error::MaybeCommitted),
            }
        }
    }

    /// Number of the program's last committed transaction. Waits for one that the server is still processing.
    fn last_commit(&self) -> Result<Option<i64>> {
        self.reconnect_if_lost()?;
        let program = self.program_name().unwrap_or_default();
        let last = "SELECT commits FROM writer WHERE CAST(program AS TEXT) = ?1 FOR UPDATE";
        let rows = self.query(&self.prepare(last)?, [program])?;
        rows.first().map(|row| row.get_ref(0).and_then(i64::from_sql)).transpose()
    }

    /// Rolls the transaction back. The server does that itself for a lost connection.
    pub(crate) fn roll_back(&self) -> Result<()> {
        self.in_transaction.set(false);
        self.sent.take();
        match self.execute_script("ROLLBACK") {
            Err(_) if self.is_lost() => Ok(()),
            outcome => outcome,
        }
    }

    pub(crate) fn close(self) -> Result<()> {
        let program = self.program_name();
        program.map_or(Ok(()), |program| self.release(&program))
    }
}

/// Connects to the first host that accepts, and starts a task that drives the connection.
async fn connect_first(address: &ServerAddress) -> Result<(Client, JoinHandle<()>)> {
    let mut outcome = Err(Error::NotCommitted);
    for (host, limit) in address.each_host() {
        outcome = reach_host(address, &host, limit).await;
        if outcome.is_ok() {
            break;
        }
    }
    outcome
}

async fn reach_host(
    address: &ServerAddress,
    host: &Config,
    limit: Duration,
) -> Result<(Client, JoinHandle<()>)> {
    // If the connection ends, every pending request fails, so the result of the task itself is not needed.
    let connecting = async {
        Ok::<_, tokio_postgres::Error>(match &address.tls {
            Some(tls) => {
                let (client, connection) = host.connect(tls.clone()).await?;
                (client, tokio::spawn(async move { drop(connection.await) }))
            }
            None => {
                let (client, connection) = host.connect(NoTls).await?;
                (client, tokio::spawn(async move { drop(connection.await) }))
            }
        })
    };
    Ok(tokio::time::timeout(limit, connecting).await.map_err(|_| Error::NoAnswer(limit))??)
}

/// Planner settings of all connections. Statements look rows up by their keys, few at a time, in the order in which
/// they name the tables. The planner does not know how short the lists in their parameters are, and would prefer to
/// scan whole tables. It also scans a table while it is small, and would keep that plan when the table has grown.
const PLANNER_SETTINGS: &str = "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; \
                     SET random_page_cost = 1.1; SET jit = off; SET plan_cache_mode = force_generic_plan";
/// Compresses long values by LZ4, if the server has it: the receipts of a turn take a third of the time.
const COMPRESSION_SETTING: &str = "SELECT set_config(name, 'lz4', false) FROM pg_settings \
                     WHERE name = 'default_toast_compression' AND 'lz4' = ANY (enumvals)";

/// Settings of a connection. The time limit of the server is shorter than the client's, so that a slow statement is
/// cancelled and the connection stays usable.
fn session_settings(answer: Duration) -> String {
    let (answer, standstill) = ((answer * 5 / 6).as_millis(), STANDSTILL_LIMIT.as_millis());
    format!(
        "SET statement_timeout = {answer}; SET idle_in_transaction_session_timeout = {standstill}; \
         {PLANNER_SETTINGS}; {COMPRESSION_SETTING}"
    )
}

pub(crate) fn to_sql_values(parameters: impl Parameters) -> Result<Vec<SqlValue>> {
    let mut values = Vec::new();
    parameters.bind_each(|value| {
        values.push(SqlValue::from(value));
        Ok(())
    })?;
    Ok(values)
}

fn as_parameters(values: &[SqlValue]) -> Vec<&(dyn ToSql + Sync)> {
    values.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}
