//! Identity documents: about the persona, the user, and their relationship.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use memory::Scope;

use crate::api::Outcome;
use crate::api::identity::{
    CustomFile, IdentityAll, IdentityFile, IdentityText, Meta, MetaQuery, MetaText, SectionText, WriteOutcome,
};
use crate::documents::Document;
use crate::error::HubError;
use crate::names::{Category, DocumentName, FileName, check_label};
use crate::ports::{DocumentFilter, Snapshot};
use crate::sections;
use crate::service::{Caller, Hub};
use crate::transaction::{HubTransaction, check_caller_access};

/// The order of the known identity documents; others follow by name.
const DOCUMENT_ORDER: [&str; 14] = [
    "my_identity",
    "my_persona",
    "my_personhood",
    "my_wants",
    "my_mechanics",
    "user_identity",
    "user_life",
    "user_beliefs",
    "user_preferences",
    "user_patterns",
    "user_notes",
    "relationship_dynamics",
    "relationship_history",
    "relationship_notes",
];

/// The sorting key of a document within its category.
fn order_key(name: &FileName) -> (usize, &str) {
    let stem = name.stem();
    (DOCUMENT_ORDER.iter().position(|known| *known == stem).unwrap_or(DOCUMENT_ORDER.len()), stem)
}

/// Sorts identity documents: by category, known files first.
pub(crate) fn in_order_of_the_prompt(one: &DocumentName, other: &DocumentName) -> Ordering {
    match (one, other) {
        (DocumentName::Identity(a, one), DocumentName::Identity(b, other)) => {
            a.cmp(b).then_with(|| order_key(one).cmp(&order_key(other)))
        }
        _ => one.cmp(other),
    }
}

/// The label of a document in prompts: the one that was set, else its file name. Labels from files or archives are
/// checked here, as they may be any text.
pub(crate) fn label_or_stem(label: Option<&str>, name: &DocumentName) -> String {
    label.and_then(|label| check_label(label).ok()).map_or_else(|| name.stem(), str::to_owned)
}

fn document_label(document: &Document) -> String {
    label_or_stem(document.prompt_label.as_deref(), &document.name)
}

impl Hub {
    pub async fn identity_get_all(&self, caller: &Caller) -> Result<IdentityAll, HubError> {
        let mut all = IdentityAll::default();
        for document in self.identity_documents(&caller.scope).await? {
            let DocumentName::Identity(category, filename) = &document.name else { continue };
            // Programs put all of these into a prompt; lorebook entries join it only when they are named.
            if document.name.is_lore() || !self.may_read(caller, &document.name) {
                continue;
            }
            let list = match category {
                Category::Own => &mut all.own,
                Category::User => &mut all.user,
                Category::Relationship => &mut all.relationship,
                Category::Custom => &mut all.custom,
            };
            list.push(IdentityFile {
                filename: filename.clone(),
                content: document.content().unwrap_or_default().to_owned(),
                prompt_label: document_label(&document),
            });
        }
        Ok(all)
    }

    /// Identity documents in the order of the prompt.
    pub(crate) async fn identity_documents(&self, scope: &Scope) -> Result<Vec<Document>, HubError> {
        let mut documents =
            self.shared_parts().parts.store.documents(scope, DocumentFilter::identity()).await?;
        documents.sort_by(|one, other| in_order_of_the_prompt(&one.name, &other.name));
        Ok(documents)
    }

    /// Writes a whole document. The former text is stored as a version and a snapshot.
    pub async fn identity_write(
        &self,
        caller: &Caller,
        input: IdentityText,
    ) -> Result<WriteOutcome, HubError> {
        let name = DocumentName::Identity(input.category, input.filename);
        self.rewrite_identity(caller, &name, "written", true, |_| Ok(input.content.clone())).await
    }

    /// Adds a text at the end.
    pub async fn identity_append(
        &self,
        caller: &Caller,
        input: IdentityText,
    ) -> Result<WriteOutcome, HubError> {
        let name = DocumentName::Identity(input.category, input.filename);
        let text = |before: Option<&str>| {
            Ok(format!("{}\n", sections::join(before.unwrap_or_default(), &input.content)))
        };
        self.rewrite_identity(caller, &name, "appended to", false, text).await
    }

    /// Adds a text at the beginning.
    pub async fn identity_prepend(
        &self,
        caller: &Caller,
        input: IdentityText,
    ) -> Result<WriteOutcome, HubError> {
        let name = DocumentName::Identity(input.category, input.filename);
        let text = |before: Option<&str>| {
            Ok(format!("{}\n", sections::join(&input.content, before.unwrap_or_default().trim())))
        };
        self.rewrite_identity(caller, &name, "prepended to", false, text).await
    }

    /// Adds a text to a section.
    pub async fn identity_update_section(
        &self,
        caller: &Caller,
        input: SectionText,
    ) -> Result<WriteOutcome, HubError> {
        let name = DocumentName::Identity(input.category, input.filename);
        let text = |before: Option<&str>| {
            let before = before.ok_or_else(|| missing_message(&name))?;
            Ok(sections::append_to_section(before, &input.section, &input.content))
        };
        self.rewrite_identity(caller, &name, "section updated in", false, text).await
    }

    /// Replaces the text of a section.
    pub async fn identity_rewrite_section(
        &self,
        caller: &Caller,
        input: SectionText,
    ) -> Result<WriteOutcome, HubError> {
        let name = DocumentName::Identity(input.category, input.filename);
        let text = |before: Option<&str>| {
            let before = before.ok_or_else(|| missing_message(&name))?;
            Ok(sections::rewrite_section(before, &input.section, &input.content))
        };
        self.rewrite_identity(caller, &name, "section rewritten in", true, text).await
    }

    async fn rewrite_identity(
        &self,
        caller: &Caller,
        name: &DocumentName,
        what: &str,
        with_snapshot: bool,
        text: impl Fn(Option<&str>) -> Result<String, String>,
    ) -> Result<WriteOutcome, HubError> {
        let _turn = self.lock_writes().await;
        loop {
            let (mut act, before) = self.begin_with_document(caller, name).await?;
            let old = before.as_ref().and_then(Document::content);
            let content = match text(old) {
                Ok(content) => content,
                Err(message) => return Ok(WriteOutcome { success: false, message, content: None }),
            };
            act.check(name, Some(&content))?;
            let done = |content: String| WriteOutcome {
                success: true,
                message: format!("{what} {name}"),
                content: Some(content),
            };
            if old == Some(content.as_str()) {
                return Ok(done(content));
            }
            if let (true, Some(old)) = (with_snapshot, old.filter(|old| !old.trim().is_empty())) {
                act.store_snapshot(name, old, "pre-replace");
            }
            let heads = before.map(|document| document.heads).unwrap_or_default();
            let (version, beside) = act.edit(heads, Some(content.clone()));
            act.write_edit(name, version, beside);
            if act.commit().await? {
                return Ok(done(content));
            }
        }
    }

    /// Deletes a custom document. Its versions stay, with a tombstone.
    pub async fn identity_delete_custom(
        &self,
        caller: &Caller,
        input: CustomFile,
    ) -> Result<Outcome, HubError> {
        let name = DocumentName::Identity(Category::Custom, input.filename.clone());
        match self.delete_document(caller, &name).await? {
            true => Ok(Outcome::success(format!("deleted {name}; its versions are kept"))),
            false => Ok(Outcome::failed(format!("Custom file {} not found", input.filename))),
        }
    }

    /// Replaces a document by a tombstone; true if it existed.
    pub(crate) async fn delete_document(
        &self,
        caller: &Caller,
        name: &DocumentName,
    ) -> Result<bool, HubError> {
        let _turn = self.lock_writes().await;
        loop {
            let (mut act, document) = self.begin_with_document(caller, name).await?;
            act.check(name, None)?;
            let Some(document) = document else { return Ok(false) };
            if document.content().is_none() {
                return Ok(false);
            }
            let tombstone = act.successor(&document.heads, None);
            act.write(name, vec![tombstone]);
            if act.commit().await? {
                return Ok(true);
            }
        }
    }

    pub async fn identity_get_meta(&self, caller: &Caller, input: MetaQuery) -> Result<Meta, HubError> {
        let mut meta = BTreeMap::new();
        if input.category.is_some() || input.filename.is_some() {
            for document in self.identity_documents(&caller.scope).await? {
                meta.insert(document.name.to_string(), document_label(&document));
            }
        }
        for (name, label) in self.shared_parts().parts.store.labels(&caller.scope).await? {
            meta.insert(name.to_string(), label);
        }
        let hidden = format!("{}/", Category::Custom.as_str());
        meta.retain(|key, _| !key.starts_with(&hidden) || self.may_read_custom(caller));
        let of_category = |key: &str| {
            input.category.is_none_or(|category| key.starts_with(&format!("{}/", category.as_str())))
        };
        let of_file =
            |key: &str| input.filename.as_ref().is_none_or(|filename| key.ends_with(&format!("/{filename}")));
        meta.retain(|key, _| of_category(key) && of_file(key));
        Ok(Meta { success: true, meta })
    }

    /// Sets a prompt label.
    pub async fn identity_set_meta(&self, caller: &Caller, input: MetaText) -> Result<Outcome, HubError> {
        let name = DocumentName::Identity(input.category, input.filename);
        let label = check_label(&input.prompt_label).map_err(|error| HubError::Invalid(error.to_string()))?;
        check_caller_access(caller, &name)?;
        drop(self.begin(caller).await?);
        self.shared_parts().parts.store.set_label(&caller.scope, &name, label).await?;
        self.mirror_document(&caller.scope, &name).await;
        Ok(Outcome::success(format!("a prompt calls {name} `{label}`")))
    }
}

/// The label and the text of a document; `None` if the text is blank.
pub(crate) fn label_and_text(document: &Document) -> Option<(String, String)> {
    let content = document.content()?.trim();
    (!content.is_empty()).then(|| (document_label(document), content.to_owned()))
}

fn missing_message(name: &DocumentName) -> String {
    let path = name.to_string();
    format!("File {path} not found")
}

impl HubTransaction<'_> {
    /// Stores a snapshot of a document in the same transaction, so that a person can restore it.
    pub(crate) fn store_snapshot(&mut self, name: &DocumentName, content: &str, reason: &str) {
        let time = self.now.to_string().replace([':', '.'], "-");
        self.commit.snapshots.push(Snapshot {
            id: format!("{}/{}_{time}", name.kind(), name.stem()),
            name: name.clone(),
            content: content.to_owned(),
            created_at: self.now,
            reason: reason.to_owned(),
            source: self.caller.instance.to_string(),
        });
    }
}
