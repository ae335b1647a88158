//! Channels beyond this program.
//!
//! [`Channel`] is what a platform has to offer. [`Channels`] does what is the same for all of them: who may write, linking
//! an account by a code, receiving without losing or repeating anything, and delivering from a durable outbox.

mod channel;
mod connections;
mod delivery_error;
mod service;
mod inbound;
mod delivery;
mod split;
mod voice_message;
mod address;
mod discord;
mod telegram;

pub use channel::{
    Channel, ChannelState, DeliveredPiece, Inbound, Piece, PieceOrigin, Shutdown, Update, UpdateKind,
};
pub use connections::ChannelSettings;
pub use delivery_error::DeliveryError;
pub use discord::{DISCORD_API, Discord, DiscordError, DiscordSettings};
pub use service::{Channels, ChannelsParts};
pub use telegram::{TELEGRAM_API, Telegram, TelegramError, TelegramSettings};
pub use voice_message::VoiceMessage;
