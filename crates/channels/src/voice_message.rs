//! Voice messages: the file of one that arrived, and one that leaves.

use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::multipart::Part;
use reqwest::{Client, Url};
use runtime::Sound;

use crate::delivery_error::DeliveryError;

/// Largest recording that is fetched: as much as platforms give to bots.
pub(crate) const RECORDING_BYTES_MAX: usize = 20 * 1024 * 1024;
/// Time that a file may take.
const FETCHED_WITHIN: Duration = Duration::from_secs(60);
/// Points of the picture of a sound. Discord's own clients draw no more.
const WAVEFORM_POINTS: usize = 256;

/// A voice message that is sent.
#[derive(Clone, Debug, PartialEq)]
pub struct VoiceMessage {
    pub ogg_opus: Vec<u8>,
    pub seconds: f64,
    /// The loudness of the sound over time, at most 256 points, which apps draw.
    pub waveform: Vec<u8>,
}

impl VoiceMessage {
    /// The sound as a voice message. It takes some milliseconds for each second.
    pub(crate) fn from_sound(sound: &Sound) -> Result<Self, String> {
        let ogg_opus = sound.to_ogg_opus().map_err(|error| error.to_string())?;
        Ok(Self { ogg_opus, seconds: sound.seconds(), waveform: sound.waveform(WAVEFORM_POINTS) })
    }

    /// The file in a form.
    pub(crate) fn to_form_part(&self) -> Part {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("audio/ogg"));
        Part::bytes(self.ogg_opus.clone()).file_name("voice-message.ogg").headers(headers)
    }
}

/// Fetches a file that belongs to a message. No error holds the address, which may hold the token.
pub(crate) async fn fetch(client: &Client, address: Url, bytes_max: usize) -> Result<Vec<u8>, DeliveryError> {
    let passing = |error: reqwest::Error| {
        DeliveryError::Transient(format!("the file can't be fetched: {}", error.without_url()))
    };
    let mut response = client.get(address).timeout(FETCHED_WITHIN).send().await.map_err(passing)?;
    let status = response.status();
    if status.is_client_error() {
        return Err(DeliveryError::Permanent(format!("the file does not exist any more ({status})")));
    }
    if !status.is_success() {
        return Err(DeliveryError::Transient(format!("the file can't be fetched ({status})")));
    }
    let mut file = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(passing)? {
        if file.len() + piece.len() > bytes_max {
            return Err(DeliveryError::Permanent(format!("the file is larger than {bytes_max} bytes")));
        }
        file.extend_from_slice(&piece);
    }
    Ok(file)
}
