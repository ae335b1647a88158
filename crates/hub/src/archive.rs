//! Export and import of a whole hub as one zip archive.
//!
//! Every shown document is a Markdown file with front matter, as in the home's folders. `history/` contains every
//! version, deletion and conflict, `graph.json` nodes and edges, `state.json` version vectors, instances and
//! snapshots. The manifest counts them and has the digest of every file.

mod reading;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Cursor, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::api::archive::{ArchiveCounts, EntityExport, EntityImport, EntityImported};
use crate::documents::core_block_of;
use crate::error::HubError;
use crate::export::{DocumentHistory, ErasedName, ExportedEdge, ExportedNode, HubExport};
use crate::mirror::{FrontMatter, MirroredText, digest};
use crate::names::DocumentName;
use crate::ports::{Instance, Snapshot};
use crate::service::{Caller, Hub};
use crate::transaction::{HubTransaction, check_caller_access};
use crate::version_vector::VersionVector;

/// Largest archive to make or accept, in bytes: it is held in memory whole.
pub const ARCHIVE_BYTES_MAX: usize = 50 * 1024 * 1024;
/// `format` of the hub's own archives.
const FORMAT: &str = "echovessel-hub";
/// `schema_version` of the hub's own archives.
const SCHEMA_VERSION: u32 = 3;
/// `schema_version` of entity-core's layout, which has no `format`. It is read, never written.
const ENTITY_CORE_VERSION: u32 = 1;
const MANIFEST: &str = "manifest.json";
const LABELS: &str = "identity-meta.json";
const GRAPH: &str = "graph.json";
const STATE: &str = "state.json";
const HISTORY: &str = "history/";

/// The manifest of an archive.
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

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct ArchivedGraph {
    nodes: Vec<ExportedNode>,
    edges: Vec<ExportedEdge>,
}

/// A snapshot in `state.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ArchivedSnapshot {
    id: String,
    kind: String,
    stem: String,
    content: String,
    created_at: Timestamp,
    reason: String,
    source: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ArchivedState {
    seen: VersionVector,
    seen_of_persona: VersionVector,
    instances: Vec<Instance>,
    snapshots: Vec<ArchivedSnapshot>,
    erased: Vec<ErasedName>,
    erased_of_persona: Vec<ErasedName>,
}

/// The shown version of a document in an archive.
#[derive(Clone, Debug)]
struct ArchivedDocument {
    name: DocumentName,
    text: String,
}

/// The contents of a parsed archive.
#[derive(Clone, Debug, Default)]
struct Contents {
    shown: Vec<ArchivedDocument>,
    labels: BTreeMap<DocumentName, String>,
    counts: ArchiveCounts,
    /// Histories, graph and state; `None` in entity-core's layout.
    whole: Option<HubExport>,
}

impl Hub {
    /// Exports everything that the hub stores for the persona and the user as one archive.
    ///
    /// # Errors
    ///
    /// When the archive would be too large to import again, and when the store fails.
    pub async fn entity_export(&self, caller: &Caller) -> Result<EntityExport, HubError> {
        let mut whole = self.shared_parts().parts.store.export_hub(&caller.scope).await?;
        whole.documents.retain(|(name, _)| self.may_read(caller, name));
        whole.labels.retain(|(name, _)| self.may_read(caller, name));
        whole.snapshots.retain(|snapshot| self.may_read(caller, &snapshot.name));
        let now = self.now();
        let packed = tokio::task::spawn_blocking(move || pack_export(&whole, now)).await;
        let packed = packed.map_err(std::io::Error::other).and_then(|packed| packed);
        let PackedArchive { bytes, counts, sizes } =
            packed.map_err(|error| HubError::Mirror(error.to_string()))?;
        if let Err(reason) = reading::check_sizes(bytes.len(), &sizes) {
            return Err(HubError::Refused(format!(
                "the archive could not be imported again, because {reason}; no archive was written and \
                    nothing was changed. To move to another machine, stop EchoVessel and copy its home \
                    folder, which contains everything"
            )));
        }
        let filename = format!("echovessel-{}.zip", now.strftime("%Y-%m-%d"));
        Ok(EntityExport { success: true, data: STANDARD.encode(bytes), filename, counts })
    }

    /// Imports an archive of the hub or in entity-core's layout. A document that is new here comes with its history;
    /// for an existing one the archive's text becomes the current version, and the text before stays a version.
    /// Documents that are not in the archive stay. If any file differs from the manifest, nothing is imported.
    pub async fn entity_import(
        &self,
        caller: &Caller,
        input: EntityImport,
    ) -> Result<EntityImported, HubError> {
        if input.data.len() / 4 * 3 > ARCHIVE_BYTES_MAX {
            return Ok(refused_import(format!("the archive is larger than {ARCHIVE_BYTES_MAX} bytes")));
        }
        let Ok(bytes) = STANDARD.decode(input.data.trim()) else {
            return Ok(refused_import("`data` is not base64".to_owned()));
        };
        let contents = match tokio::task::spawn_blocking(move || reading::read(bytes)).await {
            Ok(Ok(contents)) => contents,
            Ok(Err(reason)) => return Ok(refused_import(reason)),
            Err(error) => return Ok(refused_import(error.to_string())),
        };
        let _turn = self.lock_writes().await;
        loop {
            let mut act = self.begin(caller).await?;
            let mut taken = match act.prepare_import(&contents).await? {
                Ok(taken) => taken,
                Err(reason) => return Ok(refused_import(reason)),
            };
            let here = self.shared_parts().parts.store.document_outlines(&caller.scope, 0).await?;
            let is_kept = |name: &DocumentName| contents.shown.iter().all(|archived| archived.name != *name);
            taken.kept = here.iter().filter(|here| !here.is_deleted && is_kept(&here.name)).count();
            if act.commit().await? {
                return Ok(import_result(&contents.counts, &taken));
            }
        }
    }
}

/// Changes that an import makes to existing documents.
#[derive(Default)]
struct ImportedDocuments {
    /// Number of documents whose text is replaced; it stays as a version.
    replaced: usize,
    /// Number of documents that the archive does not contain; they stay as they are.
    kept: usize,
    /// Names of documents that are skipped because only people write them.
    of_people: BTreeSet<String>,
    /// Names of documents that are skipped because they belong to all users, and the caller acts for one.
    of_all_users: BTreeSet<String>,
}

impl HubTransaction<'_> {
    /// Prepares the import of an archive. Returns its effect on documents, or why nothing can be imported.
    async fn prepare_import(
        &mut self,
        contents: &Contents,
    ) -> Result<Result<ImportedDocuments, String>, HubError> {
        let mut taken = ImportedDocuments::default();
        let mut restored = contents.whole.clone();
        let mut new = BTreeSet::new();
        let caller = self.caller;
        let is_in_reach = |name: &DocumentName| check_caller_access(caller, name).is_ok();
        if let Some(whole) = &mut restored {
            whole.documents.retain(|(name, _)| is_in_reach(name));
            whole.labels.retain(|(name, _)| is_in_reach(name));
            whole.snapshots.retain(|snapshot| is_in_reach(&snapshot.name));
            if caller.is_of_one_user {
                whole.instances.clear();
                whole.seen_of_persona = VersionVector::default();
                whole.erased_of_persona.clear();
            }
            let mut documents = Vec::with_capacity(whole.documents.len());
            for (name, history) in std::mem::take(&mut whole.documents) {
                let is_refused = history
                    .versions
                    .iter()
                    .find_map(|kept| self.check(&name, kept.version.content.as_deref()).err());
                if let Some(error) = is_refused {
                    if core_block_of(&name, &self.caller.scope).is_none() {
                        return Ok(Err(error.to_string()));
                    }
                } else if self.hub.document(&self.caller.scope, &name).await?.is_none() {
                    new.insert(name.clone());
                    documents.push((name, history));
                }
            }
            whole.documents = documents;
            whole.labels.retain(|(name, _)| core_block_of(name, &self.caller.scope).is_none());
        }
        self.commit.restored = restored.map(Box::new);
        for archived in contents.shown.iter().filter(|archived| !new.contains(&archived.name)) {
            if !is_in_reach(&archived.name) {
                taken.of_all_users.insert(archived.name.to_string());
                continue;
            }
            let file = MirroredText::parse(&archived.text);
            let before = self.hub.document(&self.caller.scope, &archived.name).await?;
            let heads = before.map(|document| document.heads).unwrap_or_default();
            if heads.first().is_some_and(|shown| shown.content.as_deref() == Some(file.content)) {
                continue;
            }
            if self.check(&archived.name, Some(file.content)).is_err() {
                if core_block_of(&archived.name, &self.caller.scope).is_none() {
                    return Ok(Err(format!("{} is too long", archived.name)));
                }
                taken.of_people.insert(archived.name.to_string());
                continue;
            }
            taken.replaced += usize::from(!heads.is_empty());
            let (mut version, beside) = self.edit(heads, Some(file.content.to_owned()));
            if let Some(front) = &file.front_matter {
                version.author = front.source_instance.clone();
                version.chat_ids.extend(front.chat_ids.iter().cloned());
                version.participants.extend(front.participating_instances.iter().cloned());
            }
            version.edited_by = "import".to_owned();
            self.write_edit(&archived.name, version, beside);
        }
        for write in &mut self.commit.documents {
            write.prompt_label = contents.labels.get(&write.name).cloned();
        }
        Ok(Ok(taken))
    }
}

fn refused_import(message: String) -> EntityImported {
    EntityImported {
        success: false,
        message: format!("{message}; nothing was imported"),
        counts: ArchiveCounts::default(),
    }
}

fn import_result(counts: &ArchiveCounts, taken: &ImportedDocuments) -> EntityImported {
    let mut message = format!(
        "imported {} identity files, {} memories, {} nodes and {} edges",
        counts.identity_files, counts.memory_entries, counts.graph_nodes, counts.graph_edges
    );
    message.push_str(&format!(
        "; replaced the text of {} documents, which is kept as a version; {} documents that are not in the \
            archive are unchanged",
        taken.replaced, taken.kept
    ));
    for (left, reason) in [
        (&taken.of_people, "only people write them"),
        (&taken.of_all_users, "they belong to all users, and this token is bound to one"),
    ] {
        if !left.is_empty() {
            let names: Vec<&str> = left.iter().map(String::as_str).collect();
            message.push_str(&format!("; unchanged, because {reason}: {}", names.join(", ")));
        }
    }
    EntityImported { success: true, message, counts: *counts }
}

struct PackedArchive {
    bytes: Vec<u8>,
    counts: ArchiveCounts,
    /// Size of each unpacked file, in bytes.
    sizes: Vec<u64>,
}

fn pack_export(whole: &HubExport, now: Timestamp) -> std::io::Result<PackedArchive> {
    let labels: BTreeMap<&DocumentName, &String> =
        whole.labels.iter().map(|(name, label)| (name, label)).collect();
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    for (name, history) in &whole.documents {
        files.insert(history_path(name), to_json(history)?);
        let Some(shown) = history.shown_version() else { continue };
        if let Some(content) = &shown.content {
            let label = labels.get(name).map(|label| (*label).clone());
            files.insert(
                name.path(),
                FrontMatter::for_version(shown, label, history.created_at).file_with_text(content),
            );
        }
    }
    let named: BTreeMap<String, &String> =
        labels.into_iter().map(|(name, label)| (name.to_string(), label)).collect();
    files.insert(LABELS.to_owned(), to_json(&named)?);
    files.insert(
        GRAPH.to_owned(),
        to_json(&ArchivedGraph { nodes: whole.nodes.clone(), edges: whole.edges.clone() })?,
    );
    files.insert(STATE.to_owned(), to_json(&archived_state(whole))?);
    let counts = count_entries(whole);
    let manifest = Manifest {
        schema_version: SCHEMA_VERSION,
        format: FORMAT.to_owned(),
        exported_at: now.to_string(),
        counts,
        files: files.iter().map(|(path, text)| (path.clone(), digest(text))).collect(),
    };
    files.insert(MANIFEST.to_owned(), to_json(&manifest)?);
    let sizes = files.values().map(|text| text.len() as u64).collect();
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (path, text) in files {
        archive.start_file(path, SimpleFileOptions::default())?;
        archive.write_all(text.as_bytes())?;
    }
    Ok(PackedArchive { bytes: archive.finish()?.into_inner(), counts, sizes })
}

fn to_json(value: &impl Serialize) -> std::io::Result<String> {
    Ok(serde_json::to_string_pretty(value)?)
}

fn history_path(name: &DocumentName) -> String {
    format!("{HISTORY}{}/{}.json", name.kind(), name.stem())
}

fn count_entries(whole: &HubExport) -> ArchiveCounts {
    let is_shown =
        |history: &&DocumentHistory| history.shown_version().is_some_and(|shown| shown.content.is_some());
    let histories = || whole.documents.iter().map(|(_, history)| history);
    let identity = whole.documents.iter().filter(|(name, _)| matches!(name, DocumentName::Identity(..)));
    let identity_files = identity.map(|(_, history)| history).filter(is_shown).count();
    let shown = histories().filter(is_shown).count();
    ArchiveCounts {
        identity_files,
        memory_entries: shown - identity_files,
        versions: histories().map(|history| history.versions.len()).sum(),
        deleted: whole.documents.len() - shown,
        conflicts: histories().map(|history| history.conflicts.len()).sum(),
        graph_nodes: whole.nodes.len(),
        graph_edges: whole.edges.len(),
    }
}

fn archived_state(whole: &HubExport) -> ArchivedState {
    let archived = |snapshot: &Snapshot| ArchivedSnapshot {
        id: snapshot.id.clone(),
        kind: snapshot.name.kind().to_owned(),
        stem: snapshot.name.stem(),
        content: snapshot.content.clone(),
        created_at: snapshot.created_at,
        reason: snapshot.reason.clone(),
        source: snapshot.source.clone(),
    };
    ArchivedState {
        seen: whole.seen.clone(),
        seen_of_persona: whole.seen_of_persona.clone(),
        instances: whole.instances.clone(),
        snapshots: whole.snapshots.iter().map(archived).collect(),
        erased: whole.erased.clone(),
        erased_of_persona: whole.erased_of_persona.clone(),
    }
}
