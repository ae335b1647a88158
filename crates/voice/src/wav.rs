//! Reads WAV: the header is checked before a sample is decoded, so that memory is bounded by the file.

use crate::sound_error::SoundError;

/// Minimum and maximum samples per second: telephone sound and the highest rate of recorders.
const SAMPLE_RATES: std::ops::RangeInclusive<u32> = 8_000..=192_000;
const CHANNELS_MAX: u16 = 8;
/// Maximum chunks before the sound. Editors add a few of their own; a file with thousands is an attack.
const CHUNKS_MAX: usize = 64;

const PCM: u16 = 1;
const FLOAT: u16 = 3;
const EXTENSIBLE: u16 = 0xfffe;

/// The interpretation of the lengths in a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LengthTrust {
    /// For files: the header must state the right length.
    Exact,
    /// For streams, whose writer did not know the length when it wrote the header: the sound extends to the end.
    UntilTheEnd,
}

/// Encoding and position of the samples.
#[derive(Debug)]
pub(crate) struct Format<'a> {
    coding: Coding,
    channels: usize,
    pub(crate) rate: u32,
    data: &'a [u8],
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Coding {
    Unsigned8,
    Signed16,
    Signed24,
    Signed32,
    Float32,
}

/// The length of a WAV file in seconds, from its header and size.
///
/// # Errors
///
/// When it is not WAV, or header and content do not match.
pub fn wav_duration(bytes: &[u8], trust: LengthTrust) -> Result<f64, SoundError> {
    Ok(format(bytes, trust)?.seconds())
}

/// Checks the header and finds the sound.
pub(crate) fn format(bytes: &[u8], trust: LengthTrust) -> Result<Format<'_>, SoundError> {
    if bytes.is_empty() {
        return Err(SoundError::Empty);
    }
    if bytes.get(..4) != Some(b"RIFF") || bytes.get(8..12) != Some(b"WAVE") {
        return Err(SoundError::UnknownFormat);
    }
    let mut rest = &bytes[12..];
    let mut described: Option<(Coding, usize, u32)> = None;
    for _ in 0..CHUNKS_MAX {
        let (Some(name), Some(length)) = (rest.get(..4), rest.get(4..8)) else { break };
        let length = u32::from_le_bytes([length[0], length[1], length[2], length[3]]) as usize;
        let content = &rest[8..];
        if name == b"data" {
            let (coding, channels, rate) = described.ok_or(SoundError::Damaged("the sound has no format"))?;
            let data = sound_of(content, length, trust)?;
            let whole = data.len() / (coding.bytes() * channels) * coding.bytes() * channels;
            let format = Format { coding, channels, rate, data: &data[..whole] };
            return if whole == 0 { Err(SoundError::Empty) } else { Ok(format) };
        }
        let part = content.get(..length).ok_or(SoundError::Damaged("a part is longer than the file"))?;
        if name == b"fmt " {
            described = Some(read_format(part)?);
        }
        rest = content.get(length + length % 2..).unwrap_or_default();
    }
    Err(SoundError::Damaged("it has no sound"))
}

/// Values that programs write when they stream sound of unknown length: the largest number with or without a sign,
/// minus what the header takes.
const OPEN_ENDED_LENGTHS: [std::ops::RangeInclusive<usize>; 3] =
    [0..=0, 0x7fff_f000..=0x7fff_ffff, 0xffff_f000..=0xffff_ffff];

fn sound_of(content: &[u8], claimed: usize, trust: LengthTrust) -> Result<&[u8], SoundError> {
    let trust = if OPEN_ENDED_LENGTHS.iter().any(|lengths| lengths.contains(&claimed)) {
        LengthTrust::UntilTheEnd
    } else {
        trust
    };
    match (content.get(..claimed), trust) {
        (Some(data), _) if claimed > 0 => Ok(data),
        (_, LengthTrust::UntilTheEnd) => Ok(content),
        (Some(data), LengthTrust::Exact) => Ok(data),
        (None, LengthTrust::Exact) => {
            Err(SoundError::LengthLies { claimed: claimed as u64, held: content.len() as u64 })
        }
    }
}

fn read_format(part: &[u8]) -> Result<(Coding, usize, u32), SoundError> {
    let short = SoundError::Damaged("its format is incomplete");
    let word = |at: usize| Some(u16::from_le_bytes([*part.get(at)?, *part.get(at + 1)?]));
    let (Some(mut tag), Some(channels), Some(low), Some(high), Some(bits)) =
        (word(0), word(2), word(4), word(6), word(14))
    else {
        return Err(short);
    };
    if tag == EXTENSIBLE {
        tag = word(24).ok_or(short)?;
    }
    let rate = u32::from(high) << 16 | u32::from(low);
    let coding = match (tag, bits) {
        (PCM, 8) => Coding::Unsigned8,
        (PCM, 16) => Coding::Signed16,
        (PCM, 24) => Coding::Signed24,
        (PCM, 32) => Coding::Signed32,
        (FLOAT, 32) => Coding::Float32,
        _ => return Err(SoundError::Coding(format!("format {tag} with {bits} bits"))),
    };
    if channels == 0 || channels > CHANNELS_MAX {
        return Err(SoundError::Damaged("the number of channels"));
    }
    if !SAMPLE_RATES.contains(&rate) {
        return Err(SoundError::Damaged("the sample rate"));
    }
    Ok((coding, usize::from(channels), rate))
}

impl Format<'_> {
    fn frame_bytes(&self) -> usize {
        self.coding.bytes() * self.channels
    }

    pub(crate) fn seconds(&self) -> f64 {
        (self.data.len() / self.frame_bytes()) as f64 / f64::from(self.rate)
    }

    /// The samples, channels averaged.
    pub(crate) fn decode(&self) -> Vec<i16> {
        let frame = |frame: &[u8]| {
            let sum: i64 =
                frame.chunks_exact(self.coding.bytes()).map(|one| self.coding.decode_sample(one)).sum();
            (sum / self.channels as i64) as i16
        };
        self.data.chunks_exact(self.frame_bytes()).map(frame).collect()
    }
}

impl Coding {
    fn bytes(self) -> usize {
        match self {
            Self::Unsigned8 => 1,
            Self::Signed16 => 2,
            Self::Signed24 => 3,
            Self::Signed32 | Self::Float32 => 4,
        }
    }

    /// One sample in 16 bits.
    fn decode_sample(self, bytes: &[u8]) -> i64 {
        match (self, bytes) {
            (Self::Unsigned8, [one]) => (i64::from(*one) - 128) * 256,
            (Self::Signed16, [a, b]) => i64::from(i16::from_le_bytes([*a, *b])),
            (Self::Signed24, [_, b, c]) => i64::from(i16::from_le_bytes([*b, *c])),
            (Self::Signed32, [_, _, c, d]) => i64::from(i16::from_le_bytes([*c, *d])),
            // The cast saturates, and converts NaN to 0.
            (Self::Float32, [a, b, c, d]) => {
                i64::from((f32::from_le_bytes([*a, *b, *c, *d]) * f32::from(i16::MAX)) as i16)
            }
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sound::Sound;

    fn tone(seconds: f64, rate: u32) -> Sound {
        let count = (seconds * f64::from(rate)) as usize;
        Sound::new((0..count).map(|index| ((index % 50) as i16 - 25) * 400).collect(), rate)
    }

    #[test]
    fn written_sound_is_read_back() {
        let sound = tone(1.5, 22_050);
        assert_eq!(Sound::read(&sound.to_wav(), LengthTrust::Exact, 2).unwrap(), sound);
        assert!((sound.seconds() - 1.5).abs() < 0.001);
    }

    #[test]
    fn other_codings_and_channels_become_one_channel_of_16_bits() {
        let header = |tag: u16, channels: u16, bits: u16, data: &[u8]| {
            let mut wav = b"RIFF\0\0\0\0WAVELIST\x03\0\0\0abc\0fmt \x10\0\0\0".to_vec();
            wav.extend_from_slice(&tag.to_le_bytes());
            wav.extend_from_slice(&channels.to_le_bytes());
            wav.extend_from_slice(&8_000u32.to_le_bytes());
            wav.extend_from_slice(&[0; 6]);
            wav.extend_from_slice(&bits.to_le_bytes());
            wav.extend_from_slice(b"data");
            wav.extend_from_slice(&(data.len() as u32).to_le_bytes());
            wav.extend_from_slice(data);
            wav
        };
        let read = |wav: &[u8]| Sound::read(wav, LengthTrust::Exact, 9).unwrap().samples().to_vec();
        assert_eq!(read(&header(1, 1, 8, &[128, 255, 0])), [0, 32_512, -32_768]);
        assert_eq!(read(&header(1, 2, 16, &[0, 1, 0, 3])), [512]);
        assert_eq!(read(&header(1, 1, 24, &[9, 0, 1])), [256]);
        assert_eq!(read(&header(1, 1, 32, &[9, 9, 0, 1])), [256]);
        let floats: Vec<u8> = [1.0f32, f32::NAN, 9.0].iter().flat_map(|one| one.to_le_bytes()).collect();
        assert_eq!(read(&header(3, 1, 32, &floats)), [32_767, 0, 32_767]);
        assert!(matches!(format(&header(2, 1, 4, &[0]), LengthTrust::Exact), Err(SoundError::Coding(_))));
        assert!(matches!(
            format(&header(1, 0, 16, &[0, 0]), LengthTrust::Exact),
            Err(SoundError::Damaged(_))
        ));
    }

    #[test]
    fn files_that_are_no_sound_are_refused_with_a_reason() {
        let wav = tone(1.0, 8_000).to_wav();
        let mut lying = wav.clone();
        lying[40..44].copy_from_slice(&0x7fff_0000u32.to_le_bytes());
        let exact = |bytes: &[u8]| Sound::read(bytes, LengthTrust::Exact, 60).unwrap_err();
        assert_eq!(exact(&[]), SoundError::Empty);
        assert_eq!(exact(b"<html>not found</html>"), SoundError::UnknownFormat);
        assert_eq!(exact(&lying), SoundError::LengthLies { claimed: 0x7fff_0000, held: 16_000 });
        assert_eq!(exact(&wav[..1_000]), SoundError::LengthLies { claimed: 16_000, held: 956 });
        assert!(matches!(exact(&wav[..40]), SoundError::Damaged(_)));
        let mut rate = wav.clone();
        rate[24..28].copy_from_slice(&1u32.to_le_bytes());
        assert_eq!(exact(&rate), SoundError::Damaged("the sample rate"));
        // The writer of a stream can't know the length.
        assert!((wav_duration(&lying, LengthTrust::UntilTheEnd).unwrap() - 1.0).abs() < 0.001);
    }

    #[test]
    fn ten_hours_are_refused_by_the_header_alone() {
        // 10 h of 8-bit sound at 8,000 Hz would be 288 MB, but only according to the header.
        let mut wav = tone(61.0, 8_000).to_wav();
        assert_eq!(
            Sound::read(&wav, LengthTrust::Exact, 60),
            Err(SoundError::TooLong { seconds: 61, seconds_max: 60 })
        );
        wav[40..44].copy_from_slice(&(36_000u32 * 16_000).to_le_bytes());
        assert!(matches!(Sound::read(&wav, LengthTrust::Exact, 60), Err(SoundError::LengthLies { .. })));
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let wav = tone(0.01, 8_000).to_wav();
        for at in 0..wav.len().min(60) {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut damaged = wav.clone();
                damaged[at] = value;
                for trust in [LengthTrust::Exact, LengthTrust::UntilTheEnd] {
                    let _ = Sound::read(&damaged, trust, 60);
                    let _ = Sound::read(&damaged[..at], trust, 60);
                }
            }
        }
    }

    #[test]
    fn resampling_keeps_the_length() {
        let mut sound = tone(1.0, 22_050);
        sound.append(&tone(2.0, 16_000));
        assert_eq!(sound.sample_rate(), 22_050);
        assert!((sound.seconds() - 3.0).abs() < 0.001);
    }
}
