//! Speech and transcription.
//!
//! [`Speaker`] converts a sentence to [`Sound`], [`Listener`] a recording to text. Their providers are a local
//! program ([`CommandSpeaker`], [`CommandListener`]), any OpenAI-compatible endpoint ([`OpenAiSpeaker`],
//! [`OpenAiListener`]) and Fish Audio ([`FishSpeaker`]). All of them exchange WAV; [`Sound`] reads, measures and
//! writes it, and Ogg Opus for voice messages. [`SentenceFeed`] finds the sentences of a reply while it is written,
//! [`installed_programs`] the local programs of this machine.

mod provider;
mod duration;
mod sound_error;
mod sound;
mod wav;
mod ogg_opus;
mod quality;
mod sentence_feed;
mod command;
mod endpoint;
mod openai;
mod fishaudio;
mod installed;

pub use command::{CommandListener, CommandSpeaker, VOICE_PLACEHOLDER, child_environment};
pub use duration::{estimated_duration, longest_plausible_duration};
pub use endpoint::{EndpointSettings, is_secure_url};
pub use fishaudio::FishSpeaker;
pub use installed::{InstalledProgram, find_program, installed_programs};
pub use openai::{OpenAiListener, OpenAiSpeaker};
pub use provider::{Listener, Recording, Speaker, SpeechRequest, VoiceError, VoiceSample, language_code};
pub use quality::{Quality, QualityProblem};
pub use sentence_feed::SentenceFeed;
pub use sound::Sound;
pub use sound_error::SoundError;
pub use wav::{LengthTrust, wav_duration};
