use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read};
use std::path::Path;

use memory::ports::{ArchiveReport, StoreError};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use zip::ZipArchive;

use super::tables::{FILLED_BY_TRIGGERS, TABLES, Table};
use super::values::{Cell, list_columns};
use super::{FORMAT, MANIFEST, Manifest, VERSION};
use crate::engine::connection::open_for_writing;
use crate::engine::failure::Failure;
use crate::engine::sql::{self, Connection, ToSql};
use crate::engine::{StoreOptions, migrate, remove_database_file};
use crate::index::words::with_scope;

/// Maximum bytes of a line of a `.jsonl`. The largest row that EchoVessel writes has 4 MiB; a longer line is damaged,
/// or an attack.
const LINE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Maximum bytes of a picture or manifest. Pictures have 4 MiB at most; the manifest of a large home has a few.
const WHOLE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Reads the manifest of an archive; `None` if the file is not an archive.
pub fn inspect_archive(path: &Path) -> Option<ArchiveReport> {
    let mut zip = ZipArchive::new(BufReader::new(File::open(path).ok()?)).ok()?;
    let manifest = read_manifest(&mut zip).ok()?;
    let count = |table: &str| {
        let name = format!("data/{table}.jsonl");
        manifest.files.iter().find(|file| file.name == name).map_or(0, |file| file.count)
    };
    Some(ArchiveReport {
        messages: count("recall_messages"),
        nodes: count("concept_nodes"),
        documents: count("hub_documents"),
    })
}

/// Creates a database from an archive: the same rows with the same ids. Texts are indexed again; vectors are computed
/// while the program runs.
///
/// # Errors
///
/// [`StoreError::Unusable`] if the archive is damaged, of a newer version, or not an archive;
/// [`StoreError::Unwritable`] if the database can't be written. Nothing is left at `database` then.
pub fn read_archive(archive: &Path, database: &Path) -> Result<ArchiveReport, StoreError> {
    if database.exists() {
        return Err(StoreError::Unwritable(format!("{} exists", database.display())));
    }
    let outcome = read_into(archive, database);
    if outcome.is_err() {
        let _removed = remove_database_file(database);
    }
    outcome
}

fn unusable_archive(archive: &Path, reason: impl std::fmt::Display) -> StoreError {
    StoreError::Unusable(format!("{}: {reason}; nothing was changed", archive.display()))
}

fn read_into(archive: &Path, database: &Path) -> Result<ArchiveReport, StoreError> {
    let file = File::open(archive).map_err(|error| unusable_archive(archive, error))?;
    let mut zip = ZipArchive::new(BufReader::new(file)).map_err(|error| unusable_archive(archive, error))?;
    let manifest = read_manifest(&mut zip).map_err(|error| unusable_archive(archive, error))?;
    if manifest.version > VERSION {
        return Err(unusable_archive(
            archive,
            format!("it has version {}, but this program reads version {VERSION}", manifest.version),
        ));
    }
    let connection = Connection::from(open_for_writing(database, &StoreOptions::default())?);
    let written = |error: sql::Error| Failure::from(error).into_write_error();
    let own = migrate::recorded_version(&connection).map_err(written)?;
    if manifest.schema > own {
        return Err(unusable_archive(
            archive,
            format!("it has schema {}, but this program reads schema {own}", manifest.schema),
        ));
    }
    connection.execute_batch("PRAGMA foreign_keys = OFF; BEGIN IMMEDIATE;").map_err(written)?;
    let mut reader =
        ArchiveReader { connection: &connection, digests: HashMap::new(), pictures: HashMap::new() };
    let report = reader.read(&mut zip).map_err(|error| match error {
        ReadError::Database(error) => written(error),
        ReadError::Archive(reason) => unusable_archive(archive, reason),
    })?;
    for file in &manifest.files {
        let found = reader.digests.get(&file.name);
        if found.is_none_or(|digest| *digest != file.sha256) {
            return Err(unusable_archive(archive, format!("{} is missing or damaged", file.name)));
        }
    }
    let broken: u64 = connection
        .query_row("SELECT count(*) FROM pragma_foreign_key_check", [], |row| row.get(0))
        .map_err(written)?;
    if broken > 0 {
        return Err(unusable_archive(archive, format!("{broken} rows refer to missing rows")));
    }
    connection.execute_batch("COMMIT; PRAGMA wal_checkpoint(TRUNCATE);").map_err(written)?;
    Ok(report)
}

type Zip = ZipArchive<BufReader<File>>;

fn read_manifest(zip: &mut Zip) -> Result<Manifest, String> {
    let entry =
        zip.by_name(MANIFEST).map_err(|_| "it has no manifest.json: it is not an archive".to_owned())?;
    let manifest: Manifest = serde_json::from_reader(entry.take(WHOLE_BYTES_MAX))
        .map_err(|error| format!("manifest.json can't be read: {error}"))?;
    match manifest.format == FORMAT {
        true => Ok(manifest),
        false => Err("it belongs to another program".to_owned()),
    }
}

enum ReadError {
    Database(sql::Error),
    Archive(String),
}

impl From<sql::Error> for ReadError {
    fn from(error: sql::Error) -> Self {
        Self::Database(error)
    }
}

struct ArchiveReader<'a> {
    connection: &'a Connection,
    /// SHA-256 of every entry, in hexadecimal.
    digests: HashMap<String, String>,
    pictures: HashMap<String, Vec<u8>>,
}

impl ArchiveReader<'_> {
    fn read(&mut self, zip: &mut Zip) -> Result<ArchiveReport, ReadError> {
        let damaged = |error: &dyn std::fmt::Display| ReadError::Archive(error.to_string());
        let names = zip.file_names().map(|name| name.map(std::borrow::Cow::into_owned));
        let names: Vec<String> = names.collect::<Result<_, _>>().map_err(|error| damaged(&error))?;
        for name in names.iter().filter(|name| !name.starts_with("data/") && *name != MANIFEST) {
            let entry = zip.by_name(name).map_err(|error| damaged(&error))?;
            let mut bytes = Vec::new();
            entry.take(WHOLE_BYTES_MAX).read_to_end(&mut bytes).map_err(|error| damaged(&error))?;
            self.digests.insert(name.clone(), hex::encode(Sha256::digest(&bytes)));
            if name.starts_with("pictures/") {
                self.pictures.insert(name.clone(), bytes);
            }
        }
        let mut report = ArchiveReport::default();
        for table in TABLES {
            let name = format!("data/{}.jsonl", table.name);
            // An older version had fewer tables.
            let Ok(entry) = zip.by_name(&name) else { continue };
            let count = self.read_rows(table, &name, entry)?;
            match table.name {
                "recall_messages" => report.messages = count,
                "concept_nodes" => report.nodes = count,
                "hub_documents" => report.documents = count,
                _ => {}
            }
        }
        index_words(self.connection)?;
        Ok(report)
    }

    fn read_rows(&mut self, table: &Table, name: &str, entry: impl Read) -> Result<u64, ReadError> {
        if FILLED_BY_TRIGGERS.contains(&table.name) {
            self.connection.execute(&format!("DELETE FROM \"{}\"", table.name), [])?;
        }
        let columns = list_columns(self.connection, table.name)?;
        let mut lines = BufReader::new(entry);
        let (mut digest, mut count, mut line) = (Sha256::new(), 0_u64, Vec::new());
        loop {
            line.clear();
            let damaged = |reason: &dyn std::fmt::Display| {
                ReadError::Archive(format!("{name}, line {}: {reason}", count + 1))
            };
            let read = (&mut lines).take(LINE_BYTES_MAX).read_until(b'\n', &mut line);
            if read.map_err(|error| damaged(&error))? == 0 {
                break;
            }
            digest.update(&line);
            let fields: Map<String, Value> =
                serde_json::from_slice(&line).map_err(|error| damaged(&error))?;
            let (mut names, mut cells) = (Vec::new(), Vec::new());
            for (field, value) in &fields {
                let column = columns.iter().find(|column| column.name == *field);
                let column = column.ok_or_else(|| damaged(&format!("unknown field {field:?}")))?;
                let cell = match (field.as_str(), value.as_str()) {
                    ("image", Some(picture)) => self.pictures.get(picture).cloned().map(Cell::Blob),
                    _ => column.read_json(value),
                };
                names.push(format!("\"{field}\""));
                cells.push(cell.ok_or_else(|| damaged(&format!("{field}: invalid value")))?);
            }
            let bound: Vec<&dyn ToSql> = cells.iter().map(|cell| cell as &dyn ToSql).collect();
            let places = vec!["?"; cells.len()].join(", ");
            let sql = format!("INSERT INTO \"{}\" ({}) VALUES ({places})", table.name, names.join(", "));
            let inserted = self.connection.prepare_cached(&sql)?.execute(bound.as_slice());
            inserted.map_err(|error| damaged(&error))?;
            count += 1;
        }
        self.digests.insert(name.to_owned(), hex::encode(digest.finalize()));
        Ok(count)
    }
}

/// Indexes the texts of all messages and nodes.
pub(crate) fn index_words(connection: &Connection) -> sql::Result<()> {
    for (words, table) in [("message_words", "recall_messages"), ("node_words", "concept_nodes")] {
        let mut insert =
            connection.prepare_cached(&format!("INSERT INTO \"{words}\" (rowid, terms) VALUES (?1, ?2)"))?;
        let mut statement = connection.prepare_cached(&format!(
            "SELECT seq, scope, terms FROM \"{table}\" WHERE deleted_at IS NULL AND terms <> ''"
        ))?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let terms: String = row.get(2)?;
            insert.execute((row.get::<i64>(0)?, with_scope(row.get(1)?, &terms)))?;
        }
    }
    Ok(())
}
