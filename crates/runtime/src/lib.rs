//! The runtime of a persona: answers messages, consolidates ended sessions, and notifies subscribers.
//!
//! Each folder is a service: one struct that gets its dependencies in `new`. In the order of their dependencies:
//!
//! - [`core`]: the shared state. [`worker`] is the loop of all background work.
//! - [`events`]: sends events to subscribers. A slow one delays nobody.
//! - [`hub_work`]: documents of the shared self, the diary, the exchange with another home, and the graph.
//! - [`vectors`]: computes vectors in the background, and searches by them.
//! - [`voice`]: speech and transcription.
//! - [`changes`]: forgets and corrects, and prevents running work from bringing former text back.
//! - [`messages`]: stores messages.
//! - [`recall`]: reads the memories of a prompt.
//! - [`turns`]: [`turns::inbox`] stores each message before it is acknowledged; [`turns::conversations`] groups
//!   messages in a row into one turn, and holds what waits. [`turns::turn`] is the only file that decides the order
//!   of a turn's steps.
//! - [`personas`]: creates and edits personas.
//! - [`imports`]: imports files of other programs.
//! - [`sessions`]: ends quiet sessions and consolidates them.
//! - [`proactive`]: sends proactive messages.
//!
//! [`runtime`] creates them, starts and stops them.

mod core;
mod worker;
mod events;
mod forget_epochs;
mod settings;
mod spending;
mod metrics;
mod ledger;
mod model;
mod utility;
mod channels;
mod hub_work;
mod vectors;
mod voice;
mod changes;
mod messages;
mod recall;
mod turns;
mod personas;
mod imports;
mod sessions;
mod proactive;
mod runtime;

pub use ::voice::{Listener, Sound, Speaker, VoiceError};
pub use changes::Changes;
pub use channels::{
    ChannelReceipt, ChannelStatus, ExternalMessage, FetchError, LinkCode, OutboundChannels, VoiceNote,
};
pub use core::{RuntimeCore, RuntimeParts};
pub use events::bodies::{AccessCreated, AccessKind, SettingsUpdated, TurnFailed};
pub use events::broadcast::{Broadcast, Delivery, Subscription};
pub use events::server_event::{EventData, ServerEvents, WireEvent};
pub use hub_work::embodiment::{Embodiment, FollowedHub, HubState, HubSyncState};
pub use imports::{
    ImportError, ImportParts, ImportRecorder, ImportRequest, ImportState, ImportStatusReport, ImportUpload,
    ImportUploadWriter, Imports, PipelineEvent, PipelineOutcome, PipelineStatus, PipelineStep, PipelineWatch,
    RecordError, SavedCharacter, StartedImport, UndoneImport, UploadedFile, WritesByTarget, check_is_known,
};
pub use ledger::Ledger;
pub use messages::Messages;
pub use metrics::{GaugeGuard, Metrics};
pub use mind::{PersonaDraft, PersonaDraftInput};
pub use model::ReloadableModel;
pub use personas::{PersonaCreation, PersonaEdits, Personas};
pub use recall::Recall;
pub use recall::recalled_memory::RecalledMemory;
pub use runtime::{OptionalParts, Runtime};
pub use sessions::Sessions;
pub use settings::{ProactiveSettings, RuntimeSettings, TraceSettings};
pub use spending::Spending;
pub use turns::Turns;
pub use turns::inbox::{AcceptError, AcceptedMessage, IncomingMessage};
pub use turns::requests::RegenerateError;
pub use turns::turn_event::TurnEvent;
pub use turns::voice_messages::VOICE_MESSAGE;
pub use utility::{UtilityAnswer, UtilityError};
pub use vectors::{VectorState, Vectors};
pub use voice::Voice;
pub use voice::files::LISTENING_FOLDER;
pub use voice::samples::VoiceSampleInfo;
pub use voice::speech::{SpeechError, SpokenMessage, Transcript, VoiceParts, VoiceSettings};
