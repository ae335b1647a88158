//! The whole hub in one file, and back: all of it or nothing.

mod reading;

use std::collections::BTreeMap;
use std::io::{Cursor, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::documents::core_block_of;
use crate::door::archive::{ArchiveCounts, EntityExport, EntityImport, EntityImported};
use crate::error::HubError;
use crate::hub::{Caller, Hub};
use crate::mirror::{FrontMatter, MirroredText, digest};
use crate::names::DocumentName;
use crate::port::DocumentFilter;

/// Largest archive that is taken, in bytes.
pub(crate) const ARCHIVE_BYTES_MAX: usize = 50 * 1024 * 1024;
/// What an archive of ours says it is.
const FORMAT: &str = "echovessel-hub";
/// The layout that is written. Version 1 is the compatible one, which is read too.
const SCHEMA_VERSION: u32 = 2;
const MANIFEST: &str = "manifest.json";
const LABELS: &str = "identity-meta.json";

/// What an archive says that it holds.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Manifest {
    schema_version: u32,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    format: String,
    exported_at: String,
    counts: ArchiveCounts,
    /// SHA-256 of every file, by path.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    files: BTreeMap<String, String>,
}

/// A document of an archive.
struct Archived {
    name: DocumentName,
    text: String,
}

impl Hub {
    /// The documents that are shown, with their metadata and labels, in one archive.
    pub async fn entity_export(&self, caller: &Caller) -> Result<EntityExport, HubError> {
        let scope = &caller.scope;
        let filter = DocumentFilter { deleted: false, ..DocumentFilter::everything() };
        let documents = self.inner().parts.store.documents(scope, filter).await?;
        let labels = self.inner().parts.store.labels(scope).await?;
        let labels: BTreeMap<String, String> =
            labels.into_iter().map(|(name, label)| (name.to_string(), label)).collect();
        let mut files: BTreeMap<String, String> = BTreeMap::new();
        let mut counts = ArchiveCounts::default();
        for document in &documents {
            let (Some(shown), Some(content)) = (document.shown(), document.content()) else { continue };
            files.insert(document.name.path(), FrontMatter::of(document, shown).file(content));
            match document.name {
                DocumentName::Identity(..) => counts.identity_files += 1,
                DocumentName::Memory(_) => counts.memory_entries += 1,
            }
        }
        files.insert(LABELS.to_owned(), serde_json::to_string_pretty(&labels).unwrap_or_default());
        let now = self.now();
        let manifest = Manifest {
            schema_version: SCHEMA_VERSION,
            format: FORMAT.to_owned(),
            exported_at: now.to_string(),
            counts,
            files: files.iter().map(|(path, text)| (path.clone(), digest(text))).collect(),
        };
        files.insert(MANIFEST.to_owned(), serde_json::to_string_pretty(&manifest).unwrap_or_default());
        let bytes = packed(files).map_err(|error| HubError::Mirror(error.to_string()))?;
        let filename = format!("echovessel-{}.zip", now.strftime("%Y-%m-%d"));
        Ok(EntityExport { success: true, data: STANDARD.encode(bytes), filename, counts })
    }

    /// Takes an archive of ours or of the compatible layout. What it holds takes the place of what is there, which stays
    /// as versions; what it does not hold stays. If anything in it is not as its manifest says, nothing is taken.
    pub async fn entity_import(
        &self,
        caller: &Caller,
        input: EntityImport,
    ) -> Result<EntityImported, HubError> {
        let refused = |message: String| EntityImported {
            success: false,
            message: format!("{message}; nothing was taken"),
            counts: ArchiveCounts::default(),
        };
        if input.data.len() / 4 * 3 > ARCHIVE_BYTES_MAX {
            return Ok(refused(format!("the archive is larger than {ARCHIVE_BYTES_MAX} bytes")));
        }
        let Ok(bytes) = STANDARD.decode(input.data.trim()) else {
            return Ok(refused("`data` is not base64".to_owned()));
        };
        let read = tokio::task::spawn_blocking(move || reading::read(bytes)).await;
        let (archived, labels, counts) = match read {
            Ok(Ok(read)) => read,
            Ok(Err(reason)) => return Ok(refused(reason)),
            Err(error) => return Ok(refused(error.to_string())),
        };
        let _turn = self.turn().await;
        loop {
            let mut act = self.begin(caller).await?;
            let mut left = Vec::new();
            for archived in &archived {
                let file = MirroredText::parse(&archived.text);
                let before = self.document(&caller.scope, &archived.name).await?;
                let heads = before.map(|document| document.heads).unwrap_or_default();
                if heads.first().is_some_and(|shown| shown.content.as_deref() == Some(file.content)) {
                    continue;
                }
                if act.check(&archived.name, Some(file.content)).is_err() {
                    if core_block_of(&archived.name, &caller.scope).is_none() {
                        return Ok(refused(format!("{} is too long", archived.name)));
                    }
                    left.push(archived.name.to_string());
                    continue;
                }
                let mut version = act.successor(&heads, Some(file.content.to_owned()));
                if let Some(front) = &file.front_matter {
                    version.author = front.source_instance.clone();
                    version.chat_ids.extend(front.chat_ids.iter().cloned());
                    version.participants.extend(front.participating_instances.iter().cloned());
                }
                version.edited_by = "import".to_owned();
                act.write(&archived.name, vec![version]);
            }
            for write in &mut act.commit.documents {
                write.prompt_label = labels.get(&write.name).cloned();
            }
            if act.save().await? {
                let mut message = format!(
                    "took {} identity files and {} memories",
                    counts.identity_files, counts.memory_entries
                );
                if !left.is_empty() {
                    message.push_str(&format!(
                        "; left as they are, because only people write them: {}",
                        left.join(", ")
                    ));
                }
                return Ok(EntityImported { success: true, message, counts });
            }
        }
    }
}

fn packed(files: BTreeMap<String, String>) -> zip::result::ZipResult<Vec<u8>> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (path, text) in files {
        archive.start_file(path, SimpleFileOptions::default())?;
        archive.write_all(text.as_bytes())?;
    }
    Ok(archive.finish()?.into_inner())
}
