//! Channels to other platforms.
//!
//! [`Channel`] is the port of a platform. [`Channels`] does what all of them share: it decides who may write, links
//! accounts by codes, receives without losing or repeating messages, and delivers from a durable outbox.

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
