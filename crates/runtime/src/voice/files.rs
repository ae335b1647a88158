//! Sound on the disk: spoken replies, recordings, samples of voices. Written whole or not at all, deleted with the
//! message or persona that it belongs to.

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
/// Recordings whose message is not sent yet.
const PENDING: &str = "pending";
/// Recordings that a local program reads at the moment.
pub const LISTENING_FOLDER: &str = "listening";
const RECORDING: &str = "recording.wav";
/// The file with the origin of a voice message that is not transcribed yet.
const NOTE_FILE_NAME: &str = "note.json";

pub(crate) struct VoiceFiles {
    folder: PathBuf,
    written: AtomicU64,
}

impl VoiceFiles {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder, written: AtomicU64::new(0) }
    }

    /// The sound of a message: its spoken text, or the recording that it was transcribed from.
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

    /// The message's text as spoken by this voice, if it is there.
    pub(crate) async fn load_speech(&self, message: &Message, voice: &str) -> io::Result<Option<Vec<u8>>> {
        match tokio::fs::read(self.spoken_path(message, voice)).await {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Keeps the message's sound in place of an earlier one.
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

    /// The folder of a message's sound: what is asked about one message never lists those of all others.
    fn recording_path(&self, message: MessageId) -> PathBuf {
        self.folder.join(MESSAGES).join(message.to_string())
    }

    /// Keeps a recording until its message is sent.
    pub(crate) async fn keep_pending(&self, id: &str, wav: &[u8]) -> io::Result<()> {
        self.write(&self.folder.join(PENDING).join(format!("{id}.wav")), wav).await
    }

    /// The recording belongs to this message from now on; false if there is none.
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

    /// Keeps where a voice message is fetched from until it is understood.
    pub(crate) async fn keep_note(&self, message: MessageId, note: &VoiceNote) -> io::Result<()> {
        self.write(&self.recording_path(message).join(NOTE_FILE_NAME), &serde_json::to_vec(note)?).await
    }

    /// The voice messages that are not understood yet, by message. One that can't be read is left out.
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

    /// A voice message was understood, or will not be.
    pub(crate) async fn forget_note(&self, message: MessageId) -> io::Result<()> {
        match tokio::fs::remove_file(self.recording_path(message).join(NOTE_FILE_NAME)).await {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Deletes what belongs to these messages.
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

    /// Deletes what a crash left: half-written files, and recordings that were never sent or were being listened to.
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

    /// Deletes the samples of a persona.
    pub(crate) async fn forget_samples(&self, persona: &PersonaId) -> io::Result<()> {
        remove_folder(&self.samples_folder(persona)).await
    }

    /// Writes a file whole, readable by its owner only: another name first, then renamed.
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

/// Files of a folder whose names match, sorted; none if the folder does not exist.
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

/// Names a text; a change of the digest only means that a sound is made again.
fn digest(text: &str) -> String {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
