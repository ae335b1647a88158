//! The life of a persona: a message comes in and is answered, silence becomes memory, and subscribers learn of it.
//!
//! - [`turns`]: [`turns::inbox`] stores each message before its sender is answered; [`turns::conversations`] groups a burst into one
//!   turn, and holds what waits.
//!   [`turns::turn`] decides the order of a turn's steps, and no other file does.
//! - [`sessions`]: ends quiet sessions and consolidates them.
//! - [`hub_work`]: writes the diary, exchanges documents with another home, and draws the graph.
//! - [`vectors`], [`voice`], [`imports`]: vectors in the background, speech, and files of other programs.
//! - [`proactive`]: lets the persona write by itself.
//! - [`changes`]: forgets and corrects, without letting work that is under way bring the former text back.
//! - [`events`]: sends what happened to subscribers. A slow one delays nobody.
//!
//! [`core`] holds what all of these are given, [`worker`] the loop of everything in the background, and [`runtime`] starts and stops it.

mod turns;
mod imports;
mod voice;
mod events;
mod sessions;
mod vectors;
mod hub_work;
mod proactive;
mod changes;
mod ledger;
mod persona_draft;
mod model;
mod metrics;
mod spending;
mod core;
mod runtime;
mod worker;
mod settings;

pub use ::voice::{Listener, Sound, Speaker, VoiceError};
pub use changes::corrections::RegenerateError;
pub use core::{RuntimeCore, RuntimeParts};
pub use events::bodies::{AccessCreated, AccessKind, ConnectionReady, Empty, EventStream, SettingsUpdated};
pub use events::broadcast::{Broadcast, Delivery, Subscription};
pub use events::server_event::{ServerEvent, WireEvent};
pub use hub_work::embodiment::{FollowedHub, HubStanding, HubState};
pub use imports::{
    ImportError, ImportParts, ImportRecorder, ImportRequest, ImportState, ImportStatusReport, ImportUpload,
    ImportUploadWriter, PipelineEvent, PipelineOutcome, PipelineStatus, PipelineStep, PipelineWatch,
    RecordError, SavedCharacter, StartedImport, UndoneImport, UploadedFile, WritesByTarget, check_is_known,
};
pub use ledger::Ledger;
pub use metrics::{GaugeGuard, Metrics};
pub use mind::{PersonaDraft, PersonaDraftInput};
pub use model::ReloadableModel;
pub use runtime::{OptionalParts, Runtime};
pub use settings::{ProactiveSettings, RuntimeSettings, TraceSettings};
pub use spending::Spending;
pub use turns::channels::{ChannelReceipt, ChannelStatus, ExternalMessage, LinkCode, OutboundChannels};
pub use turns::inbox::{AcceptError, AcceptedMessage, IncomingMessage};
pub use turns::recall::RecalledMemory;
pub use turns::turn_event::TurnEvent;
pub use turns::utility::{UtilityAnswer, UtilityError};
pub use vectors::changeover::VectorState;
pub use voice::files::LISTENING_FOLDER;
pub use voice::files::VoiceNote;
pub use voice::notes::{FetchError, VOICE_MESSAGE};
pub use voice::samples::VoiceSampleInfo;
pub use voice::speech::{SpeechError, SpokenMessage, Transcript, VoiceParts, VoiceSettings};
