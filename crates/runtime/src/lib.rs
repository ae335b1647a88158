//! The life of a persona: words come in, a turn answers them, silence becomes memory, and everybody who watches is
//! told.
//!
//! [`turn`] decides the order of a turn's steps, and no other file does. [`inbox`] makes each line durable before its
//! sender hears of it and gathers bursts. [`broadcast`] tells what happened without ever slowing it. [`idle`] ends
//! quiet sessions, [`consolidator`] makes memory of them, [`diary`] tells the shared self of it, `relations` draws the graph from it, [`vectors`] fills in
//! vectors in the background, [`proactive`] lets the persona write by itself, [`changeover`] leads from one embedding model to the next, [`entities`] takes what a person
//! decides about who is whom, [`forget`] takes away without letting what is under way bring it back. [`turn_trace`] keeps how a turn went, [`housekeeping`] lets it go
//! again, and [`spending`] holds the day's costs.

mod inbox;
mod channels;
mod remember;
mod imports;
mod turn;
mod own_line;
mod receipt;
mod reply_speech;
mod recall;
mod after_turn;
mod event_bodies;
mod memory_event_bodies;
mod events;
mod broadcast;
mod idle;
mod consolidator;
mod vectors;
mod diary;
mod embodiment;
mod proactive;
mod relations;
mod changeover;
mod entities;
mod forget;
mod ledger;
mod corrected;
mod corrections;
mod said_corrections;
mod search;
mod utility;
mod persona_draft;
mod model;
mod metrics;
mod spending;
mod housekeeping;
mod turn_trace;
mod core;
mod runtime;
mod worker;
mod settings;
mod voice;
mod voice_files;
mod voice_notes;
mod voice_samples;

pub use ::voice::{Listener, Sound, Speaker, VoiceError};
pub use broadcast::{Broadcast, Delivery, Subscription};
pub use changeover::VectorState;
pub use channels::{ChannelReceipt, ChannelStatus, ExternalMessage, LinkCode, OutboundChannels};
pub use core::{RuntimeCore, RuntimeParts};
pub use corrections::RegenerateError;
pub use embodiment::{FollowedHub, HubStanding, HubState};
pub use event_bodies::{AccessCreated, AccessKind, ConnectionReady, Empty, EventStream, SettingsUpdated};
pub use events::{ServerEvent, WireEvent};
pub use imports::{
    ImportError, ImportParts, ImportRecorder, ImportRequest, ImportState, ImportStatusReport, ImportUpload,
    ImportUploadWriter, PipelineEvent, PipelineOutcome, PipelineStatus, PipelineStep, PipelineWatch,
    RecordError, SavedCharacter, StartedImport, UndoneImport, UploadedFile, WritesByTarget, check_is_known,
};
pub use inbox::{AcceptError, AcceptedMessage, IncomingMessage};
pub use ledger::Ledger;
pub use metrics::{GaugeGuard, Metrics};
pub use mind::{PersonaDraft, PersonaDraftInput};
pub use model::ReloadableModel;
pub use recall::RecalledMemory;
pub use runtime::{OptionalParts, Runtime};
pub use settings::{ProactiveSettings, RuntimeSettings, TraceSettings};
pub use spending::Spending;
pub use turn::TurnEvent;
pub use utility::{UtilityAnswer, UtilityError};
pub use voice::{SpeechError, SpokenMessage, Transcript, VoiceParts, VoiceSettings};
pub use voice_files::LISTENING_FOLDER;
pub use voice_notes::{FetchError, VOICE_MESSAGE, VoiceNote};
pub use voice_samples::VoiceSampleInfo;
