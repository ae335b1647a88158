//! Sound files: spoken replies, recordings, voice samples. Written in one step, and deleted with their message or
//! persona.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use memory::PersonaId;
use memory::identifiers::MessageId;
use memory::messages::Message;
use tokio::io::AsyncWriteExt as _;

use crate::channels::VoiceNote;

const MESSAGES: &str = "messages";
const SAMPLES: &str = "samples";
/// Folder of recordings whose message is not sent yet.
const PENDING: &str = "pending";
/// Folder of recordings that a local program is reading.
pub const LISTENING_FOLDER: &str = "listening";
const RECORDING: &str = "recording.wav";
/// Name of the file with the origin of a voice message that is not transcribed yet.
const NOTE_FILE_NAME: &str = "note.json";

pub(crate) struct VoiceFiles {
    folder: PathBuf,
    /// Number of files written. It keeps apart the temporary files of writers at the same time.
    written: AtomicU64,
}

impl VoiceFiles {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder, written: AtomicU64::new(0) }
    }

    /// The sound of a message: its spoken text, or its recording.
    pub(crate) async fn read_sound(&self, message: &Message) -> io::Result<Option<Vec<u8>>> {
        let spoken = digest(&message.content);
        let found = list_matching_files(&self.recording_path(message.id), |name| {
            name.starts_with(&spoken) || name == RECORDING
        })
        .await?;
        match found.first() {
            Some(path) => tokio::fs::read(path).await.map(Some),
            None => Ok(None),
        }
    }

    /// The message's text as spoken by this voice, if it is stored.
    pub(crate) async fn load_speech(&self, message: &Message, voice: &str) -> io::Result<Option<Vec<u8>>> {
        match tokio::fs::read(self.spoken_path(message, voice)).await {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Stores the message's sound, replacing an earlier one.
    pub(crate) async fn store_spoken(&self, message: &Message, voice: &str, wav: &[u8]) -> io::Result<()> {
        let path = self.spoken_path(message, voice);
        self.write(&path, wav).await?;
        for earlier in list_matching_files(&self.recording_path(message.id), |name| {
            name != RECORDING && name.ends_with(".wav")
        })
        .await?
        {
            if earlier != path {
                tokio::fs::remove_file(earlier).await?;
            }
        }
        Ok(())
    }

    fn spoken_path(&self, message: &Message, voice: &str) -> PathBuf {
        self.recording_path(message.id).join(format!("{}-{}.wav", digest(&message.content), digest(voice)))
    }

    /// The folder of a message's sound. Each message has its own, so that no listing includes all of them.
    fn recording_path(&self, message: MessageId) -> PathBuf {
        self.folder.join(MESSAGES).join(message.to_string())
    }

    /// Stores a recording until its message is sent.
    pub(crate) async fn store_pending_recording(&self, id: &str, wav: &[u8]) -> io::Result<()> {
        self.write(&self.folder.join(PENDING).join(format!("{id}.wav")), wav).await
    }

    /// Assigns a recording to this message; false if there is none.
    pub(crate) async fn attach_recording(&self, id: &str, message: MessageId) -> io::Result<bool> {
        let is_name = !id.is_empty() && id.chars().all(|letter| letter.is_ascii_hexdigit() || letter == '-');
        let from = self.folder.join(PENDING).join(format!("{id}.wav"));
        if !is_name || !tokio::fs::try_exists(&from).await? {
            return Ok(false);
        }
        let folder = self.recording_path(message);
        create_folder(&folder).await?;
        tokio::fs::rename(from, folder.join(RECORDING)).await?;
        Ok(true)
    }

    /// Stores the origin of a voice message until it is transcribed.
    pub(crate) async fn store_voice_note(&self, message: MessageId, note: &VoiceNote) -> io::Result<()> {
        self.write(&self.recording_path(message).join(NOTE_FILE_NAME), &serde_json::to_vec(note)?).await
    }

    /// The voice messages that are not transcribed yet, by message. Unreadable files are skipped.
    pub(crate) async fn read_voice_notes(&self) -> io::Result<BTreeMap<MessageId, VoiceNote>> {
        let mut notes = BTreeMap::new();
        for message in self.messages().await? {
            match tokio::fs::read(self.recording_path(message).join(NOTE_FILE_NAME)).await {
                Ok(bytes) => notes.extend(serde_json::from_slice(&bytes).ok().map(|note| (message, note))),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(notes)
    }

    /// Deletes the origin of a voice message that was transcribed, or never will be.
    pub(crate) async fn forget_note(&self, message: MessageId) -> io::Result<()> {
        match tokio::fs::remove_file(self.recording_path(message).join(NOTE_FILE_NAME)).await {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Deletes all sound of these messages.
    pub(crate) async fn delete_for_messages(&self, messages: &BTreeSet<MessageId>) -> io::Result<()> {
        for message in messages {
            remove_folder(&self.recording_path(*message)).await?;
        }
        Ok(())
    }

    /// The messages that have sound.
    pub(crate) async fn messages(&self) -> io::Result<BTreeSet<MessageId>> {
        let folders = list_matching_files(&self.folder.join(MESSAGES), |_| true).await?;
        let names = folders.iter().filter_map(|folder| folder.file_name()?.to_str());
        Ok(names.filter_map(|name| name.parse().ok()).collect())
    }

    /// Deletes leftovers of a crash: partial files, unsent recordings, and recordings that were being transcribed.
    pub(crate) async fn delete_leftovers(&self) -> io::Result<()> {
        for message in self.messages().await? {
            for unfinished in
                list_matching_files(&self.recording_path(message), |name| name.ends_with(".part")).await?
            {
                tokio::fs::remove_file(unfinished).await?;
            }
        }
        remove_folder(&self.folder.join(LISTENING_FOLDER)).await?;
        remove_folder(&self.folder.join(PENDING)).await
    }

    /// The folder of a persona's voice samples.
    pub(crate) fn samples_folder(&self, persona: &PersonaId) -> PathBuf {
        self.folder.join(SAMPLES).join(digest(persona.as_str()))
    }

    /// Deletes the voice samples of a persona.
    pub(crate) async fn forget_samples(&self, persona: &PersonaId) -> io::Result<()> {
        remove_folder(&self.samples_folder(persona)).await
    }

    /// Writes a complete file, readable by its owner only: under another name, then renamed.
    pub(crate) async fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        if let Some(folder) = path.parent() {
            create_folder(folder).await?;
        }
        let number = self.written.fetch_add(1, Ordering::Relaxed);
        let unfinished = path.with_extension(format!("{number}.part"));
        let mut options = tokio::fs::OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        options.mode(0o600);
        let mut file = options.open(&unfinished).await?;
        file.write_all(bytes).await?;
        file.sync_all().await?;
        tokio::fs::rename(unfinished, path).await
    }
}

async fn create_folder(folder: &Path) -> io::Result<()> {
    let mut builder = tokio::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    builder.mode(0o700);
    builder.create(folder).await
}

async fn remove_folder(folder: &Path) -> io::Result<()> {
    match tokio::fs::remove_dir_all(folder).await {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Files of a folder whose names match, sorted; empty if the folder does not exist.
pub(crate) async fn list_matching_files(
    folder: &Path,
    fits: impl Fn(&str) -> bool,
) -> io::Result<Vec<PathBuf>> {
    let mut entries = match tokio::fs::read_dir(folder).await {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut found = Vec::new();
    while let Some(entry) = entries.next_entry().await? {
        if entry.file_name().to_str().is_some_and(&fits) {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

/// Digest of a text. A change of its form only means that sounds are made again.
fn digest(text: &str) -> String {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
