//! Sound in memory: one channel of 16-bit samples.

use crate::duration::longest_plausible_duration;
use crate::ogg_opus;
use crate::quality::Quality;
use crate::sound_error::SoundError;
use crate::wav::{self, LengthTrust};

/// Bytes of the header written by [`Sound::to_wav`].
const HEADER_BYTES: usize = 44;

/// One channel of sound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sound {
    samples: Vec<i16>,
    rate: u32,
}

impl Sound {
    /// Creates a sound from samples, `rate` per second.
    pub fn new(samples: Vec<i16>, rate: u32) -> Self {
        Self { samples, rate: rate.max(1) }
    }

    /// Decodes a WAV or Ogg Opus file of at most `seconds_max`; several channels become one.
    ///
    /// # Errors
    ///
    /// When it is neither, its header does not match its content, or it is longer. No more is decoded than allowed.
    pub fn read(bytes: &[u8], trust: LengthTrust, seconds_max: u64) -> Result<Self, SoundError> {
        if ogg_opus::is_ogg(bytes) {
            return Ok(Self::new(ogg_opus::read(bytes, seconds_max)?, ogg_opus::READ_RATE));
        }
        let format = wav::format(bytes, trust)?;
        if format.seconds() > seconds_max as f64 {
            return Err(SoundError::TooLong { seconds: format.seconds().round() as u64, seconds_max });
        }
        Ok(Self { rate: format.rate, samples: format.decode() })
    }

    /// Decodes the sound of a spoken text.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read), and when it is much longer than the text, or silent.
    pub(crate) fn read_speech(bytes: &[u8], text: &str) -> Result<Self, SoundError> {
        let seconds_max = longest_plausible_duration(text).as_secs();
        let sound = Self::read(bytes, LengthTrust::UntilTheEnd, seconds_max)?;
        if sound.quality().is_silent() { Err(SoundError::Silent) } else { Ok(sound) }
    }

    /// Samples of the sound per second.
    pub fn sample_rate(&self) -> u32 {
        self.rate
    }

    /// The samples in order.
    pub fn samples(&self) -> &[i16] {
        &self.samples
    }

    /// The length in seconds.
    pub fn seconds(&self) -> f64 {
        self.samples.len() as f64 / f64::from(self.rate)
    }

    /// Loudness, silence and clipping.
    pub fn quality(&self) -> Quality {
        Quality::from_samples(&self.samples, self.rate)
    }

    /// Appends a sound, converted to the rate of this one.
    pub fn append(&mut self, other: &Self) {
        if self.samples.is_empty() {
            *self = other.clone();
        } else if other.rate == self.rate {
            self.samples.extend_from_slice(&other.samples);
        } else {
            let resampled = other.resample(self.rate);
            self.samples.extend(resampled);
        }
    }

    /// The samples at another rate, interpolated linearly: voices of two languages may have different rates.
    fn resample(&self, rate: u32) -> Vec<i16> {
        let length = self.samples.len() as u64 * u64::from(rate) / u64::from(self.rate);
        let step = f64::from(self.rate) / f64::from(rate);
        (0..length)
            .map(|index| {
                let place = index as f64 * step;
                let (before, share) = (place as usize, place.fract());
                let at = |index: usize| {
                    f64::from(self.samples.get(index).or(self.samples.last()).copied().unwrap_or_default())
                };
                (at(before) * (1.0 - share) + at(before + 1) * share).round() as i16
            })
            .collect()
    }

    /// The sound as an Ogg Opus file, the format of voice messages in messengers.
    ///
    /// # Errors
    ///
    /// When the encoder refuses the samples.
    pub fn to_ogg_opus(&self) -> Result<Vec<u8>, SoundError> {
        ogg_opus::write(&self.resample(ogg_opus::WRITTEN_RATE))
    }

    /// The loudest sample in each of at most `points` parts of equal length, from 0 to 255, for drawing a waveform.
    pub fn waveform(&self, points: usize) -> Vec<u8> {
        let part = self.samples.len().div_ceil(points.max(1)).max(1);
        let loudest =
            |part: &[i16]| part.iter().map(|sample| sample.unsigned_abs()).max().unwrap_or_default();
        self.samples.chunks(part).map(|part| (loudest(part) >> 7).min(255) as u8).collect()
    }

    /// Encodes the sound as a WAV file of 16-bit samples.
    pub fn to_wav(&self) -> Vec<u8> {
        let data = u32::try_from(self.samples.len() * 2).unwrap_or(u32::MAX - HEADER_BYTES as u32);
        let mut bytes = Vec::with_capacity(HEADER_BYTES + data as usize);
        bytes.extend_from_slice(b"RIFF");
        bytes.extend_from_slice(&(data + HEADER_BYTES as u32 - 8).to_le_bytes());
        bytes.extend_from_slice(b"WAVEfmt \x10\0\0\0\x01\0\x01\0");
        bytes.extend_from_slice(&self.rate.to_le_bytes());
        bytes.extend_from_slice(&(self.rate.saturating_mul(2)).to_le_bytes());
        bytes.extend_from_slice(b"\x02\0\x10\0data");
        bytes.extend_from_slice(&data.to_le_bytes());
        for sample in self.samples.iter().take(data as usize / 2) {
            bytes.extend_from_slice(&sample.to_le_bytes());
        }
        bytes
    }
}
