//! Records the items of readers as messages, page by page.
//!
//! Reading and mapping run on a thread of their own, at most two pages ahead of the writer, so memory is bounded for
//! files of any content. A page is one transaction with the position after it: an interrupted run resumes there, and
//! messages are identified by digests of the publisher's ids, so nothing is recorded twice.

use std::sync::Arc;

use hub::Hub;
use import::{
    Document, ExternalId, FoundItem, Item, MappedItem, MappedMessage, Mapper, Mapping, MessageTime,
    ReadOptions, ReadPosition, SavedMemory, Skip, Sources, Speaker,
};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use memory::identifiers::{ImportId, MessageId, RejectedId, SessionId};
use memory::messages::{MessageVersion, Role, VersionPlace};
use memory::nodes::{DESCRIPTION_LENGTH_MAX, Proposal, RejectedMemory};
use memory::ports::{
    Clock, IdGenerator, ImportPage, ImportRun, ImportSkip, ImportStore, ImportedMessage, ImportedProposal,
    ImportedVersion, NewImport, NewMessage, RecordedPage, Remembering, StoreError,
};
use memory::sessions::{IMPORT_CHANNEL_PREFIX, SessionPolicy};
use memory::{Scope, text};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc;

use super::documents::{ReadDocument, write_documents};
use super::record_error::RecordError;

/// Maximum items of a page. A page is one transaction: messages of turns wait for it, and a crash undoes one page at
/// most.
const PAGE_ITEMS_MAX: usize = 1_000;
/// Bytes of text after which a page ends. It bounds the memory of an import, even of the largest file.
const PAGE_BYTES_MAX: usize = 2 * 1024 * 1024;
/// Maximum pages that are read ahead of writing: reading and writing overlap, and memory stays bounded.
const PAGES_AHEAD: usize = 2;
/// Maximum length of a conversation's title, in characters. The rest is cut: some programs use the whole first
/// message as a title.
const TITLE_CHARS_MAX: usize = 200;

/// Files to import, and the scope that receives them.
#[derive(Clone, Debug)]
pub struct ImportRequest {
    /// The run's id, unless a run with the same files and mapping is resumed.
    pub id: ImportId,
    /// The scope that receives them; persona and user must exist.
    pub scope: Scope,
    pub sources: Arc<Sources>,
    /// Identifies the files in addition to their names and sizes: modification times, or the upload.
    pub fingerprint: String,
    pub options: ReadOptions,
    /// Roles of the speakers, and the selection of conversations.
    pub mapping: Mapping,
    /// The user's zone, which determines the days of messages.
    pub zone: TimeZone,
    /// Initial state of the consolidation of its sessions.
    pub remembering: Remembering,
}

#[derive(Clone, Copy)]
pub struct ImportRecorder<'a> {
    pub store: &'a dyn ImportStore,
    /// Receives documents; without it they are skipped.
    pub hub: Option<&'a Hub>,
    pub clock: &'a dyn Clock,
    /// Ids of messages and sessions.
    pub ids: &'a dyn IdGenerator,
    pub policy: SessionPolicy,
}

/// Position at which reading resumes, with the mapper's state at that position.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Resumption {
    position: ReadPosition,
    /// The last message's conversation and time.
    last: Option<(String, Timestamp)>,
    /// The current conversation and its title.
    #[serde(default)]
    conversation: Option<(String, Option<String>)>,
}

/// A page as read, without ids.
struct ReadPage {
    messages: Vec<ReadMessage>,
    proposals: Vec<SavedMemory>,
    documents: Vec<ReadDocument>,
    skips: Vec<Skip>,
    undated: u64,
    resumption: Resumption,
}

struct ReadMessage {
    digest: [u8; 16],
    channel_id: String,
    role: Role,
    speaker: Option<String>,
    at: Timestamp,
    content: String,
    terms: String,
    model: Option<String>,
    title: Option<String>,
    has_id: bool,
    not_shown: Vec<ImportedVersion>,
}

impl ImportRecorder<'_> {
    /// Begins the run, or finds an interrupted one with the same files and mapping.
    pub async fn begin(&self, request: &ImportRequest) -> Result<ImportRun, StoreError> {
        let new = NewImport {
            id: request.id,
            scope: request.scope.clone(),
            digest: request.digest(),
            files: request.sources.list().iter().map(|source| source.name().to_owned()).collect(),
            remembering: request.remembering,
            at: self.clock.now(),
        };
        self.store.begin_import(new).await
    }

    /// Records everything, or the rest of an interrupted run. `progress` receives each page after it was recorded. At
    /// the end the sessions wait for consolidation, unless that is off. If dropped earlier, the run can be resumed
    /// like an interrupted one.
    pub async fn record(
        &self,
        mut run: ImportRun,
        request: ImportRequest,
        progress: &mut (dyn FnMut(&RecordedPage) + Send),
    ) -> Result<ImportRun, RecordError> {
        let resumption: Option<Resumption> =
            serde_json::from_str(&run.position).map_err(|_| RecordError::Position(run.run_id))?;
        let (sender, mut pages) = mpsc::channel(PAGES_AHEAD);
        let (scope, zone, began) = (request.scope.clone(), request.zone.clone(), run.created_at);
        let reading = tokio::task::spawn_blocking(move || {
            read_pages(&request, resumption.unwrap_or_default(), began, &sender)
        });
        while let Some(mut page) = pages.recv().await {
            let documents = std::mem::take(&mut page.documents);
            let documents = write_documents((self.store, self.hub), run.run_id, &scope, documents).await?;
            page.skips.extend(documents.skips);
            let mut page = self.assign_ids(page, &scope, &zone, began)?;
            (page.documents, page.documents_there) = (documents.written, documents.already_there);
            let recorded = self.store.record_page(run.run_id, page, self.policy).await?;
            let recorded = recorded.ok_or(RecordError::Ended)?;
            progress(&recorded);
            run = recorded.run;
        }
        match reading.await {
            Ok(read) => read?,
            Err(error) => {
                let reason = format!("the reader ended: {error}. Imported messages are kept");
                return Err(StoreError::Failed(reason).into());
            }
        }
        self.store.finish_import(run.run_id, self.clock.now()).await?.ok_or(RecordError::Ended)
    }

    fn assign_ids(
        &self,
        page: ReadPage,
        scope: &Scope,
        zone: &TimeZone,
        began: Timestamp,
    ) -> Result<ImportPage, StoreError> {
        let position =
            serde_json::to_string(&page.resumption).map_err(|error| StoreError::Failed(error.to_string()))?;
        let messages = page.messages.into_iter().map(|read| ImportedMessage {
            digest: read.digest,
            has_id: read.has_id,
            not_shown: read.not_shown,
            model: read.model,
            title: read.title,
            message: NewMessage {
                id: MessageId(self.ids.next(read.at)),
                session_id_if_new: SessionId(self.ids.next(read.at)),
                scope: scope.clone(),
                channel_id: read.channel_id,
                turn_id: None,
                role: read.role,
                speaker: read.speaker,
                token_count: text::estimate_tokens(&read.content),
                terms: read.terms,
                day: read.at.to_zoned(zone.clone()).date(),
                created_at: read.at,
                content: read.content,
                incomplete: false,
                external_ref: None,
                channel_write: None,
            },
        });
        let now = self.clock.now();
        let proposals = page.proposals.into_iter().map(|saved| {
            let at = saved.day.and_then(|day| day.at(12, 0, 0, 0).to_zoned(zone.clone()).ok());
            ImportedProposal {
                at: at.map_or(began, |at| at.timestamp()),
                memory: RejectedMemory {
                    id: RejectedId(self.ids.next(now)),
                    session_id: SessionId(self.ids.next(now)),
                    description: saved.text,
                    // The other program does not export this.
                    emotional_impact: Some(0.0),
                    evidence: Vec::new(),
                    reason: format!("{} had saved it about you: review and accept it", saved.source),
                    created_at: now,
                    proposal: Proposal { source: Some(saved.source), ..Proposal::default() },
                },
            }
        });
        let proposals = proposals.collect();
        let skips = page.skips.into_iter().map(|skip| ImportSkip { place: skip.place, reason: skip.reason });
        Ok(ImportPage {
            position,
            messages: messages.collect(),
            proposals,
            documents: 0,
            documents_there: 0,
            skips: skips.collect(),
            undated: page.undated,
            at: now,
        })
    }
}

impl ImportRequest {
    /// Digest that is equal for the same files, read in the same way for the same scope.
    fn digest(&self) -> String {
        let mut hash = Sha256::new();
        let mapping = serde_json::to_string(&self.mapping).unwrap_or_default();
        let format = self.options.format.as_deref().unwrap_or_default();
        for part in [&self.fingerprint, &mapping, format] {
            hash.update(part.as_bytes());
            hash.update([0]);
        }
        if !self.options.fields.is_empty() {
            hash.update(serde_json::to_vec(&self.options.fields).unwrap_or_default());
        }
        for source in self.sources.list() {
            hash.update(source.name().as_bytes());
            hash.update(source.size().to_be_bytes());
        }
        hex::encode(hash.finalize())
    }
}

/// Reads to the end, or until the receiver of pages is dropped.
fn read_pages(
    request: &ImportRequest,
    resumption: Resumption,
    began: Timestamp,
    pages: &mpsc::Sender<ReadPage>,
) -> Result<(), import::ImportError> {
    let mut mapper = Mapper::new(request.mapping.clone())?;
    if let Some((conversation, at)) = &resumption.last {
        mapper.resume_conversation(conversation, *at);
    }
    let mut reader = PageReader {
        file_time: began,
        format: "",
        resumption,
        undated: 0,
        zone: request.zone.clone(),
        messages: Vec::new(),
        proposals: Vec::new(),
        documents: Vec::new(),
        skips: Vec::new(),
        bytes: 0,
    };
    let mut outcome = Ok(());
    for found in import::read(&request.sources, &request.options, reader.resumption.position)? {
        let FoundItem { item, position, format } = match found {
            Ok(found) => found,
            Err(error) => {
                // Items read before the error are valid.
                outcome = Err(error);
                break;
            }
        };
        reader.file_time = request
            .sources
            .list()
            .get(position.source as usize)
            .and_then(|source| source.modified_at())
            .filter(|modified| *modified < began)
            .unwrap_or(began);
        reader.resumption.position = position;
        reader.format = format;
        reader.add(mapper.map_record(item));
        if reader.is_full() && pages.blocking_send(reader.take_page()).is_err() {
            // The writer failed, and reports why.
            return Ok(());
        }
    }
    let _sent = pages.blocking_send(reader.take_page());
    outcome
}

struct PageReader {
    /// Time for messages without one when no earlier message of their conversation has one: the modification time of
    /// their file.
    file_time: Timestamp,
    /// Id of the file's format.
    format: &'static str,
    undated: u64,
    resumption: Resumption,
    zone: TimeZone,
    messages: Vec<ReadMessage>,
    proposals: Vec<SavedMemory>,
    documents: Vec<ReadDocument>,
    skips: Vec<Skip>,
    bytes: usize,
}

impl PageReader {
    fn is_full(&self) -> bool {
        self.messages.len() + self.proposals.len() + self.documents.len() + self.skips.len() >= PAGE_ITEMS_MAX
            || self.bytes >= PAGE_BYTES_MAX
    }

    fn take_page(&mut self) -> ReadPage {
        self.bytes = 0;
        ReadPage {
            messages: std::mem::take(&mut self.messages),
            proposals: std::mem::take(&mut self.proposals),
            documents: std::mem::take(&mut self.documents),
            skips: std::mem::take(&mut self.skips),
            undated: std::mem::take(&mut self.undated),
            resumption: self.resumption.clone(),
        }
    }

    fn add(&mut self, mapped: MappedItem) {
        const CHARACTER_SKIP_REASON: &str = "use `import --character` or New persona";
        let (place, reason) = match mapped {
            MappedItem::Message(message) => return self.add_message(message),
            MappedItem::Item(Item::Conversation(start)) => {
                let title = start.title.map(|title| title.chars().take(TITLE_CHARS_MAX).collect::<String>());
                let title = title.filter(|title| !memory::capture::is_blank(title));
                self.resumption.conversation = Some((start.id, title));
                return;
            }
            MappedItem::Item(Item::SavedMemory(saved))
                if saved.text.chars().count() > DESCRIPTION_LENGTH_MAX =>
            {
                (saved.place, format!("it is longer than {DESCRIPTION_LENGTH_MAX} characters"))
            }
            MappedItem::Item(Item::SavedMemory(saved)) => return self.proposals.push(saved),
            MappedItem::Item(Item::Skip(skip)) => (skip.place, skip.reason),
            // The mapper returns a mapped message or a skip for every message.
            MappedItem::Item(Item::Message(message)) => (message.place, "it could not be mapped".to_owned()),
            MappedItem::Item(Item::Document(document)) => return self.add_document(document),
            MappedItem::Item(Item::Card(card)) => {
                (card.place, format!("it is a character card: {CHARACTER_SKIP_REASON}"))
            }
            MappedItem::Item(Item::Lorebook(book)) => {
                (book.place, format!("it is a lorebook: {CHARACTER_SKIP_REASON}"))
            }
            MappedItem::Item(Item::CoreDraft(draft)) => {
                (draft.place, format!("it is a text about the persona or you: {CHARACTER_SKIP_REASON}"))
            }
        };
        self.skips.push(Skip { place, reason });
    }

    fn add_document(&mut self, document: Document) {
        let digest = message_digest(self.format, &document.id);
        let file_day = self.file_time.to_zoned(self.zone.clone()).date();
        match ReadDocument::new(document, digest, file_day) {
            Ok(document) => {
                self.bytes += document.text.len();
                self.documents.push(document);
            }
            Err(skip) => self.skips.push(skip),
        }
    }

    fn add_message(&mut self, MappedMessage { speaker, at, message, versions }: MappedMessage) {
        let (role, speaker) = role_of(speaker);
        let content = message.text_with_attachments();
        if memory::capture::is_blank(&content) {
            self.skips.push(Skip { place: message.place, reason: "it has no text".to_owned() });
            return;
        }
        self.undated += u64::from(message.time == MessageTime::Unknown);
        let at = at.unwrap_or(self.file_time);
        self.bytes += content.len();
        let title = self.resumption.conversation.as_ref().filter(|(id, _)| *id == message.conversation);
        let title = title.and_then(|(_, title)| title.clone());
        let id_space = message.id_space.as_ref().unwrap_or(&message.conversation);
        let not_shown: Vec<ImportedVersion> = versions
            .into_iter()
            .map(|version| {
                let (role, speaker) = role_of(version.speaker);
                ImportedVersion {
                    digest: message_digest(id_space, &version.id),
                    follows: version.follows.map(|id| message_digest(id_space, &id)),
                    version: MessageVersion {
                        role,
                        speaker,
                        content: version.text,
                        said_at: version.at,
                        model: version.model,
                        replaced_at: at,
                        place: VersionPlace::Alternative,
                    },
                }
            })
            .collect();
        self.bytes += not_shown.iter().map(|other| other.version.content.len()).sum::<usize>();
        self.messages.push(ReadMessage {
            digest: message_digest(id_space, message.id.as_str()),
            has_id: matches!(message.id, ExternalId::Given(_)),
            channel_id: channel_of(self.format, &message.conversation),
            role,
            speaker,
            at,
            terms: text::index_terms(&content),
            content,
            model: message.model,
            title,
            not_shown,
        });
        self.resumption.last = Some((message.conversation, at));
    }
}

fn role_of(speaker: Speaker) -> (Role, Option<String>) {
    match speaker {
        Speaker::Persona => (Role::Persona, None),
        Speaker::User => (Role::User, None),
        Speaker::Other(name) => (Role::Other, Some(name)),
    }
}

fn message_digest(conversation: &str, id: &str) -> [u8; 16] {
    let mut hash = Sha256::new();
    hash.update((conversation.len() as u64).to_be_bytes());
    hash.update(conversation.as_bytes());
    hash.update(id.as_bytes());
    let mut digest = [0; 16];
    digest.copy_from_slice(&hash.finalize()[..16]);
    digest
}

/// One channel for each conversation, so that sessions of two never mix: `import-chatgpt-9f86d081884c7d65`. It
/// contains no text of the conversation.
fn channel_of(format: &str, conversation: &str) -> String {
    format!("{IMPORT_CHANNEL_PREFIX}{format}-{}", hex::encode(&Sha256::digest(conversation.as_bytes())[..8]))
}
