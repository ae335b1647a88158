//! Exports the whole memory as an archive, or conversations in formats of other programs.

use std::io::{self, Write};

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use import::export::{CardContainer, ChatGptWriter, SillyTavernWriter};
use import::{Alternative, ExternalId, Message as Exported, MessageTime, Role as ExportedRole};
use memory::core_blocks::CoreBlocks;
use memory::identifiers::SessionId;
use memory::messages::{Message, MessageVersion, Role, VersionPlace};
use memory::ports::{SessionFilter, Store};
use memory::recall::{FormerValue, OutdatedValues};
use memory::sessions::Session;
use memory::{PersonaId, Scope};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::mpsc;

use crate::auth::Admin;
use crate::extract::Query;
use crate::problem::Problem;
use crate::state::App;
use crate::tasks::spawn;

/// The path of exports.
pub(crate) const PATH: &str = "/api/admin/export";
/// Bytes per chunk. A slow client holds this much, however long the export is.
const CHUNK_SIZE: usize = 64 * 1024;
/// Maximum chunks that are written ahead of the client, so that memory stays bounded with a slow one.
const CHUNKS_AHEAD: usize = 8;
/// Sessions per read. It bounds the memory of an export of many years.
const SESSIONS_AT_ONCE: u32 = 1_000;

#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ExportFormat {
    /// Everything: a zip file from which the same home can be restored.
    #[default]
    Archive,
    /// The conversation and the persona, for reading.
    Markdown,
    /// One conversation in the format of SillyTavern.
    SillyTavern,
    /// A conversation for each session, in ChatGPT's export format.
    ChatGpt,
    /// The persona as a character card of version 3: the original card with the changes made since. It contains
    /// neither the conversation nor the user's block.
    Card,
    /// The card in the persona's picture, which must be a PNG.
    #[serde(rename = "card-png")]
    CardPng,
    /// The card in an archive with the picture.
    #[serde(rename = "card-charx")]
    CardCharx,
}

impl ExportFormat {
    fn card_container(self) -> Option<CardContainer> {
        match self {
            Self::Card => Some(CardContainer::Json),
            Self::CardPng => Some(CardContainer::Png),
            Self::CardCharx => Some(CardContainer::Charx),
            Self::Archive | Self::Markdown | Self::SillyTavern | Self::ChatGpt => None,
        }
    }
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct ExportQuery {
    #[serde(default)]
    format: ExportFormat,
    /// Default: all personas for an archive, the configured one for other formats.
    persona_id: Option<String>,
    /// The user whose conversations are exported; default `self`. An archive contains those of all users.
    user_id: Option<String>,
}

/// Handler of `GET /api/admin/export`: streams the file.
pub(crate) async fn export(
    State(app): State<App>,
    Admin(principal): Admin,
    Query(asked): Query<ExportQuery>,
) -> Result<Response, Problem> {
    let is_archive = matches!(asked.format, ExportFormat::Archive);
    let names_persona = asked.persona_id.is_some();
    let scope = app.scope(&principal, asked.persona_id, asked.user_id).await?;
    if let Some(container) = asked.format.card_container() {
        return export_card(&app, &scope, container).await;
    }
    let (out, chunks) = chunk_channel();
    let day = app.now().strftime("%Y-%m-%d");
    let (kind, name) = match asked.format {
        ExportFormat::Archive => ("application/zip", format!("echovessel-{day}.zip")),
        ExportFormat::Markdown => ("text/markdown; charset=utf-8", format!("echovessel-{day}.md")),
        ExportFormat::SillyTavern => ("application/jsonl", format!("echovessel-{day}.jsonl")),
        _ => ("application/json", "conversations.json".to_owned()),
    };
    let format = asked.format;
    spawn(Box::pin(async move {
        let failed = out.sender.clone();
        let outcome = match is_archive {
            true => write_archive(&app, names_persona.then(|| scope.persona.clone()), out).await,
            false => write_conversations(&app, &scope, format, out).await,
        };
        if let Err(error) = outcome {
            tracing::error!("an export was interrupted: {error}");
            // The client notices that the file is incomplete.
            let _gone = failed.send(Err(io::Error::other("the export was interrupted"))).await;
        }
    }));
    Ok(download(kind, &name, Body::from_stream(chunks)))
}

async fn export_card(app: &App, scope: &Scope, container: CardContainer) -> Result<Response, Problem> {
    let card = app.runtime().imports().character_card(scope, container).await?;
    let (kind, extension) = match container {
        CardContainer::Json => ("application/json", "json"),
        CardContainer::Png => ("image/png", "png"),
        CardContainer::Charx => ("application/zip", "charx"),
    };
    // A persona's id may contain quotes and any script, a header only plain ASCII.
    let id = scope.persona.as_str();
    let is_plain = id.chars().all(|character| character.is_ascii_alphanumeric() || "-_".contains(character));
    let name = if is_plain { id } else { "character" };
    Ok(download(kind, &format!("{name}.{extension}"), card.into()))
}

fn download(kind: &str, name: &str, body: Body) -> Response {
    let disposition = format!("attachment; filename=\"{name}\"");
    let headers = [(CONTENT_TYPE, kind.to_owned()), (CONTENT_DISPOSITION, disposition)];
    (headers, body).into_response()
}

async fn write_archive(app: &App, persona: Option<PersonaId>, out: ChunkWriter) -> Result<(), io::Error> {
    let written = app.parts.archives.write_archive(persona, app.now(), Box::new(out)).await;
    written.map(|_report| ()).map_err(io::Error::other)
}

type Chunk = io::Result<Bytes>;

/// Writer that sends chunks to the client; waits if the client is slow, and fails if it has disconnected.
struct ChunkWriter {
    sender: mpsc::Sender<Chunk>,
    buffer: Vec<u8>,
}

fn chunk_channel() -> (ChunkWriter, impl futures_util::Stream<Item = Chunk>) {
    let (sender, receiver) = mpsc::channel(CHUNKS_AHEAD);
    let chunks = stream::unfold(receiver, |mut receiver| async {
        receiver.recv().await.map(|chunk| (chunk, receiver))
    });
    (ChunkWriter { sender, buffer: Vec::with_capacity(CHUNK_SIZE) }, chunks)
}

impl Write for ChunkWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= CHUNK_SIZE {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let chunk = std::mem::replace(&mut self.buffer, Vec::with_capacity(CHUNK_SIZE)).into();
        let gone = |_| io::Error::from(io::ErrorKind::BrokenPipe);
        self.sender.blocking_send(Ok(chunk)).map_err(gone)
    }
}

impl Drop for ChunkWriter {
    fn drop(&mut self) {
        let _gone = self.flush();
    }
}

/// A part of the exported conversation, in order.
enum Piece {
    Session(Box<Session>),
    Message(Box<Message>, Vec<MessageVersion>),
    /// A value in the preceding message that is no longer current.
    Former(Box<FormerValue>),
}

/// Reads session by session, and writes on a thread that may block.
async fn write_conversations(
    app: &App,
    scope: &Scope,
    format: ExportFormat,
    out: ChunkWriter,
) -> io::Result<()> {
    let store = app.runtime().store();
    let persona = app.runtime().persona_of(scope).await.map_err(io::Error::other)?.display_name;
    let user = store.known_user(&scope.user).await.map_err(io::Error::other)?;
    let names = ExportNames { persona, user: user.display_name.unwrap_or_else(|| "User".to_owned()) };
    let blocks = store.core_blocks(scope).await.map_err(io::Error::other)?;
    let sessions = oldest_first(store, scope).await?;
    let (pieces, received) = mpsc::channel(CHUNKS_AHEAD);
    let began = app.now();
    let writing = tokio::task::spawn_blocking(move || match format {
        ExportFormat::Markdown => write_markdown(out, &names, &blocks, received),
        ExportFormat::SillyTavern => write_sillytavern(out, &names, began, received),
        _ => write_chatgpt(out, &names, received),
    });
    'sessions: for id in sessions {
        let Some(session) = store.session(id).await.map_err(io::Error::other)? else { continue };
        if pieces.send(Piece::Session(Box::new(session))).await.is_err() {
            break;
        }
        let messages = store.session_messages(id).await.map_err(io::Error::other)?;
        let mut versions = store.message_versions(id).await.map_err(io::Error::other)?;
        let mut former = OutdatedValues::former_values_in_messages(store, scope, &messages)
            .await
            .map_err(io::Error::other)?;
        for message in messages {
            let former = former.remove(&message.id).map(|value| Piece::Former(Box::new(value)));
            let versions = versions.remove(&message.id).unwrap_or_default();
            for piece in [Some(Piece::Message(Box::new(message), versions)), former].into_iter().flatten() {
                if pieces.send(piece).await.is_err() {
                    break 'sessions;
                }
            }
        }
    }
    drop(pieces);
    writing.await.map_err(io::Error::other)?
}

async fn oldest_first(store: &dyn Store, scope: &Scope) -> io::Result<Vec<SessionId>> {
    let mut ids = Vec::new();
    loop {
        let filter = SessionFilter {
            scope: Some(scope.clone()),
            status: None,
            before: ids.last().copied(),
            limit: SESSIONS_AT_ONCE,
        };
        let page = store.sessions(filter).await.map_err(io::Error::other)?;
        if page.is_empty() {
            break;
        }
        ids.extend(page.into_iter().map(|session| session.id));
    }
    ids.reverse();
    Ok(ids)
}

struct ExportNames {
    persona: String,
    user: String,
}

impl ExportNames {
    fn for_role<'a>(&'a self, role: Role, speaker: Option<&'a str>) -> &'a str {
        match role {
            Role::User => &self.user,
            Role::Persona => &self.persona,
            Role::Other => speaker.unwrap_or("somebody"),
        }
    }
}

type Pieces = mpsc::Receiver<Piece>;

fn write_markdown(
    mut out: ChunkWriter,
    names: &ExportNames,
    blocks: &CoreBlocks,
    mut pieces: Pieces,
) -> io::Result<()> {
    writeln!(out, "# {}\n", names.persona)?;
    for (label, block) in [("persona", &blocks.persona), ("user", &blocks.user), ("style", &blocks.style)] {
        if !block.trim().is_empty() {
            writeln!(out, "## {label}\n\n{}\n", block.trim())?;
        }
    }
    let (mut day, mut title) = (None, None);
    while let Some(piece) = pieces.blocking_recv() {
        let (message, versions) = match piece {
            Piece::Message(message, versions) => (message, versions),
            Piece::Former(value) => {
                let (until, current) = (value.until.strftime("%Y-%m-%d"), one_line(&value.current_text));
                let what = if value.mistaken { "Wrong, corrected on" } else { "No longer current since" };
                writeln!(out, "> {what} {until}: {current}\n")?;
                continue;
            }
            Piece::Session(session) => {
                if session.title.is_some() && session.title != title {
                    writeln!(out, "# {}\n", one_line(session.title.as_deref().unwrap_or_default()))?;
                    day = None;
                }
                title = session.title;
                continue;
            }
        };
        if day.replace(message.day) != Some(message.day) {
            writeln!(out, "## {}\n", message.day)?;
        }
        let time = message.created_at.strftime("%H:%M");
        let speaker = names.for_role(message.role, message.speaker.as_deref());
        writeln!(out, "**{speaker}** ({time} UTC): {}\n", message.content)?;
        for version in versions {
            let speaker = names.for_role(version.role, version.speaker.as_deref());
            writeln!(out, "> Another version, {speaker}: {}\n", version.content.replace('\n', "\n> "))?;
        }
    }
    out.flush()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn write_sillytavern(
    out: ChunkWriter,
    names: &ExportNames,
    began: jiff::Timestamp,
    mut pieces: Pieces,
) -> io::Result<()> {
    let mut writer = SillyTavernWriter::new(out, "echovessel", &names.persona, &names.user, began)?;
    while let Some(piece) = pieces.blocking_recv() {
        if let Piece::Message(message, versions) = piece {
            writer.write(&exported_message(*message, versions, names))?;
        }
    }
    writer.finish().map(|_| ())
}

fn write_chatgpt(out: ChunkWriter, names: &ExportNames, mut pieces: Pieces) -> io::Result<()> {
    let mut writer = ChatGptWriter::new(out)?;
    while let Some(piece) = pieces.blocking_recv() {
        match piece {
            Piece::Session(session) => {
                let began = || session.first_message_at.strftime("%Y-%m-%d %H:%M").to_string();
                let title = session.title.clone().unwrap_or_else(began);
                let id = session.id.to_string();
                writer.begin(&id, &title, MessageTime::Instant(session.first_message_at))?;
            }
            Piece::Message(message, versions) => {
                writer.write(&exported_message(*message, versions, names))?
            }
            // The format can't represent it.
            Piece::Former(_) => {}
        }
    }
    writer.finish().map(|_| ())
}

fn exported_message(message: Message, versions: Vec<MessageVersion>, names: &ExportNames) -> Exported {
    let alternatives = versions.into_iter().enumerate().map(|(index, version)| Alternative {
        id: format!("{}#{index}", message.id),
        follows: match version.place {
            VersionPlace::Alternative => None,
            VersionPlace::AfterMessage => Some(message.id.to_string()),
            VersionPlace::AfterVersion(index) => Some(format!("{}#{index}", message.id)),
        },
        speaker: names.for_role(version.role, version.speaker.as_deref()).to_owned(),
        role: exported_role(version.role),
        time: version.said_at.map_or(MessageTime::Unknown, MessageTime::Instant),
        text: version.content,
        model: version.model,
    });
    let alternatives: Vec<Alternative> = alternatives.collect();
    Exported {
        id: ExternalId::Given(message.id.to_string()),
        conversation: message.session_id.to_string(),
        id_space: None,
        speaker: names.for_role(message.role, message.speaker.as_deref()).to_owned(),
        role: exported_role(message.role),
        time: MessageTime::Instant(message.created_at),
        text: message.content,
        // Earlier messages come first.
        shown_index: alternatives.iter().filter(|version| version.follows.is_none()).count(),
        alternatives,
        attachments: Vec::new(),
        model: message.model,
        is_cleaned: false,
        place: String::new(),
    }
}

fn exported_role(role: Role) -> ExportedRole {
    match role {
        Role::User => ExportedRole::User,
        Role::Persona => ExportedRole::Persona,
        Role::Other => ExportedRole::Other,
    }
}
