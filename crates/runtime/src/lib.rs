//! The life of a persona: a message comes in and is answered, silence becomes memory, and subscribers learn of it.
//!
//! Each folder is a service: one struct that is given in `new` what it needs. In the order in which they need each other:
//!
//! - [`core`]: what all of them are given. [`worker`] is the loop of everything in the background.
//! - [`events`]: sends what happened to subscribers. A slow one delays nobody.
//! - [`hub_work`]: documents of the shared self, the diary, the exchange with another home, and the graph.
//! - [`vectors`]: makes vectors in the background, and searches by them.
//! - [`voice`]: speech and transcription.
//! - [`changes`]: forgets and corrects, without letting work that is under way bring the former text back.
//! - [`messages`]: stores messages.
//! - [`recall`]: reads the memories of a prompt.
//! - [`turns`]: [`turns::inbox`] stores each message before its sender is answered; [`turns::conversations`] groups a burst into one
//!   turn, and holds what waits. [`turns::turn`] decides the order of a turn's steps, and no other file does.
//! - [`personas`]: a person creates and edits personas.
//! - [`imports`]: files of other programs.
//! - [`sessions`]: ends quiet sessions and consolidates them.
//! - [`proactive`]: lets the persona write by itself.
//!
//! [`runtime`] puts them together, starts and stops them.

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
pub use hub_work::embodiment::{Embodiment, FollowedHub, HubStanding, HubState};
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
