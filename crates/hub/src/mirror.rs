//! The Markdown files: every document is also a file that a person can read and edit.
//!
//! A file is written after the commit, in one step. Its front matter has the version and the digest of its text: a
//! file whose text has another digest was edited by a person, and becomes a version that includes the one it was
//! written from.

mod front_matter;
mod files;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use memory::{PersonaId, Scope};

use crate::documents::{Document, Version, core_block_of};
use crate::error::HubError;
use crate::names::{Category, DiaryName, DocumentName, Granularity, InstanceId, LORE_FOLDER};
use crate::ports::DocumentFilter;
use crate::service::{Caller, Hub};
use crate::versions::{have_different_content, merge_version};

pub use front_matter::{FrontMatter, MirroredText, digest};

/// The author of files that a person has edited.
pub const FILE_EDITOR: &str = "editor:file";

/// Result of synchronising the files with the documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MirrorReport {
    /// Number of files whose text a person had changed or that were new to the database.
    pub taken: usize,
    /// Number of files that were written or removed.
    pub written: usize,
    /// Number of files that could not be read or whose name is no document's; they stay as they are.
    pub passed_over: usize,
}

impl Hub {
    /// The file of a document; `None` for a hub without files.
    pub fn document_path(&self, scope: &Scope, name: &DocumentName) -> Option<PathBuf> {
        let root = self.settings().mirror.as_ref()?;
        let default = &self.settings().default_scope;
        let own = scope.persona == default.persona;
        let folder = match (own, name.is_of_user()) {
            (true, false) => root.clone(),
            (true, true) if scope.user == default.user => root.clone(),
            (false, false) => root.join("personas").join(encode_folder_name(scope.persona.as_str())),
            (_, true) => root
                .join("personas")
                .join(encode_folder_name(scope.persona.as_str()))
                .join("users")
                .join(encode_folder_name(scope.user.as_str())),
        };
        Some(folder.join(name.path()))
    }

    /// Writes or removes the file of one document. Errors are logged only: the database holds everything, and the
    /// next pass over the files repairs it.
    pub async fn mirror_document(&self, scope: &Scope, name: &DocumentName) {
        if let Err(error) = self.write_file(scope, name, false).await {
            tracing::warn!(%error, "a document's file could not be written; it is written when the folder \
                is read again");
        }
    }

    /// Writes a file, unless a person has edited it and the edit was not read yet.
    async fn write_file(&self, scope: &Scope, name: &DocumentName, taken: bool) -> Result<bool, HubError> {
        let Some(path) = self.document_path(scope, name) else { return Ok(false) };
        let document = self.document(scope, name).await?;
        let text = document.as_ref().and_then(file_text);
        run_blocking(move || match text {
            _ if !taken && files::read(&path)?.is_some_and(|file| MirroredText::parse(&file).is_edited()) => {
                Ok(false)
            }
            Some(text) => files::write(&path, &text),
            None => files::remove(&path),
        })
        .await
    }

    /// Reads the files of every scope: stores people's edits, and writes missing or outdated files.
    pub async fn reconcile(&self) -> Result<MirrorReport, HubError> {
        if self.settings().mirror.is_none() {
            return Ok(MirrorReport::default());
        }
        let mut scopes: BTreeSet<Scope> =
            self.shared_parts().parts.store.hub_scopes().await?.into_iter().collect();
        scopes.insert(self.settings().default_scope.clone());
        let mut all = MirrorReport::default();
        for scope in scopes {
            let found = self.reconcile_scope(&scope).await?;
            all.taken += found.taken;
            all.written += found.written;
            all.passed_over += found.passed_over;
        }
        Ok(all)
    }

    /// Removes erased text from the files, also from those that somebody has edited since.
    pub async fn follow_forgetting(&self, scope: &Scope) -> Result<(), HubError> {
        let _turn = self.lock_writes().await;
        self.shared_parts().unsent.notify_one();
        self.drop_vectors(scope);
        self.shared_parts().lore.forget(&scope.persona);
        if self.settings().mirror.is_none() {
            return Ok(());
        }
        let revision = self.shared_parts().parts.store.hub_state(scope).await?.revision;
        let documents =
            self.shared_parts().parts.store.documents(scope, DocumentFilter::all_documents()).await?;
        for document in documents.iter().filter(|document| document.revision == revision) {
            self.write_file(scope, &document.name, true).await?;
        }
        // Documents that were deleted completely.
        let known: BTreeSet<&DocumentName> = documents.iter().map(|document| &document.name).collect();
        for name in self.file_names_in_scope(scope, &mut MirrorReport::default()).await? {
            let Some(path) = self.document_path(scope, &name).filter(|_| !known.contains(&name)) else {
                continue;
            };
            run_blocking(move || match files::read(&path)? {
                Some(file) if !MirroredText::parse(&file).is_edited() => files::remove(&path),
                _ => Ok(false),
            })
            .await?;
        }
        Ok(())
    }

    /// Gives this home's dailies under its former instance name the current one, with their files.
    pub(crate) async fn rename_days(&self, from: &InstanceId, to: &InstanceId) -> Result<(), HubError> {
        // Text that a person wrote into the former files is not lost.
        self.reconcile().await?;
        let _turn = self.lock_writes().await;
        for (scope, before) in self.shared_parts().parts.store.rename_days(from, to).await? {
            let DocumentName::Diary(DiaryName::Daily(day, _)) = &before else { continue };
            if let Some(path) = self.document_path(&scope, &before) {
                run_blocking(move || files::remove(&path)).await?;
            }
            let name = DocumentName::Diary(DiaryName::Daily(*day, to.clone()));
            self.mirror_document(&scope, &name).await;
            self.drop_vectors(&scope);
        }
        Ok(())
    }

    /// Removes all files of a persona.
    pub async fn forget_files(&self, persona: &PersonaId) -> Result<(), HubError> {
        let _turn = self.lock_writes().await;
        self.shared_parts().vectors.clear();
        self.shared_parts().embedded.clear();
        self.shared_parts().lore.forget(persona);
        let Some(root) = self.settings().mirror.clone() else { return Ok(()) };
        let mut folders = vec![root.join("personas").join(encode_folder_name(persona.as_str()))];
        if *persona == self.settings().default_scope.persona {
            folders.extend([root.join("identity"), root.join("memories")]);
        }
        run_blocking(move || folders.iter().try_for_each(|folder| files::remove_folder(folder))).await
    }

    async fn reconcile_scope(&self, scope: &Scope) -> Result<MirrorReport, HubError> {
        let mut found = MirrorReport::default();
        let caller = Caller {
            scope: scope.clone(),
            instance: self.instance_id(),
            is_person: true,
            is_bound: false,
            is_of_one_user: false,
        };
        let names = self.file_names_in_scope(scope, &mut found).await?;
        let mut left = self.names_of_differing_files(scope, &names).await?;
        for name in names {
            if !left.contains(&name) {
                continue;
            }
            match self.adopt_edited_file(&caller, &name).await {
                Ok(taken) => found.taken += usize::from(taken),
                Err(HubError::Store(error)) => return Err(error.into()),
                Err(error) => {
                    tracing::warn!(%error, "a file could not be imported and was not changed");
                    found.passed_over += 1;
                    left.remove(&name);
                }
            }
        }
        for name in left {
            found.written += usize::from(self.write_file(scope, &name, true).await?);
        }
        Ok(found)
    }

    /// Names of documents whose file and content differ, or of which one is missing.
    async fn names_of_differing_files(
        &self,
        scope: &Scope,
        names: &[DocumentName],
    ) -> Result<BTreeSet<DocumentName>, HubError> {
        let documents =
            self.shared_parts().parts.store.documents(scope, DocumentFilter::all_documents()).await?;
        let mut files: BTreeMap<DocumentName, Option<String>> =
            names.iter().map(|name| (name.clone(), None)).collect();
        for document in &documents {
            files.insert(document.name.clone(), file_text(document));
        }
        let mut files: Vec<(DocumentName, PathBuf, Option<String>)> = files
            .into_iter()
            .filter_map(|(name, text)| Some((self.document_path(scope, &name)?, name, text)))
            .map(|(path, name, text)| (name, path, text))
            .collect();
        // Two threads read half of them each, because the start waits for this, on a home of many years for long.
        let others = files.split_off(files.len() / 2);
        let (some, others) = tokio::try_join!(
            run_blocking(|| differing_files(files)),
            run_blocking(|| differing_files(others))
        )?;
        Ok(some.into_iter().chain(others).collect())
    }

    /// Names of the files in the folders of a scope.
    async fn file_names_in_scope(
        &self,
        scope: &Scope,
        found: &mut MirrorReport,
    ) -> Result<Vec<DocumentName>, HubError> {
        let mut folders: Vec<(&'static str, &'static str, PathBuf)> = Vec::new();
        // Any name of a kind determines its folder.
        let sample = |kind: &str| match kind {
            "daily" | "significant" => "2000-01-01_x",
            "weekly" => "2000-W01",
            "monthly" => "2000-01",
            "yearly" => "2000",
            _ => "x",
        };
        let kinds =
            Category::ALL.map(Category::as_str).into_iter().chain(Granularity::ALL.map(Granularity::as_str));
        for kind in kinds {
            let name = DocumentName::parse(kind, sample(kind)).ok();
            let path = name.and_then(|name| self.document_path(scope, &name));
            let folder = path.and_then(|path| Some(path.parent()?.to_owned()));
            let lore = folder.iter().filter(|_| kind == Category::Custom.as_str());
            folders.extend(lore.map(|folder| (kind, LORE_FOLDER, folder.join(LORE_FOLDER))));
            folders.extend(folder.map(|folder| (kind, "", folder)));
        }
        let stems = run_blocking(move || {
            let mut stems = Vec::new();
            for (kind, within, folder) in folders {
                stems.extend(
                    files::file_stems(&folder)?.into_iter().map(|stem| (kind, format!("{within}{stem}"))),
                );
            }
            Ok(stems)
        })
        .await?;
        let mut names = Vec::new();
        for (kind, stem) in stems {
            match DocumentName::parse(kind, &stem) {
                Ok(name) => names.push(name),
                Err(_) => found.passed_over += 1,
            }
        }
        Ok(names)
    }

    /// Stores a file that a person has edited or that the database does not know. True if anything was stored.
    async fn adopt_edited_file(&self, caller: &Caller, name: &DocumentName) -> Result<bool, HubError> {
        let Some(path) = self.document_path(&caller.scope, name) else { return Ok(false) };
        let Some(text) = run_blocking(move || files::read(&path)).await? else { return Ok(false) };
        let file = MirroredText::parse(&text);
        let _turn = self.lock_writes().await;
        loop {
            let (mut act, document) = self.begin_with_document(caller, name).await?;
            let is_edited = file.is_edited();
            let heads = document.as_ref().map(|document| document.heads.clone()).unwrap_or_default();
            if heads.first().is_some_and(|shown| shown.content.as_deref() == Some(file.content)) {
                return Ok(false);
            }
            let version = match (&file.front_matter, is_edited) {
                // An unedited file: the database has its text, or was lost.
                (Some(front), false) if heads.is_empty() => front.version_with(file.content),
                (Some(_), false) => return Ok(false),
                (front, true) => {
                    let base: Vec<Version> = match front {
                        Some(front) => vec![front.version_with(file.content)],
                        None => heads.clone(),
                    };
                    let mut version = act.successor(&base, Some(file.content.to_owned()));
                    version.vector = act.version_of_hand_edit(&base, &heads);
                    version.edited_by = FILE_EDITOR.to_owned();
                    version.by_person = true;
                    if let Some(shown) =
                        heads.first().filter(|_| core_block_of(name, &caller.scope).is_none())
                    {
                        version.author = shown.author.clone();
                    }
                    version
                }
                (None, false) => return Ok(false),
            };
            act.check(name, Some(file.content))?;
            let (heads, _) = merge_version(heads, version, &self.settings().priority);
            if have_different_content(&heads) {
                act.open_conflicts(name, &heads);
            }
            act.write(name, heads);
            if let Some(label) = file.front_matter.as_ref().and_then(|front| front.prompt_label.clone())
                && let Some(write) = act.commit.documents.last_mut()
            {
                write.prompt_label = Some(label);
            }
            if act.commit().await? {
                return Ok(true);
            }
        }
    }
}

/// Documents whose file does not have this text.
fn differing_files(
    files: Vec<(DocumentName, PathBuf, Option<String>)>,
) -> std::io::Result<Vec<DocumentName>> {
    let mut unlike = Vec::new();
    for (name, path, text) in files {
        if files::file_differs(&path, text.as_deref())? {
            unlike.push(name);
        }
    }
    Ok(unlike)
}

/// The text of a document's file; `None` if the document was deleted.
fn file_text(document: &Document) -> Option<String> {
    let shown = document.shown_version()?;
    let content = shown.content.as_deref()?;
    Some(FrontMatter::from_document(document, shown).file_with_text(content))
}

/// An id as a folder name: characters other than letters, digits, `-` and `_` become `%` and their bytes.
fn encode_folder_name(id: &str) -> String {
    let mut name = String::new();
    for byte in id.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => name.push(char::from(byte)),
            _ => name.push_str(&format!("%{byte:02X}")),
        }
    }
    name
}

async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> Result<T, HubError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(std::io::Error::other)
        .and_then(|done| done)
        .map_err(|error| HubError::Mirror(error.to_string()))
}
