//! Parses an archive within limits, and checks every name and count.

mod export;

use std::collections::BTreeMap;
use std::io::{Cursor, Read as _};

use zip::ZipArchive;

use super::{
    ARCHIVE_BYTES_MAX, ArchivedDocument, Contents, ENTITY_CORE_VERSION, FORMAT, LABELS, MANIFEST, Manifest,
    SCHEMA_VERSION,
};
use crate::api::archive::ArchiveCounts;
use crate::documents::CONTENT_BYTES_MAX;
use crate::memories::slug_from_title;
use crate::mirror::digest;
use crate::names::{DiaryName, DocumentName, Granularity};

/// Maximum files of an archive: each takes memory before a byte of it is read.
const FILES_MAX: usize = 100_000;
/// Maximum bytes of all files unpacked: a small archive can unpack to any size.
const UNPACKED_MAX: u64 = 8 * ARCHIVE_BYTES_MAX as u64;
/// Largest manifest or list of labels. They are read whole.
const INDEX_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Bytes allowed for the front matter of a file, in addition to its content. It holds names and dates, in files of
/// other programs also lists of tags.
const FRONT_MATTER_ROOM: u64 = 64 * 1024;

/// Checks the size of an archive and the sizes of its unpacked files. The error says which limit is exceeded.
pub(super) fn check_sizes(bytes: usize, sizes: &[u64]) -> Result<(), String> {
    let (unpacked, largest) = (sizes.iter().sum::<u64>(), sizes.iter().max().copied().unwrap_or(0));
    let bounds = [
        ("it has", bytes as u64, "bytes", ARCHIVE_BYTES_MAX as u64),
        ("it holds", sizes.len() as u64, "files", FILES_MAX as u64),
        ("its files have", unpacked, "bytes unpacked", UNPACKED_MAX),
        ("its largest file has", largest, "bytes unpacked", INDEX_BYTES_MAX),
    ];
    match bounds.into_iter().find(|(_, found, _, most)| found > most) {
        None => Ok(()),
        Some((what, found, unit, most)) => Err(format!("{what} {found} {unit}; the limit is {most}")),
    }
}

/// Parses an archive of the hub, or one in entity-core's layout, which holds only the shown documents.
pub(super) fn read(bytes: Vec<u8>) -> Result<Contents, String> {
    let files = unpack(bytes)?;
    let manifest = files.get(MANIFEST).ok_or("it has no manifest.json")?;
    let manifest: Manifest =
        serde_json::from_str(manifest).map_err(|error| format!("its manifest is invalid: {error}"))?;
    let is_ours = match (manifest.schema_version, manifest.format.as_str()) {
        (SCHEMA_VERSION, FORMAT) => true,
        (ENTITY_CORE_VERSION, _) => false,
        (version, _) => return Err(format!("its schema_version {version} is not supported")),
    };
    if is_ours {
        check_digests(&files, &manifest)?;
    }
    let shown = shown_documents(&files, is_ours)?;
    let labels = labels(&files, is_ours)?;
    let whole = if is_ours { Some(export::read(&files, &shown, &labels)?) } else { None };
    let found = match &whole {
        Some(whole) => super::count_entries(whole),
        None => documents_of(&shown),
    };
    let stated = match whole {
        Some(_) => manifest.counts,
        // The graph of that layout is a database, which is not read.
        None => ArchiveCounts {
            identity_files: manifest.counts.identity_files,
            memory_entries: manifest.counts.memory_entries,
            ..ArchiveCounts::default()
        },
    };
    if found != stated {
        return Err(format!("its manifest says {stated:?}, but it contains {found:?}"));
    }
    Ok(Contents { shown, labels, counts: found, whole })
}

fn documents_of(shown: &[ArchivedDocument]) -> ArchiveCounts {
    let identity_files = shown.iter().filter(|one| matches!(one.name, DocumentName::Identity(..))).count();
    let memory_entries = shown.len() - identity_files;
    ArchiveCounts { identity_files, memory_entries, ..ArchiveCounts::default() }
}

/// The documents that are shown.
fn shown_documents(files: &BTreeMap<String, String>, is_ours: bool) -> Result<Vec<ArchivedDocument>, String> {
    let mut archived = BTreeMap::new();
    for (path, text) in files {
        let Some(inner) = document_path(path, is_ours) else { continue };
        let name = document_name(inner, text).map_err(|reason| format!("{path}: {reason}"))?;
        if archived.insert(name.clone(), ArchivedDocument { name, text: text.clone() }).is_some() {
            return Err(format!("{path} occurs twice"));
        }
    }
    Ok(archived.into_values().collect())
}

/// Unpacks all files as texts, without the single folder that may contain them all. A graph database is not a text
/// and is skipped.
fn unpack(bytes: Vec<u8>) -> Result<BTreeMap<String, String>, String> {
    let mut archive =
        ZipArchive::new(Cursor::new(bytes)).map_err(|error| format!("it is not a zip archive: {error}"))?;
    if archive.len() > FILES_MAX {
        return Err(format!("it contains more than {FILES_MAX} files"));
    }
    let mut files = BTreeMap::new();
    let mut left = UNPACKED_MAX;
    for index in 0..archive.len() {
        let file = archive.by_index(index).map_err(|error| format!("it is damaged: {error}"))?;
        let name = file.name().map_err(|error| format!("it contains a damaged name: {error}"))?;
        let path = name.replace('\\', "/");
        if !(path.ends_with(".md") || path.ends_with(".json")) || path.ends_with("graph-export.json") {
            continue;
        }
        let most = match path.ends_with(".json") {
            true => INDEX_BYTES_MAX,
            false => CONTENT_BYTES_MAX as u64 + FRONT_MATTER_ROOM,
        };
        let mut content = Vec::new();
        file.take(most.min(left) + 1)
            .read_to_end(&mut content)
            .map_err(|error| format!("{path} is damaged: {error}"))?;
        if content.len() as u64 > most.min(left) {
            return Err(format!("{path} is too large"));
        }
        left -= content.len() as u64;
        let text = String::from_utf8(content).map_err(|_| format!("{path} is not UTF-8"))?;
        files.insert(path, text);
    }
    Ok(strip_outer_folder(files))
}

fn strip_outer_folder(files: BTreeMap<String, String>) -> BTreeMap<String, String> {
    let wrapped = files.keys().find_map(|path| path.strip_suffix(MANIFEST).map(str::to_owned));
    match wrapped.filter(|prefix| !prefix.is_empty() && prefix.matches('/').count() == 1) {
        Some(prefix) => files
            .into_iter()
            .filter_map(|(path, text)| Some((path.strip_prefix(&prefix)?.to_owned(), text)))
            .collect(),
        None => files,
    }
}

fn check_digests(files: &BTreeMap<String, String>, manifest: &Manifest) -> Result<(), String> {
    for (path, expected) in &manifest.files {
        match files.get(path) {
            Some(text) if digest(text) == *expected => {}
            Some(_) => return Err(format!("{path} differs from its manifest")),
            None => return Err(format!("{path} is missing")),
        }
    }
    match files.keys().find(|path| *path != MANIFEST && !manifest.files.contains_key(*path)) {
        Some(path) => Err(format!("{path} is not in its manifest")),
        None => Ok(()),
    }
}

/// `kind/file` of a document's path; `None` for other files.
fn document_path(path: &str, is_ours: bool) -> Option<&str> {
    let path = if is_ours { path } else { path.strip_prefix("entity-core/")? };
    path.strip_prefix("identity/")
        .or_else(|| path.strip_prefix("memories/"))
        .filter(|path| path.ends_with(".md"))
}

fn document_name(path: &str, text: &str) -> Result<DocumentName, String> {
    let (kind, file) = path.split_once('/').ok_or("it is not in a folder of a document kind")?;
    let stem = file.strip_suffix(".md").unwrap_or(file);
    let parsed = DocumentName::parse(kind, stem);
    // entity-core's layout has no slugs, so they are made from the titles.
    if parsed.is_err() && kind == "significant" && stem.len() == 10 {
        let slug = slug_from_title(text).map_err(|error| error.to_string())?;
        return DiaryName::parse(Granularity::Significant, &format!("{stem}_{slug}"))
            .map(DocumentName::Diary)
            .map_err(|error| error.to_string());
    }
    parsed.map_err(|error| error.to_string())
}

fn labels(files: &BTreeMap<String, String>, is_ours: bool) -> Result<BTreeMap<DocumentName, String>, String> {
    let path = if is_ours { LABELS.to_owned() } else { format!("entity-core/{LABELS}") };
    let Some(text) = files.get(&path) else { return Ok(BTreeMap::new()) };
    let labels: BTreeMap<String, String> =
        serde_json::from_str(text).map_err(|error| format!("{path} can't be read: {error}"))?;
    Ok(labels
        .into_iter()
        .filter_map(|(name, label)| {
            let (kind, file) = name.split_once('/')?;
            Some((DocumentName::parse(kind, file.strip_suffix(".md")?).ok()?, label))
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_beyond_the_limits_are_not_written() {
        let most = (ARCHIVE_BYTES_MAX, vec![INDEX_BYTES_MAX; 6]);
        assert_eq!(check_sizes(most.0, &most.1), Ok(()));
        let refusal = |bytes: usize, sizes: &[u64]| check_sizes(bytes, sizes).unwrap_err();
        assert_eq!(refusal(most.0 + 1, &most.1), "it has 52428801 bytes; the limit is 52428800");
        assert_eq!(refusal(1, &vec![1; FILES_MAX + 1]), "it holds 100001 files; the limit is 100000");
        assert!(refusal(1, &[INDEX_BYTES_MAX; 7]).starts_with("its files have 469762048 bytes unpacked"));
        assert!(refusal(1, &[INDEX_BYTES_MAX + 1]).starts_with("its largest file has"));
    }
}
