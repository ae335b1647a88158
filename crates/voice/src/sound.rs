//! Sound in memory: one channel of 16-bit samples.

use crate::quality::Quality;
use crate::wav::{self, LengthTrust, WavError};

/// Bytes of the header that [`Sound::to_wav`] writes.
const HEADER_BYTES: usize = 44;

/// One channel of sound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sound {
    samples: Vec<i16>,
    rate: u32,
}

impl Sound {
    /// Sound of these samples, `rate` a second.
    pub fn new(samples: Vec<i16>, rate: u32) -> Self {
        Self { samples, rate: rate.max(1) }
    }

    /// Reads a WAV file that lasts at most `seconds_max`; several channels become one.
    ///
    /// # Errors
    /// When it is not WAV, its header does not fit its content, or it is longer. Nothing is decoded then.
    pub fn read(bytes: &[u8], trust: LengthTrust, seconds_max: u64) -> Result<Self, WavError> {
        let format = wav::format(bytes, trust)?;
        if format.seconds() > seconds_max as f64 {
            return Err(WavError::TooLong { seconds: format.seconds().round() as u64, seconds_max });
        }
        Ok(Self { rate: format.rate, samples: format.decode() })
    }

    /// Samples a second.
    pub fn rate(&self) -> u32 {
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
        Quality::of(&self.samples, self.rate)
    }

    /// Adds a sound at the end, in the rate of this one.
    pub fn append(&mut self, other: &Self) {
        if self.samples.is_empty() {
            *self = other.clone();
        } else if other.rate == self.rate {
            self.samples.extend_from_slice(&other.samples);
        } else {
            let resampled = other.resampled(self.rate);
            self.samples.extend(resampled);
        }
    }

    /// The samples at another rate, interpolated linearly: voices of two languages may have two rates.
    fn resampled(&self, rate: u32) -> Vec<i16> {
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

    /// The sound as a WAV file of 16-bit samples.
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
