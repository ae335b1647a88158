//! Identifiers that are the same in every run.

use jiff::Timestamp;
use memory::ports::IdGenerator;
use parking_lot::Mutex;
use uuid::Uuid;

/// UUIDv7-shaped identifiers from a seed and a counter. They sort by creation, even if the clock goes back; those of
/// different seeds differ.
pub struct SequentialIds {
    seed: u64,
    last: Mutex<LastId>,
}

struct LastId {
    milliseconds: u64,
    counter: u64,
}

impl SequentialIds {
    /// A source that generates the same identifiers for the same seed and times.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { seed, last: Mutex::new(LastId { milliseconds: 0, counter: 0 }) }
    }
}

impl IdGenerator for SequentialIds {
    fn next(&self, at: Timestamp) -> Uuid {
        let mut last = self.last.lock();
        let milliseconds = u64::try_from(at.as_millisecond()).unwrap_or(0);
        last.milliseconds = last.milliseconds.max(milliseconds);
        last.counter += 1;
        version_7(last.milliseconds, last.counter, mix_bits(self.seed ^ last.counter.rotate_left(32)))
    }
}

/// RFC 9562, section 5.7: 48 bits of Unix milliseconds, version, 12 bits, variant, 62 bits. The counter fills the
/// first 42 free bits, so that it decides the order within a millisecond; `noise` fills the last 32.
fn version_7(milliseconds: u64, counter: u64, noise: u64) -> Uuid {
    let time = u128::from(milliseconds & 0xffff_ffff_ffff) << 80;
    let counter_high = u128::from((counter >> 30) & 0xfff) << 64;
    let counter_low = u128::from(counter & 0x3fff_ffff) << 32;
    let noise = u128::from(noise & 0xffff_ffff);
    Uuid::from_u128(time | 0x7 << 76 | counter_high | 0b10 << 62 | counter_low | noise)
}

/// One step of SplitMix64 (Steele, Lea and Flood 2014): spreads neighbouring numbers far apart.
pub(crate) fn mix_bits(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
