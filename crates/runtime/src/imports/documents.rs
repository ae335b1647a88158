//! Imported documents (projects' files, diaries, letters): each becomes a significant memory of the shared self,
//! which is found when it is relevant. They are not in other prompts, and no facts are extracted from them.

use std::collections::BTreeSet;

use hub::documents::CONTENT_BYTES_MAX;
use hub::names::NAME_LENGTH_MAX;
use hub::{Caller, DiaryName, DocumentName, Hub, HubError};
use import::{Document, Skip};
use jiff::civil::Date;
use memory::Scope;
use memory::identifiers::ImportId;
use memory::ports::{ImportStore, ImportedDocument, StoreError};

use super::record_error::RecordError;

/// Hexadecimal digits of a document's digest in its name: enough to tell apart documents with the same title.
const DIGEST_LENGTH: usize = 8;
/// Documents to write in one transaction. Turns can write between two transactions.
const DOCUMENTS_PER_WRITE: usize = 100;

pub(super) struct ReadDocument {
    pub(super) digest: [u8; 16],
    pub(super) name: DiaryName,
    pub(super) text: String,
    /// File of the document, for a person to find it.
    pub(super) place: String,
}

/// Counts of a page's documents.
#[derive(Default)]
pub(super) struct WrittenDocuments {
    pub(super) written: u64,
    pub(super) already_there: u64,
    pub(super) skips: Vec<Skip>,
}

impl ReadDocument {
    /// Creates the document for its day, else for the day of its file. The error says why it can't be imported.
    pub(super) fn new(document: Document, digest: [u8; 16], file_day: Date) -> Result<Self, Skip> {
        let Document { name, day, text, place, .. } = document;
        if text.len() > CONTENT_BYTES_MAX {
            return Err(Skip {
                place,
                reason: format!("the document is longer than {CONTENT_BYTES_MAX} bytes"),
            });
        }
        if memory::capture::is_blank(&text) {
            return Err(Skip { place, reason: "the document has no text".to_owned() });
        }
        let day = day.unwrap_or(file_day);
        let slug = format!("{}-{}", title_from_file_name(&name, day), &hex::encode(digest)[..DIGEST_LENGTH]);
        match slug.parse() {
            Ok(slug) => Ok(Self { digest, name: DiaryName::Significant(day, slug), text, place }),
            Err(error) => Err(Skip { place, reason: format!("the document's name is invalid: {error}") }),
        }
    }

    fn document_name(&self) -> DocumentName {
        DocumentName::Diary(self.name.clone())
    }
}

/// The name of a file as part of a document's name: `Trip/Packing list.md` becomes `packing-list`. A day at its start
/// is removed, because the document's name begins with it.
fn title_from_file_name(name: &str, day: Date) -> String {
    let file = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    let stem = stem.strip_prefix(&day.to_string()).unwrap_or(stem);
    let mut title = String::new();
    for word in stem.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        if !title.is_empty() {
            title.push('-');
        }
        title.push_str(&word.to_lowercase());
    }
    let title: String = title.chars().take(NAME_LENGTH_MAX - DIGEST_LENGTH - 1).collect();
    let title = title.trim_end_matches('-');
    if title.is_empty() { "document".to_owned() } else { title.to_owned() }
}

/// Writes a page's documents. It can be repeated after a crash.
pub(super) async fn write_documents(
    (store, hub): (&dyn ImportStore, Option<&Hub>),
    run: ImportId,
    scope: &Scope,
    read: Vec<ReadDocument>,
) -> Result<WrittenDocuments, RecordError> {
    let mut outcome = WrittenDocuments::default();
    if read.is_empty() {
        return Ok(outcome);
    }
    let Some(hub) = hub else {
        let reason = "this program accepts no documents";
        outcome.skips = read
            .into_iter()
            .map(|document| Skip { place: document.place, reason: reason.to_owned() })
            .collect();
        return Ok(outcome);
    };
    let mut digests = BTreeSet::new();
    let (read, again): (Vec<_>, Vec<_>) =
        read.into_iter().partition(|document| digests.insert(document.digest));
    let reason = "another document of the files has the same id";
    outcome.skips.extend(again.into_iter().map(|twin| Skip { place: twin.place, reason: reason.to_owned() }));
    let noted = read.iter().map(|document| ImportedDocument {
        digest: document.digest,
        name: document.document_name().to_string(),
    });
    let earlier = store.begin_documents(run, noted.collect()).await?;
    let mut new = Vec::new();
    for document in read {
        match earlier.iter().find(|earlier| earlier.digest == document.digest) {
            None => new.push((document.name, document.text)),
            Some(earlier) if is_changed(hub, scope, &earlier.name, &document.text).await? => {
                let reason =
                    format!("an earlier import has it with another text, which is kept ({})", earlier.name);
                outcome.skips.push(Skip { place: document.place, reason });
            }
            Some(_) => outcome.already_there += 1,
        }
    }
    outcome.written = new.len() as u64;
    let caller = Caller {
        scope: scope.clone(),
        instance: hub.instance_id(),
        is_person: true,
        is_bound: false,
        is_of_one_user: false,
    };
    for group in new.chunks(DOCUMENTS_PER_WRITE) {
        hub.import_documents(&caller, group).await.map_err(store_error)?;
    }
    Ok(outcome)
}

/// True if the document exists with another text. One that a person has deleted is not restored.
async fn is_changed(hub: &Hub, scope: &Scope, name: &str, text: &str) -> Result<bool, StoreError> {
    let Some((kind, file)) = name.split_once('/') else { return Ok(false) };
    let Ok(name) = DocumentName::parse(kind, file.strip_suffix(".md").unwrap_or(file)) else {
        return Ok(false);
    };
    let there = hub.document_read(scope, &name).await.map_err(store_error)?;
    Ok(there.is_some_and(|there| there.content.trim_end() != text.trim_end()))
}

fn store_error(error: HubError) -> StoreError {
    match error {
        HubError::Store(error) => error,
        error => StoreError::Failed(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    fn read(name: &str, text: &str) -> Result<ReadDocument, Skip> {
        let document = Document {
            id: name.to_owned(),
            name: name.to_owned(),
            day: None,
            text: text.to_owned(),
            is_cleaned: false,
            place: name.to_owned(),
        };
        ReadDocument::new(document, [0xab; 16], date(2026, 1, 5))
    }

    #[test]
    fn names_of_documents_are_made_of_the_files_names() {
        for (file, title) in [
            ("Trip/Packing list.md", "packing-list"),
            ("memory/2026-01-05.md", "document"),
            ("memory/2026-01-05-walk.md", "walk"),
            ("给未来的信.txt", "给未来的信"),
            ("...", "document"),
        ] {
            let read = read(file, "text").unwrap_or_else(|skip| panic!("{}", skip.reason));
            assert_eq!(read.name.stem(), format!("2026-01-05_{title}-abababab"), "{file}");
        }
        let long = read(&"x".repeat(300), "text").unwrap_or_else(|skip| panic!("{}", skip.reason));
        assert_eq!(long.name.slug().map(|slug| slug.as_str().len()), Some(NAME_LENGTH_MAX));
    }

    #[test]
    fn documents_without_text_and_those_that_are_too_long_are_skipped_with_the_reason() {
        let reason = |text: &str| read("a.md", text).err().map(|skip| skip.reason);
        assert_eq!(reason(" \n").as_deref(), Some("the document has no text"));
        assert!(reason(&"x".repeat(CONTENT_BYTES_MAX + 1)).is_some_and(|reason| reason.contains("longer")));
    }
}
