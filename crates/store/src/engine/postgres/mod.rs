//! The engine of PostgreSQL: a connection, its statements and their values.

mod address;
mod dialect;
mod open;
mod streams;
mod values;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use postgres::error::SqlState;
use postgres::types::ToSql;
use postgres::{Client, Config, NoTls, Statement};

use crate::engine::sql::{Error, Parameters, Result, WordDialect};

pub use address::ServerAddress;
pub(crate) use open::{begin_home, in_use, is_empty, open_for_reading, open_for_writing};
use values::Owned;
pub(crate) use values::ServerRow;

/// Of a longer term only so many characters are in the word index, whose terms have at most 2,046 bytes.
const TERM_CHARACTERS: usize = 500;

/// Phrases as `tsquery`: each term quoted, quotes and backslashes doubled.
pub(crate) const TEXT_SEARCH: WordDialect = WordDialect {
    phrase: |terms, is_prefix| {
        let quoted = |term: &str| {
            let term: String = term.chars().take(TERM_CHARACTERS).collect();
            format!("'{}'", term.replace('\\', "\\\\").replace('\'', "''"))
        };
        let terms = terms.split(' ').map(quoted).collect::<Vec<_>>().join(" <-> ");
        format!("({terms}{})", if is_prefix { ":*" } else { "" })
    },
    or: " | ",
    and: " & ",
};

/// A connection to a home's database on a server.
pub(crate) struct Server {
    configuration: Config,
    client: RefCell<Client>,
    /// By the text that the store wrote, not by the server's.
    statements: RefCell<HashMap<String, Statement>>,
    in_transaction: Cell<bool>,
    /// True if the connection holds the database for one program, also after a reconnect.
    is_exclusive: Cell<bool>,
}

/// Any number that no other program is likely to lock: `EVsl` and `home`.
const HOME_LOCK: i64 = 0x4556_736C_686F_6D65;

impl Server {
    pub(crate) fn connect(configuration: &Config) -> Result<Self> {
        let client = configuration.connect(NoTls)?;
        Ok(Self {
            configuration: configuration.clone(),
            client: RefCell::new(client),
            statements: RefCell::default(),
            in_transaction: Cell::new(false),
            is_exclusive: Cell::new(false),
        })
    }

    pub(crate) fn prepare(&self, statement: &str) -> Result<Statement> {
        if let Some(known) = self.statements.borrow().get(statement) {
            return Ok(known.clone());
        }
        let prepared = self.client.borrow_mut().prepare(&dialect::translate(statement))?;
        self.statements.borrow_mut().insert(statement.to_owned(), prepared.clone());
        Ok(prepared)
    }

    pub(crate) fn execute(&self, statement: &Statement, parameters: impl Parameters) -> Result<usize> {
        let values = owned(parameters)?;
        let changed = self.client.borrow_mut().execute(statement, &borrowed(&values))?;
        usize::try_from(changed).map_err(|_| Error::OutOfRange(changed.to_string()))
    }

    pub(crate) fn query(&self, statement: &Statement, parameters: impl Parameters) -> Result<Vec<ServerRow>> {
        let values = owned(parameters)?;
        let rows = self.client.borrow_mut().query(statement, &borrowed(&values))?;
        Ok(rows.into_iter().map(ServerRow::from).collect())
    }

    /// The number that the last insert in this session was given.
    pub(crate) fn last_number(&self) -> Result<i64> {
        Ok(self.client.borrow_mut().query_one("SELECT lastval()", &[])?.try_get(0)?)
    }

    /// Runs statements of the store, separated by semicolons.
    pub(crate) fn execute_batch(&self, statements: &str) -> Result<()> {
        self.execute_script(&dialect::translate(statements))
    }

    /// Runs statements that are written for PostgreSQL.
    pub(crate) fn execute_script(&self, statements: &str) -> Result<()> {
        Ok(self.client.borrow_mut().batch_execute(statements)?)
    }

    /// Notes what a statement does to the transaction, which the protocol's client does not say. Where one begins, a
    /// connection that was lost is made again.
    pub(crate) fn note(&self, statement: &str) -> Result<()> {
        match statement.split_ascii_whitespace().next() {
            Some("BEGIN") => {
                if self.client.borrow().is_closed() {
                    self.statements.borrow_mut().clear();
                    let mut client = self.configuration.connect(NoTls)?;
                    if self.is_exclusive.get() && !lock(&mut client)? {
                        return Err(Error::InUse);
                    }
                    *self.client.borrow_mut() = client;
                    tracing::info!("connected to the database again");
                }
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

    /// Holds the database for this program as long as the connection lasts; false if another program has it.
    pub(crate) fn lock(&self) -> Result<bool> {
        self.is_exclusive.set(true);
        lock(&mut self.client.borrow_mut())
    }

    pub(crate) fn close(self) -> Result<()> {
        Ok(self.client.into_inner().close()?)
    }
}

/// Waits a moment: the server may not have noticed yet that the program before was killed.
fn lock(client: &mut Client) -> Result<bool> {
    client.batch_execute("SET lock_timeout = '5s'")?;
    let locked = client.query_one("SELECT pg_advisory_lock($1)", &[&HOME_LOCK]);
    client.batch_execute("SET lock_timeout = 0")?;
    match locked {
        Ok(_) => Ok(true),
        Err(error) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn owned(parameters: impl Parameters) -> Result<Vec<Owned>> {
    let mut values = Vec::new();
    parameters.each(|value| {
        values.push(Owned::from(value));
        Ok(())
    })?;
    Ok(values)
}

fn borrowed(values: &[Owned]) -> Vec<&(dyn ToSql + Sync)> {
    values.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}
