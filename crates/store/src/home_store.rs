//! The store: one writing connection, a few reading ones, and caches.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use memory::Scope;
use memory::ports::StoreError;
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::corrections::changes_by_word::ChangesByWord;
use crate::engine::failure::Failure;
use crate::engine::postgres::{self, ProgramHeartbeats, ServerAddress};
use crate::engine::readers::{OpenConnection, Readers};
use crate::engine::sql::Connection;
use crate::engine::writer::{Batch, UnitOfWork, Writer};
use crate::engine::{Check, DaemonEntry, NewDaemon, StoreOptions, check, connection, run_blocking};
use crate::faults::{Faults, operation_of};
use crate::index::vectors::ModelNumbers;
use crate::index::words::Frequencies;
use crate::scopes::{self, KnownScopeNumbers};

/// A home's database, in one SQLite file or on a PostgreSQL server. All ports of [`memory::ports::Store`] are
/// implemented.
///
/// Messages and commits need an existing persona and user
/// ([`ensure_persona`](memory::ports::PersonaStore::ensure_persona),
/// [`ensure_user`](memory::ports::UserStore::ensure_user)); a scope is created with its first row.
pub struct HomeStore {
    /// Empty if the home is not in a file.
    pub(crate) path: PathBuf,
    pub(crate) address: Option<ServerAddress>,
    options: StoreOptions,
    pub(crate) writer: Writer,
    readers: Readers,
    /// Heartbeats, for a home on a server that this program writes.
    presence: Mutex<Option<ProgramHeartbeats>>,
    /// True once another program has taken the home; never for a file.
    taken_over: watch::Sender<bool>,
    /// Locked while a server removes erased words: a second `VACUUM` of the same tables would only wait.
    pub(crate) clearing: tokio::sync::Mutex<()>,
    pub(crate) frequencies: Arc<Frequencies>,
    pub(crate) changes_by_word: Arc<ChangesByWord>,
    pub(crate) scope_numbers: Arc<KnownScopeNumbers>,
    pub(crate) model_numbers: Arc<ModelNumbers>,
    faults: Faults,
}

impl HomeStore {
    /// Opens the database; creates the file, readable by its owner only, and migrates it if needed.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unusable`] if the file is not ours, damaged or of a newer version: it is left unchanged.
    /// [`StoreError::Unwritable`] if it can't be created or migrated.
    pub fn open(path: &Path, options: StoreOptions) -> Result<Self, StoreError> {
        let writing = connection::open_for_writing(path, &options)?;
        let (file, reading) = (path.to_owned(), options.clone());
        let open: OpenConnection =
            Box::new(move || connection::open_for_reading(&file, &reading).map(Into::into));
        let readers = Readers::start(open()?, options.readers, open)?;
        let frequencies = Arc::new(Frequencies::default());
        let taken_over = watch::Sender::new(false);
        let writer = Writer::start(writing.into(), Arc::clone(&frequencies), taken_over.clone())?;
        let changes_by_word = Arc::default();
        Ok(Self {
            path: path.to_owned(),
            address: None,
            writer,
            readers,
            presence: Mutex::default(),
            taken_over,
            clearing: tokio::sync::Mutex::default(),
            options,
            frequencies,
            changes_by_word,
            scope_numbers: Arc::default(),
            model_numbers: Arc::default(),
            faults: Faults::default(),
        })
    }

    /// Opens a database on a PostgreSQL server; creates the schema in an empty one.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unusable`] if the server can't be reached, refuses the user, or the database is not ours or of
    /// another version: it is left unchanged. [`StoreError::Unwritable`] if the server is read-only.
    pub fn open_on_server(address: &ServerAddress, options: StoreOptions) -> Result<Self, StoreError> {
        let opened =
            Self::connect_all(address, options, None, |address| postgres::open_for_writing(address, None))?;
        opened.ok_or_else(|| address.database_in_use_error())
    }

    /// Opens a database on a PostgreSQL server for a daemon; `None` if another program holds it. Other daemons of the
    /// home then see this one.
    ///
    /// # Errors
    ///
    /// As [`open_on_server`](Self::open_on_server), and [`StoreError::Unusable`] if this daemon counts as dead.
    pub fn open_for_daemon(
        address: &ServerAddress,
        options: StoreOptions,
        daemon: &NewDaemon,
    ) -> Result<Option<Self>, StoreError> {
        let open = |address: &ServerAddress| postgres::open_for_writing(address, Some(daemon));
        Self::connect_all(address, options, Some(daemon), open)
    }

    /// Opens a database on a PostgreSQL server for reading, even if another program holds it. Writes fail.
    ///
    /// # Errors
    ///
    /// As [`open_on_server`](Self::open_on_server), and [`StoreError::Unusable`] if the schema is missing or older.
    pub fn open_on_server_to_read(
        address: &ServerAddress,
        options: StoreOptions,
    ) -> Result<Self, StoreError> {
        let open = |address: &ServerAddress| postgres::open_for_reading(address).map(Some);
        Self::connect_all(address, options, None, open)?.ok_or_else(|| address.database_in_use_error())
    }

    /// Returns once another program has taken the home, after which every write fails. Never for a file.
    pub async fn taken_over(&self) {
        // The sender lives as long as this store.
        let _ = self.taken_over.subscribe().wait_for(|taken_over| *taken_over).await;
    }

    /// The daemons that share the home, in the order in which they started; empty for a file.
    pub async fn daemons(&self) -> Result<Vec<DaemonEntry>, StoreError> {
        if !self.is_on_server() {
            return Ok(Vec::new());
        }
        self.read_statement(|connection| Ok(postgres::list_daemons(connection)?)).await
    }

    pub async fn persona_count(&self) -> Result<u64, StoreError> {
        self.read_statement(|connection| {
            let count: i64 = connection.query_row("SELECT count(*) FROM personas", [], |row| row.get(0))?;
            Ok(count.cast_unsigned())
        })
        .await
    }

    /// Tells the other daemons that this one accepts no new work.
    pub async fn refuse_new_work(&self, daemon: &str) -> Result<(), StoreError> {
        let daemon = daemon.to_owned();
        self.write(move |unit| Ok(postgres::drain(unit.connection, &daemon)?)).await
    }

    /// Number of round trips to the server; 0 for a file.
    pub fn round_trips(&self) -> u64 {
        self.address.as_ref().map_or(0, |address| address.round_trips.load(Ordering::Relaxed))
    }

    fn connect_all(
        address: &ServerAddress,
        options: StoreOptions,
        daemon: Option<&NewDaemon>,
        open: impl Fn(&ServerAddress) -> Result<Option<postgres::Server>, StoreError> + Send + Sync,
    ) -> Result<Option<Self>, StoreError> {
        // The driver blocks, which is not allowed on a thread of the runtime.
        let opened = std::thread::scope(|scope| {
            let connect = || {
                let writing = open(address)?;
                writing.map(|writing| Self::connect_each(address, options, writing, daemon)).transpose()
            };
            scope.spawn(connect).join()
        });
        opened.map_err(|_| StoreError::Failed("the thread that connects has ended".to_owned()))?
    }

    fn connect_each(
        address: &ServerAddress,
        options: StoreOptions,
        writing: postgres::Server,
        daemon: Option<&NewDaemon>,
    ) -> Result<Self, StoreError> {
        let limit = options.answer_limit;
        let limited = move |server: postgres::Server| match server.limit_answers(limit) {
            Ok(()) => Ok(server),
            Err(error) => Err(Failure::from(error).into_read_error()),
        };
        let host = address.clone();
        let open: OpenConnection =
            Box::new(move || Ok(Connection::Postgres(Box::new(limited(host.connect()?)?))));
        let writing = limited(writing)?;
        let taken_over = watch::Sender::new(false);
        let presence = writing.program_name().map(|program| {
            let server = limited(address.connect()?)?;
            ProgramHeartbeats::start(server, &program, daemon, taken_over.clone())
        });
        let presence = presence.transpose()?;
        let readers = Readers::start(open()?, options.readers, open)?;
        let frequencies = Arc::new(Frequencies::default());
        let connection = Connection::Postgres(Box::new(writing));
        let writer = Writer::start(connection, Arc::clone(&frequencies), taken_over.clone())?;
        Ok(Self {
            path: PathBuf::new(),
            address: Some(address.clone()),
            writer,
            readers,
            presence: Mutex::new(presence),
            taken_over,
            clearing: tokio::sync::Mutex::default(),
            options,
            frequencies,
            changes_by_word: Arc::default(),
            scope_numbers: Arc::default(),
            model_numbers: Arc::default(),
            faults: Faults::default(),
        })
    }

    /// True if the home is in a database on a server, whose log and copies are its operator's responsibility.
    pub fn is_on_server(&self) -> bool {
        self.address.is_some()
    }

    /// Checks for damage and inconsistent rows. Reads the whole database.
    pub async fn check(&self) -> Result<Check, StoreError> {
        if self.is_on_server() {
            let check = |connection: &Connection| {
                Ok(connection.without_limit(|| check::check_on_server(connection)).and_then(|found| found)?)
            };
            return self.read(check).await;
        }
        let (path, options) = (self.path.clone(), self.options.clone());
        run_blocking(move || check::check(&path, &options)).await
    }

    /// Merges the log into the file and empties it, so that nothing erased is left in it.
    ///
    /// # Errors
    ///
    /// [`StoreError::Busy`] if other connections read or wrote all the time.
    pub async fn checkpoint(&self) -> Result<(), StoreError> {
        if self.is_on_server() {
            return Ok(());
        }
        let (path, options) = (self.path.clone(), self.options.clone());
        run_blocking(move || {
            let connection = connection::open_for_maintenance(&path, &options)?;
            match connection::empty_log(&connection)
                .map_err(|error| Failure::from(error).into_write_error())?
            {
                true => Ok(()),
                false => Err(StoreError::Busy("its log is in use".to_owned())),
            }
        })
        .await
    }

    /// Writes queued items, empties the log and ends the threads. Later calls fail.
    pub async fn close(&self) -> Result<(), StoreError> {
        self.readers.stop();
        self.readers.wait_for_end().await;
        *self.presence.lock() = None;
        // The last connection to close removes the log and its index.
        self.writer.stop();
        self.writer.wait_for_end().await
    }

    /// Limits the file to this many pages of 4 KiB, but not below its present size, until the store is closed. Beyond
    /// the limit, writes fail as on a full disk. Returns the effective limit.
    pub async fn limit_pages(&self, pages: u32) -> Result<u32, StoreError> {
        self.write(move |unit| {
            if unit.connection.sqlite().is_none() {
                return Err(Failure::Refused("only a file can be bounded".to_owned()));
            }
            let statement = format!("PRAGMA max_page_count = {pages}");
            Ok(unit.connection.query_row(&statement, [], |row| row.get(0))?)
        })
        .await
    }

    /// Number of transactions since the store was opened: fewer than the requested writes if these were concurrent.
    pub fn commits(&self) -> u64 {
        self.writer.commits()
    }

    /// Faults that tests plan for operations of this store.
    #[cfg(feature = "faults")]
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    pub(crate) fn write<T, W>(&self, work: W) -> impl Future<Output = Result<T, StoreError>> + Send
    where
        T: Send + 'static,
        W: Fn(&mut UnitOfWork<'_>) -> Result<T, Failure> + Send + 'static,
    {
        self.faults.inject(operation_of::<W>(), self.writer.run(work))
    }

    /// Writes together with the next write; no caller waits for it.
    pub(crate) fn write_deferred<W>(&self, work: W) -> impl Future<Output = Result<(), StoreError>> + Send
    where
        W: Fn(&mut UnitOfWork<'_>) -> Result<(), Failure> + Send + 'static,
    {
        self.faults.inject(operation_of::<W>(), self.writer.run_deferred(work))
    }

    /// Writes the item together with concurrent ones.
    pub(crate) fn write_batched<B: Batch>(
        &self,
        item: B,
    ) -> impl Future<Output = Result<B::Output, StoreError>> + Send {
        self.faults.inject(B::OPERATION, self.writer.run_batched(item))
    }

    pub(crate) fn read<T, W>(&self, work: W) -> impl Future<Output = Result<T, StoreError>> + Send
    where
        T: Send + 'static,
        W: FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
    {
        self.faults.inject(operation_of::<W>(), self.readers.run(true, work))
    }

    /// Reads with one statement, which uses one snapshot without a transaction.
    pub(crate) fn read_statement<T, W>(&self, work: W) -> impl Future<Output = Result<T, StoreError>> + Send
    where
        T: Send + 'static,
        W: FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
    {
        self.faults.inject(operation_of::<W>(), self.readers.run(false, work))
    }

    /// Reads in a scope; if nothing was ever stored in it, the result is empty.
    pub(crate) async fn read_scope<T, W>(&self, scope: &Scope, work: W) -> Result<T, StoreError>
    where
        T: Default + Send + 'static,
        W: FnOnce(&Connection, i64) -> Result<T, Failure> + Send + 'static,
    {
        self.read_scope_or(scope, T::default(), work).await
    }

    /// Reads in a scope with one statement.
    pub(crate) async fn read_scope_statement<T, W>(&self, scope: &Scope, work: W) -> Result<T, StoreError>
    where
        T: Default + Send + 'static,
        W: FnOnce(&Connection, i64) -> Result<T, Failure> + Send + 'static,
    {
        match self.scope_numbers.get(scope).0 {
            Some(number) => {
                let work = move |connection: &Connection| work(connection, number);
                self.faults.inject(operation_of::<W>(), self.readers.run(false, work)).await
            }
            None => self.read_scope(scope, work).await,
        }
    }

    /// Reads in a scope; if nothing was ever stored in it, the result is `nothing`.
    pub(crate) async fn read_scope_or<T, W>(
        &self,
        scope: &Scope,
        nothing: T,
        work: W,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: FnOnce(&Connection, i64) -> Result<T, Failure> + Send + 'static,
    {
        let (number, generation) = self.scope_numbers.get(scope);
        if let Some(number) = number {
            let work = move |connection: &Connection| work(connection, number);
            return self.faults.inject(operation_of::<W>(), self.readers.run(true, work)).await;
        }
        let (scope, numbers) = (scope.clone(), Arc::clone(&self.scope_numbers));
        let find_and_work = move |connection: &Connection| match scopes::number(connection, &scope)? {
            Some(number) => {
                numbers.note(scope, number, generation);
                work(connection, number)
            }
            None => Ok(nothing),
        };
        self.faults.inject(operation_of::<W>(), self.readers.run(true, find_and_work)).await
    }
}

impl Drop for HomeStore {
    /// The threads end by themselves after finishing queued work.
    fn drop(&mut self) {
        self.readers.stop();
        self.writer.stop();
    }
}
