use std::io::{self, Write};

use jiff::Timestamp;
use memory::PersonaId;
use memory::ports::{ArchiveReport, StoreError};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use zip::ZipWriter;
use zip::write::{SimpleFileOptions, StreamWriter};

use super::tables::{TABLES, Table};
use super::values::{Column, list_columns};
use super::{FORMAT, MANIFEST, Manifest, ManifestFile, VERSION};
use crate::engine::failure::Failure;
use crate::engine::migrate;
use crate::engine::sql::{self, Connection, Row, ToSql, ValueRef};

/// Writes an archive of the state that a read transaction sees.
pub(crate) fn write_archive<W: Write>(
    connection: &Connection,
    persona: Option<&PersonaId>,
    at: Timestamp,
    out: W,
) -> Result<ArchiveReport, StoreError> {
    let read = |error: sql::Error| Failure::from(error).into_read_error();
    let mut archive = Archive {
        connection,
        persona: persona.map(PersonaId::as_str),
        zip: ZipWriter::new_stream(out),
        files: Vec::new(),
        report: ArchiveReport::default(),
    };
    archive.write(at).map_err(|error| match error {
        WriteError::Database(error) => read(error),
        WriteError::Output(error) => StoreError::Unwritable(format!("the archive: {error}")),
    })?;
    let report = archive.report;
    let unwritable = |error: zip::result::ZipError| StoreError::Unwritable(format!("the archive: {error}"));
    archive.zip.finish().map_err(unwritable)?;
    Ok(report)
}

#[derive(Debug, thiserror::Error)]
enum WriteError {
    #[error(transparent)]
    Database(#[from] sql::Error),
    #[error(transparent)]
    Output(#[from] io::Error),
}

impl From<zip::result::ZipError> for WriteError {
    fn from(error: zip::result::ZipError) -> Self {
        Self::Output(error.into())
    }
}

impl From<serde_json::Error> for WriteError {
    fn from(error: serde_json::Error) -> Self {
        Self::Output(error.into())
    }
}

struct Archive<'a, W: Write> {
    connection: &'a Connection,
    persona: Option<&'a str>,
    zip: ZipWriter<StreamWriter<W>>,
    files: Vec<ManifestFile>,
    report: ArchiveReport,
}

/// An entry that counts and digests what is written.
struct Entry<'a, W> {
    out: &'a mut W,
    digest: Sha256,
    bytes: u64,
}

impl<W: Write> Write for Entry<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.digest.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl<W: Write> Archive<'_, W> {
    fn write(&mut self, at: Timestamp) -> Result<(), WriteError> {
        self.write_pictures()?;
        for table in TABLES {
            self.write_rows(table)?;
        }
        self.documents()?;
        let manifest = Manifest {
            format: FORMAT.to_owned(),
            version: VERSION,
            schema: migrate::recorded_version(self.connection)?,
            created_at: at.to_string(),
            persona_id: self.persona.map(str::to_owned),
            files: std::mem::take(&mut self.files),
        };
        self.zip.start_file(MANIFEST, options())?;
        serde_json::to_writer_pretty(&mut self.zip, &manifest)?;
        Ok(())
    }

    fn entry(
        &mut self,
        name: String,
        content: impl FnOnce(&mut Entry<'_, ZipWriter<StreamWriter<W>>>) -> Result<u64, WriteError>,
    ) -> Result<u64, WriteError> {
        self.zip.start_file(name.as_str(), options())?;
        let mut entry = Entry { out: &mut self.zip, digest: Sha256::new(), bytes: 0 };
        let count = content(&mut entry)?;
        let sha256 = hex::encode(entry.digest.finalize());
        self.files.push(ManifestFile { name, count, bytes: entry.bytes, sha256 });
        Ok(count)
    }

    fn write_rows(&mut self, table: &Table) -> Result<(), WriteError> {
        let (connection, persona) = (self.connection, self.persona);
        let columns: Vec<Column> = list_columns(connection, table.name)?
            .into_iter()
            .filter(|column| !table.without.contains(&column.name.as_str()))
            .collect();
        let count = self.entry(format!("data/{}.jsonl", table.name), |entry| {
            each_row(connection, table, &columns, persona, |row| {
                let mut fields = Map::new();
                for (at, column) in columns.iter().enumerate() {
                    let cell = row.get_ref(at)?;
                    let value = match cell {
                        ValueRef::Blob(_) if column.name == "image" => picture_name(row, &columns)?.into(),
                        cell => column.to_json(cell),
                    };
                    fields.insert(column.name.clone(), value);
                }
                serde_json::to_writer(&mut *entry, &Value::Object(fields))?;
                Ok(entry.write_all(b"\n")?)
            })
        })?;
        match table.name {
            "recall_messages" => self.report.messages = count,
            "concept_nodes" => self.report.nodes = count,
            "hub_documents" => self.report.documents = count,
            _ => {}
        }
        Ok(())
    }

    fn write_pictures(&mut self) -> Result<(), WriteError> {
        let Some(table) = TABLES.iter().find(|table| table.name == "persona_avatars") else { return Ok(()) };
        let (connection, persona) = (self.connection, self.persona);
        let columns = list_columns(connection, table.name)?;
        let mut pictures = Vec::new();
        each_row(connection, table, &columns, persona, |row| {
            pictures.push((picture_name(row, &columns)?, row.get::<Vec<u8>>(place_of(&columns, "image"))?));
            Ok(())
        })?;
        for (name, image) in pictures {
            self.entry(name, |entry| {
                entry.write_all(&image)?;
                Ok(1)
            })?;
        }
        Ok(())
    }

    /// Writes the shown documents as files for people; the rows contain them too.
    fn documents(&mut self) -> Result<(), WriteError> {
        let connection = self.connection;
        let mut statement = connection.prepare_cached(
            "SELECT d.number, d.persona_id, d.user_id, d.kind, d.stem, v.content
             FROM hub_documents d JOIN hub_versions v ON v.document = d.number AND v.state = 'shown'
             WHERE v.content IS NOT NULL AND (?1 IS NULL OR d.persona_id = ?1) ORDER BY d.number",
        )?;
        let mut rows = statement.query([self.persona])?;
        while let Some(row) = rows.next()? {
            let part = |column: usize| -> sql::Result<String> {
                Ok(safe_name(&row.get::<Option<String>>(column)?.unwrap_or_else(|| "everyone".to_owned())))
            };
            let number: i64 = row.get(0)?;
            let name = format!("documents/{}/{}/{}/{}-{number}.md", part(1)?, part(2)?, part(3)?, part(4)?);
            let content: String = row.get(5)?;
            self.entry(name, |entry| {
                entry.write_all(content.as_bytes())?;
                Ok(1)
            })?;
        }
        Ok(())
    }
}

fn options() -> SimpleFileOptions {
    SimpleFileOptions::default().large_file(true)
}

/// Calls `each` for the rows of the persona, or all rows, in the table's order; returns their number.
fn each_row(
    connection: &Connection,
    table: &Table,
    columns: &[Column],
    persona: Option<&str>,
    mut each: impl FnMut(&Row<'_>) -> Result<(), WriteError>,
) -> Result<u64, WriteError> {
    let names: Vec<String> = columns.iter().map(|column| format!("\"{}\"", column.name)).collect();
    let condition = persona.map_or_else(|| "TRUE".to_owned(), |_| table.persona_condition());
    let sql = format!("SELECT {} FROM \"{}\" WHERE {condition}", names.join(", "), table.name);
    let bound: Vec<&dyn ToSql> = match &persona {
        Some(persona) if condition.contains("?1") => vec![persona],
        _ => Vec::new(),
    };
    let mut count = 0;
    connection.each_row(&sql, bound.as_slice(), |row| {
        count += 1;
        each(row)
    })?;
    Ok(count)
}

/// File name of a picture, from its digest: ids of personas may have any characters.
fn picture_name(row: &Row<'_>, columns: &[Column]) -> sql::Result<String> {
    let text = |column| row.get::<String>(place_of(columns, column));
    let (persona, extension) = (text("persona_id")?, text("extension")?);
    let digest = hex::encode(&Sha256::digest(persona.as_bytes())[..8]);
    Ok(format!("pictures/{}-{digest}.{extension}", safe_name(&persona)))
}

fn place_of(columns: &[Column], name: &str) -> usize {
    columns.iter().position(|column| column.name == name).unwrap_or(columns.len())
}

/// Keeps letters and digits of every script, and replaces the rest by `-`.
fn safe_name(text: &str) -> String {
    let letters =
        text.chars().map(|letter| if letter.is_alphanumeric() || letter == '_' { letter } else { '-' });
    letters.take(64).collect()
}
