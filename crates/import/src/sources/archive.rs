//! Zip archives: listed by their directory, with each entry as a bounded stream. Nothing is unpacked to disk, and an
//! entry's name is only for display.

use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::sync::Arc;

use flate2::bufread::DeflateDecoder;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use zip::{CompressionMethod, ZipArchive};

use super::{ReadSeek, Source, SourcePlace, Sources};
use crate::error::ImportError;
use crate::limits::{NESTED_ZIP_BYTES_MAX, SOURCES_MAX, ZIP_ENTRY_BYTES_MIN, ZIP_RATIO_MAX};

/// Position of an entry's bytes.
#[derive(Debug)]
pub(super) struct EntryPlace {
    archive: Source,
    start: u64,
    compressed: u64,
    is_deflated: bool,
}

impl EntryPlace {
    pub(super) fn open(&self) -> io::Result<Box<dyn Read + Send>> {
        let mut file =
            self.archive.open_seekable()?.ok_or_else(|| io::Error::other("archive in an archive"))?;
        file.seek(SeekFrom::Start(self.start))?;
        let bytes = BufReader::new(file).take(self.compressed);
        if !self.is_deflated {
            return Ok(Box::new(bytes));
        }
        let left = (self.compressed.saturating_mul(ZIP_RATIO_MAX)).max(ZIP_ENTRY_BYTES_MIN);
        Ok(Box::new(BoundedReader { reader: DeflateDecoder::new(bytes), left }))
    }
}

/// A reader that fails when an entry expands beyond its limit.
struct BoundedReader<R> {
    reader: R,
    left: u64,
}

impl<R: Read> Read for BoundedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.left = self.left.checked_sub(count as u64).ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::InvalidData,
                format!("it expands to more than {ZIP_RATIO_MAX} times its compressed size"),
            )
        })?;
        Ok(count)
    }
}

/// Adds the source, or the content of a zip archive. `depth` is the number of archives around it.
pub(super) fn add_or_expand(source: Source, depth: usize, sources: &mut Sources) -> Result<(), ImportError> {
    let mut magic = [0; 4];
    let length = read_up_to(&mut source.open()?, &mut magic).map_err(ImportError::io(&source.name))?;
    if length < 4 || !matches!(&magic, b"PK\x03\x04" | b"PK\x05\x06") {
        return sources.push(source);
    }
    let source = match &source.place {
        SourcePlace::Entry(_) if depth > 1 => {
            return sources.skip_place(source.name, "it is an archive in an archive in an archive");
        }
        SourcePlace::Entry(_) => {
            let left = NESTED_ZIP_BYTES_MAX.saturating_sub(sources.nested_bytes);
            match source.read_whole(usize::try_from(left).unwrap_or(usize::MAX)) {
                Ok(Some(bytes)) => {
                    sources.nested_bytes += bytes.len() as u64;
                    Source { place: SourcePlace::Bytes(bytes.into()), ..source }
                }
                Ok(None) => {
                    let reason = format!(
                        "nested archives may have at most {NESTED_ZIP_BYTES_MAX} bytes in total; import it \
                            separately"
                    );
                    return sources.skip_place(source.name, reason);
                }
                Err(error) => return sources.skip_place(source.name, format!("it is damaged: {error}")),
            }
        }
        SourcePlace::File(_) | SourcePlace::Bytes(_) => source,
    };
    let opened = source.open_seekable().map_err(ImportError::io(&source.name))?;
    let Some(file) = opened else { return Ok(()) };
    match ZipArchive::new(BufReader::new(file)) {
        Ok(archive) if archive.len() > SOURCES_MAX => Err(ImportError::TooManySources { max: SOURCES_MAX }),
        Ok(archive) => expand_archive(&source, archive, depth, sources),
        Err(error) => {
            sources.skip_place(source.name, format!("it is not a zip archive that can be read: {error}"))
        }
    }
}

/// The time of an entry. Archives store local time without a zone; a year before 1981 means that the time is missing.
fn entry_time(time: zip::DateTime) -> Option<Timestamp> {
    let field = |number: u8| i8::try_from(number).ok();
    let at = jiff::civil::DateTime::new(
        i16::try_from(time.year()).ok()?,
        field(time.month())?,
        field(time.day())?,
        field(time.hour())?,
        field(time.minute())?,
        field(time.second())?,
        0,
    );
    let at = at.ok().filter(|at| at.year() > 1980)?;
    Some(at.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

fn expand_archive(
    source: &Source,
    mut archive: ZipArchive<BufReader<Box<dyn ReadSeek>>>,
    depth: usize,
    sources: &mut Sources,
) -> Result<(), ImportError> {
    let mut entries = Vec::new();
    let mut compressed_total = 0u64;
    for index in 0..archive.len() {
        let entry = match archive.by_index_raw(index) {
            Ok(entry) => entry,
            Err(error) => {
                sources.skip_place(
                    format!("{}, entry {}", source.name, index + 1),
                    format!("it is damaged: {error}"),
                )?;
                continue;
            }
        };
        if entry.is_dir() {
            continue;
        }
        let shown = entry.name().map_or_else(|_| format!("entry {}", index + 1), |name| clean_name(&name));
        let name = format!("{}/{shown}", source.name);
        if shown.starts_with("__MACOSX/") || shown.ends_with(".DS_Store") {
            continue;
        }
        let is_deflated = match entry.compression() {
            CompressionMethod::Stored => false,
            CompressionMethod::Deflated => true,
            other => {
                sources.skip_place(name, format!("its compression ({other:?}) is not supported"))?;
                continue;
            }
        };
        if entry.encrypted() {
            sources.skip_place(name, "it is locked with a password; unlock it and import again")?;
            continue;
        }
        let Some(start) = entry.data_start() else { continue };
        let compressed = entry.compressed_size();
        compressed_total = compressed_total.saturating_add(compressed);
        let place = EntryPlace { archive: source.clone(), start, compressed, is_deflated };
        let modified = entry.last_modified().and_then(entry_time).or(source.modified);
        entries.push(Source {
            name,
            size: entry.size(),
            modified,
            place: SourcePlace::Entry(Arc::new(place)),
        });
    }
    if compressed_total > source.size.max(source_length(source)) {
        return sources.skip_place(&source.name, "its entries overlap, so it is not a valid archive");
    }
    for entry in entries {
        match add_or_expand(entry.clone(), depth + 1, sources) {
            Err(ImportError::Io { reason: error, .. }) => {
                sources.skip_place(entry.name, format!("it is damaged: {error}"))?;
            }
            result => result?,
        }
    }
    Ok(())
}

fn source_length(source: &Source) -> u64 {
    match &source.place {
        SourcePlace::Bytes(bytes) => bytes.len() as u64,
        SourcePlace::File(_) | SourcePlace::Entry(_) => 0,
    }
}

/// The name without characters that could leave a folder or break a line; for display only.
fn clean_name(name: &str) -> String {
    let parts = name.split(['/', '\\']).map(str::trim).filter(|part| !matches!(*part, "" | "." | ".."));
    let joined: String =
        parts.collect::<Vec<_>>().join("/").chars().filter(|c| !c.is_control()).take(1024).collect();
    if joined.is_empty() { "unnamed".to_owned() } else { joined }
}

/// Fills the buffer, or as much of it as there are bytes left.
fn read_up_to(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
