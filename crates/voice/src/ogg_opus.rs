//! Ogg Opus, the format of voice messages in messengers (RFC 7845): read at the rate that transcription needs,
//! written at the rate of the format.

use std::io::Cursor;

use ogg::{PacketReader, PacketWriteEndInfo, PacketWriter};
use rusty_opus::{Application, OpusDecoder, OpusEncoder};

use crate::sound_error::SoundError;

/// Samples per second to write. Opus uses no other rate for its positions.
pub(crate) const WRITTEN_RATE: u32 = 48_000;
/// Samples per second to read: speech needs no more.
pub(crate) const READ_RATE: u32 = 16_000;
/// Factor of positions in the file, which count samples at 48,000 per second.
const POSITIONS_PER_SAMPLE: u64 = 3;
/// Samples of one written packet: 20 ms.
const PACKET_SAMPLES: usize = 960;
/// Maximum samples of a packet that is read: 120 ms.
const PACKET_SAMPLES_MAX: usize = 1_920;
/// Maximum bytes of a written packet, as allowed for one frame.
const PACKET_BYTES_MAX: usize = 1_275;
/// Packets per written page: a second.
const PACKETS_PER_PAGE: usize = 50;
/// Samples of the encoder's delay, which players skip.
const DELAY_SAMPLES: u16 = 312;
/// Bits per second, enough for clear speech.
const BIT_RATE: i32 = 24_000;
/// Serial number of the only stream of a file.
const STREAM_NUMBER: u32 = 1;

pub(crate) fn is_ogg(bytes: &[u8]) -> bool {
    bytes.starts_with(b"OggS")
}

/// Decodes the first stream of a file; channels are mixed into one.
pub(crate) fn read(bytes: &[u8], seconds_max: u64) -> Result<Vec<i16>, SoundError> {
    let damaged = |_| SoundError::Damaged("a page or a packet can't be read");
    let mut reader = PacketReader::new(Cursor::new(bytes));
    let head = reader.read_packet().map_err(damaged)?.ok_or(SoundError::Empty)?;
    let delay = delay_of(&head.data)?;
    reader.read_packet().map_err(damaged)?.ok_or(SoundError::Empty)?;
    let mut decoder = OpusDecoder::new(READ_RATE as i32, 1).map_err(|error| coding_error(&error))?;
    let (mut samples, mut end) = (Vec::new(), 0);
    let mut decoded = [0.0_f32; PACKET_SAMPLES_MAX];
    while let Some(packet) = reader.read_packet().map_err(damaged)? {
        if packet.stream_serial() != head.stream_serial() || packet.data.is_empty() {
            continue;
        }
        let count = decoder
            .decode(&packet.data, PACKET_SAMPLES_MAX, &mut decoded)
            .map_err(|_| SoundError::Damaged("a packet is not Opus"))?;
        samples.extend(decoded.iter().take(count).map(|sample| to_16_bits(*sample)));
        end = packet.absgp_page() / POSITIONS_PER_SAMPLE;
        if samples.len() as u64 > (seconds_max + 1) * u64::from(READ_RATE) {
            let seconds = end.max(samples.len() as u64) / u64::from(READ_RATE);
            return Err(SoundError::TooLong { seconds, seconds_max });
        }
    }
    // The last page says where the sound ends in its last packet.
    samples.truncate(usize::try_from(end).unwrap_or(usize::MAX));
    samples.drain(..samples.len().min(usize::from(delay) / POSITIONS_PER_SAMPLE as usize));
    if samples.is_empty() { Err(SoundError::Empty) } else { Ok(samples) }
}

/// Number of samples at 48,000 per second to skip, according to the stream's head.
fn delay_of(head: &[u8]) -> Result<u16, SoundError> {
    if !head.starts_with(b"OpusHead") {
        return Err(SoundError::Coding("another codec in Ogg".to_owned()));
    }
    let (Some(version), Some(channels), Some(delay), Some(family)) =
        (head.get(8), head.get(9), head.get(10..12), head.get(18))
    else {
        return Err(SoundError::Damaged("its header is incomplete"));
    };
    if *version > 15 || *family != 0 || !(1..=2).contains(channels) {
        return Err(SoundError::Coding(format!("Opus of {channels} channels, version {version}")));
    }
    Ok(u16::from_le_bytes([delay[0], delay[1]]))
}

/// Encodes samples at [`WRITTEN_RATE`] as a file with one stream.
pub(crate) fn write(samples: &[i16]) -> Result<Vec<u8>, SoundError> {
    let mut encoder =
        OpusEncoder::new(WRITTEN_RATE as i32, 1, Application::Voip).map_err(|e| coding_error(&e))?;
    encoder.bitrate_bps = BIT_RATE;
    let unwritten = |error: std::io::Error| SoundError::Coding(error.to_string());
    let mut writer = PacketWriter::new(Vec::new());
    writer.write_packet(opus_head(), STREAM_NUMBER, PacketWriteEndInfo::EndPage, 0).map_err(unwritten)?;
    writer.write_packet(opus_tags(), STREAM_NUMBER, PacketWriteEndInfo::EndPage, 0).map_err(unwritten)?;
    let end = samples.len() + usize::from(DELAY_SAMPLES);
    let packets = end.div_ceil(PACKET_SAMPLES);
    for number in 0..packets {
        let from = number * PACKET_SAMPLES;
        let part = samples.iter().skip(from).map(|sample| f32::from(*sample) / 32_768.0);
        let part: Vec<f32> = part.chain(std::iter::repeat(0.0)).take(PACKET_SAMPLES).collect();
        let mut packet = [0_u8; PACKET_BYTES_MAX];
        let length =
            encoder.encode(&part, PACKET_SAMPLES, &mut packet).map_err(|error| coding_error(&error))?;
        let is_last = number + 1 == packets;
        let position = if is_last { end } else { from + PACKET_SAMPLES } as u64;
        let ends = match number + 1 {
            _ if is_last => PacketWriteEndInfo::EndStream,
            number if number % PACKETS_PER_PAGE == 0 => PacketWriteEndInfo::EndPage,
            _ => PacketWriteEndInfo::NormalPacket,
        };
        writer.write_packet(packet[..length].to_vec(), STREAM_NUMBER, ends, position).map_err(unwritten)?;
    }
    Ok(writer.into_inner())
}

/// The packet `OpusHead`: one channel, no gain, for samples at 48,000 per second.
fn opus_head() -> Vec<u8> {
    let mut head = b"OpusHead\x01\x01".to_vec();
    head.extend_from_slice(&DELAY_SAMPLES.to_le_bytes());
    head.extend_from_slice(&WRITTEN_RATE.to_le_bytes());
    head.extend_from_slice(&[0, 0, 0]);
    head
}

/// The packet `OpusTags`, with the name of this program and no comments.
fn opus_tags() -> Vec<u8> {
    let writer = b"EchoVessel";
    let mut tags = b"OpusTags".to_vec();
    tags.extend_from_slice(&(writer.len() as u32).to_le_bytes());
    tags.extend_from_slice(writer);
    tags.extend_from_slice(&[0; 4]);
    tags
}

/// Converts samples to 16 bits. The cast saturates, so loud samples are clipped.
fn to_16_bits(sample: f32) -> i16 {
    (sample * 32_768.0).round() as i16
}

fn coding_error(error: &rusty_opus::Error) -> SoundError {
    SoundError::Coding(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sound::Sound;
    use crate::wav::LengthTrust;

    /// A tone of 440 Hz that grows louder.
    fn tone(seconds: f64, rate: u32) -> Sound {
        let count = (seconds * f64::from(rate)) as usize;
        let sample = |index: usize| {
            let at = index as f64 / f64::from(rate);
            (f64::sin(at * 440.0 * std::f64::consts::TAU) * 12_000.0 * at / seconds) as i16
        };
        Sound::new((0..count).map(sample).collect(), rate)
    }

    fn read_back(bytes: &[u8]) -> Result<Sound, SoundError> {
        Sound::read(bytes, LengthTrust::Exact, 60)
    }

    #[test]
    fn written_sound_is_read_back_with_its_length_and_its_loudness() {
        for (seconds, rate) in [(1.5, 22_050), (0.02, 8_000), (2.0, 48_000), (61.0, 16_000)] {
            let sound = tone(seconds, rate);
            let file = sound.to_ogg_opus().unwrap();
            let back = Sound::read(&file, LengthTrust::Exact, 61).unwrap();
            assert_eq!(back.sample_rate(), READ_RATE);
            assert!((back.seconds() - seconds).abs() < 0.001, "{} s of {seconds}", back.seconds());
            if seconds > 1.0 {
                let (before, after) = (sound.quality().loudness_dbfs, back.quality().loudness_dbfs);
                assert!((before - after).abs() < 1.5, "{before} dB became {after} dB");
                assert!(file.len() < (seconds * 6_000.0) as usize, "{} bytes", file.len());
            }
        }
    }

    #[test]
    fn delay_of_the_coder_is_taken_away() {
        // A tone with rising pitch matches itself only at one position.
        let sample = |index: u32| {
            let at = f64::from(index) / 16_000.0;
            (f64::sin(at * (200.0 + 1_000.0 * at) * std::f64::consts::TAU) * 9_000.0) as i16
        };
        let sound = Sound::new((0..16_000).map(sample).collect(), 16_000);
        let back = read_back(&sound.to_ogg_opus().unwrap()).unwrap();
        let alike = |shift: usize, back: &[i16]| -> f64 {
            let pairs = sound.samples()[200..12_000].iter().zip(&back[shift..]);
            pairs.map(|(one, other)| f64::from(*one) * f64::from(*other)).sum()
        };
        let best = (0..400).max_by(|a, b| alike(*a, back.samples()).total_cmp(&alike(*b, back.samples())));
        let late = best.unwrap() as i64 - 200;
        assert!(late.abs() <= 16, "{late} samples late");
    }

    #[test]
    fn unreadable_sound_is_refused_with_a_reason() {
        let file = tone(1.0, 16_000).to_ogg_opus().unwrap();
        assert_eq!(
            Sound::read(&tone(5.0, 16_000).to_ogg_opus().unwrap(), LengthTrust::Exact, 2),
            Err(SoundError::TooLong { seconds: 4, seconds_max: 2 })
        );
        assert!(matches!(read_back(b"OggS"), Err(SoundError::Damaged(_))));
        assert!(matches!(read_back(&file[..60]), Err(SoundError::Damaged(_) | SoundError::Empty)));
        let mut writer = PacketWriter::new(Vec::new());
        writer.write_packet(b"\x01vorbis".to_vec(), 1, PacketWriteEndInfo::EndStream, 0).unwrap();
        assert!(matches!(read_back(&writer.into_inner()), Err(SoundError::Coding(_))));
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let file = tone(0.5, 16_000).to_ogg_opus().unwrap();
        for at in 0..file.len() {
            let mut damaged = file.clone();
            damaged[at] ^= 0x5a;
            let _ = read_back(&damaged);
        }
        // Below the checksums of the container, any packet may occur.
        let mut dice = 88_172_645_463_325_252_u64;
        let mut roll = || {
            dice ^= dice << 13;
            dice ^= dice >> 7;
            dice ^= dice << 17;
            dice
        };
        for _ in 0..300 {
            let mut writer = PacketWriter::new(Vec::new());
            writer.write_packet(opus_head(), STREAM_NUMBER, PacketWriteEndInfo::EndPage, 0).unwrap();
            writer.write_packet(opus_tags(), STREAM_NUMBER, PacketWriteEndInfo::EndPage, 0).unwrap();
            for number in 1..=20 {
                let packet: Vec<u8> = (0..roll() % 60).map(|_| roll() as u8).collect();
                writer
                    .write_packet(
                        packet,
                        STREAM_NUMBER,
                        PacketWriteEndInfo::EndPage,
                        number * (roll() % 2_000),
                    )
                    .unwrap();
            }
            let _ = read_back(&writer.into_inner());
        }
    }
}
