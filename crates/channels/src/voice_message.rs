//! Files of received and sent voice messages.

use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::multipart::Part;
use reqwest::{Client, Url};
use runtime::Sound;

use crate::delivery_error::DeliveryError;

/// Largest recording that is fetched; platforms give bots no larger one.
pub(crate) const RECORDING_BYTES_MAX: usize = 20 * 1024 * 1024;
/// Time limit for fetching a file: platforms accept some 20 MB, and a slow line needs most of a minute for that.
const FETCH_TIMEOUT: Duration = Duration::from_secs(60);
/// Points of a waveform. Discord's own apps draw no more.
const WAVEFORM_POINTS: usize = 256;

/// A voice message that is sent.
#[derive(Clone, Debug, PartialEq)]
pub struct VoiceMessage {
    pub ogg_opus: Vec<u8>,
    pub seconds: f64,
    /// The loudness over time, at most 256 points. Apps draw it.
    pub waveform: Vec<u8>,
}

impl VoiceMessage {
    /// Encodes a sound as a voice message. It takes some milliseconds for each second of sound.
    pub(crate) fn from_sound(sound: &Sound) -> Result<Self, String> {
        let ogg_opus = sound.to_ogg_opus().map_err(|error| error.to_string())?;
        Ok(Self { ogg_opus, seconds: sound.seconds(), waveform: sound.waveform(WAVEFORM_POINTS) })
    }

    /// The voice message as a part of a multipart form.
    pub(crate) fn to_form_part(&self) -> Part {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("audio/ogg"));
        Part::bytes(self.ogg_opus.clone()).file_name("voice-message.ogg").headers(headers)
    }
}

/// Fetches a file of a message. No error contains the address, which may contain the token.
pub(crate) async fn fetch(client: &Client, address: Url, bytes_max: usize) -> Result<Vec<u8>, DeliveryError> {
    let passing = |error: reqwest::Error| {
        DeliveryError::Transient(format!("the file can't be fetched: {}", error.without_url()))
    };
    let mut response = client.get(address).timeout(FETCH_TIMEOUT).send().await.map_err(passing)?;
    let status = response.status();
    if status.is_client_error() {
        return Err(DeliveryError::Permanent(format!("the file no longer exists ({status})")));
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
