//! Reads bytes to items for the tests.

use std::io::{Cursor, Write};

use import::{
    FieldNames, FoundItem, ImportPreview, Input, Item, Message, ReadOptions, ReadPosition, Skip, Sources,
    preview, read,
};

pub(crate) fn sources(name: &str, bytes: impl AsRef<[u8]>) -> Sources {
    Sources::open(&[Input::Bytes { name: name.to_owned(), bytes: bytes.as_ref().into() }]).unwrap()
}

pub(crate) fn found(sources: &Sources) -> Vec<FoundItem> {
    read(sources, &ReadOptions::default(), ReadPosition::default()).unwrap().map(Result::unwrap).collect()
}

pub(crate) fn items(name: &str, bytes: impl AsRef<[u8]>) -> Vec<Item> {
    found(&sources(name, bytes)).into_iter().map(|found| found.item).collect()
}

pub(crate) fn items_as(format: &str, name: &str, bytes: impl AsRef<[u8]>) -> Vec<Item> {
    let options = ReadOptions { format: Some(format.to_owned()), ..ReadOptions::default() };
    let sources = sources(name, bytes);
    read(&sources, &options, ReadPosition::default()).unwrap().map(|found| found.unwrap().item).collect()
}

/// Reads with field names as on the command line.
pub(crate) fn items_by(fields: &[&str], name: &str, bytes: impl AsRef<[u8]>) -> Vec<Item> {
    let fields = FieldNames::parse(fields.iter().copied()).unwrap();
    let options = ReadOptions { fields, ..ReadOptions::default() };
    let sources = sources(name, bytes);
    read(&sources, &options, ReadPosition::default()).unwrap().map(|found| found.unwrap().item).collect()
}

pub(crate) fn messages(items: &[Item]) -> Vec<&Message> {
    items
        .iter()
        .filter_map(|item| if let Item::Message(message) = item { Some(&**message) } else { None })
        .collect()
}

pub(crate) fn skips(items: &[Item]) -> Vec<&Skip> {
    items.iter().filter_map(|item| if let Item::Skip(skip) = item { Some(skip) } else { None }).collect()
}

/// `speaker: text` of each message.
pub(crate) fn talk(items: &[Item]) -> Vec<String> {
    messages(items).iter().map(|message| format!("{}: {}", message.speaker, message.text)).collect()
}

/// The times of the messages as text.
pub(crate) fn times(items: &[Item]) -> Vec<String> {
    messages(items).iter().map(|message| message.time.to_string()).collect()
}

pub(crate) fn inspect_upload(name: &str, bytes: impl AsRef<[u8]>) -> ImportPreview {
    preview(&sources(name, bytes), &ReadOptions::default()).unwrap()
}

pub(crate) fn zip(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        archive.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

/// A PNG file of these chunks. Checksums are not valid.
pub(crate) fn png(chunks: &[(&[u8; 4], &[u8])]) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
    for (kind, data) in chunks {
        bytes.extend(u32::try_from(data.len()).unwrap().to_be_bytes());
        bytes.extend(*kind);
        bytes.extend(*data);
        bytes.extend([0; 4]);
    }
    bytes
}
