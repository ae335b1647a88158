//! Checks if a sound is good enough as a voice sample.

use std::fmt;

/// Level below which sound is silence, in decibels of full scale. Breath and the noise of a quiet room are below,
/// quiet speech is above.
const SILENCE_DBFS: f64 = -45.0;
/// Number of parts per second that are classified as silent or not. A syllable is longer than one part.
const FRAMES_PER_SECOND: usize = 50;
/// Level from which a sample counts as clipped, just below the maximum of 16 bits (32,767).
const CLIPPED_LEVEL: u16 = 32_700;
/// Share of clipped samples from which a recording is too loud. Single peaks are inaudible; more make a cloned voice
/// rattle.
const CLIPPED_SHARE_MAX: f64 = 0.01;
/// Share of silence from which a recording has too little speech. Ordinary speech has far less.
const SILENT_SHARE_MAX: f64 = 0.7;

/// Measurements of a sound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quality {
    /// The length in seconds.
    pub seconds: f64,
    /// The loudness in decibels of full scale, at most 0; -96 for digital silence.
    pub loudness_dbfs: f64,
    /// Share of silence, 0 to 1.
    pub silent_share: f64,
    /// Share of clipped samples, 0 to 1.
    pub clipped_share: f64,
}

/// A defect in a voice sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum QualityProblem {
    /// The sample is shorter than this many seconds.
    TooShort(u64),
    /// The sample is longer than this many seconds.
    TooLong(u64),
    /// The recording holds nothing but silence.
    Silent,
    /// Most of the recording is silence.
    MostlySilent,
    /// The recording is too loud.
    Clipped,
}

impl Quality {
    pub(crate) fn from_samples(samples: &[i16], rate: u32) -> Self {
        let frame = (rate as usize / FRAMES_PER_SECOND).max(1);
        let silent = samples.chunks(frame).filter(|frame| loudness_db(frame) < SILENCE_DBFS).count();
        let clipped = samples.iter().filter(|sample| sample.unsigned_abs() >= CLIPPED_LEVEL).count();
        let share = |part: usize, whole: usize| part as f64 / whole.max(1) as f64;
        Self {
            seconds: samples.len() as f64 / f64::from(rate.max(1)),
            loudness_dbfs: loudness_db(samples),
            silent_share: share(silent, samples.len().div_ceil(frame)),
            clipped_share: share(clipped, samples.len()),
        }
    }

    /// True if there is nothing to hear.
    pub fn is_silent(&self) -> bool {
        self.silent_share >= 1.0
    }

    /// The worst defect of a sample, whose length must be between these seconds.
    pub fn worst_problem(&self, shortest: u64, longest: u64) -> Option<QualityProblem> {
        if self.seconds < shortest as f64 {
            return Some(QualityProblem::TooShort(shortest));
        }
        if self.seconds > longest as f64 {
            return Some(QualityProblem::TooLong(longest));
        }
        if self.is_silent() {
            return Some(QualityProblem::Silent);
        }
        if self.clipped_share > CLIPPED_SHARE_MAX {
            return Some(QualityProblem::Clipped);
        }
        (self.silent_share > SILENT_SHARE_MAX).then_some(QualityProblem::MostlySilent)
    }
}

impl fmt::Display for QualityProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooShort(seconds) => {
                write!(formatter, "it is shorter than {seconds} s; record a little more")
            }
            Self::TooLong(seconds) => write!(formatter, "it is longer than {seconds} s; cut it"),
            Self::Silent => formatter.write_str("it is silent; check the microphone"),
            Self::MostlySilent => {
                formatter.write_str("most of it is silence; cut the pauses, or speak louder")
            }
            Self::Clipped => formatter.write_str("it is too loud and clipped; record it more quietly"),
        }
    }
}

/// Root mean square in decibels of full scale.
fn loudness_db(samples: &[i16]) -> f64 {
    let sum: f64 = samples.iter().map(|&sample| f64::from(sample) * f64::from(sample)).sum();
    let mean = sum / samples.len().max(1) as f64;
    (10.0 * (mean / (f64::from(i16::MAX) * f64::from(i16::MAX))).log10()).max(-96.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn square(seconds: usize, level: i16) -> Vec<i16> {
        (0..seconds * 8_000).map(|index| if index % 40 < 20 { level } else { -level }).collect()
    }

    #[test]
    fn each_problem_is_named() {
        let problem = |samples: &[i16]| Quality::from_samples(samples, 8_000).worst_problem(3, 60);
        assert_eq!(problem(&square(4, 5_000)), None);
        assert_eq!(problem(&square(2, 5_000)), Some(QualityProblem::TooShort(3)));
        assert_eq!(problem(&square(61, 5_000)), Some(QualityProblem::TooLong(60)));
        assert_eq!(problem(&square(4, 3)), Some(QualityProblem::Silent));
        assert_eq!(problem(&square(4, i16::MAX)), Some(QualityProblem::Clipped));
        let pauses = [square(1, 5_000), square(5, 0)].concat();
        assert_eq!(problem(&pauses), Some(QualityProblem::MostlySilent));
        let quality = Quality::from_samples(&pauses, 8_000);
        assert!((quality.silent_share - 5.0 / 6.0).abs() < 0.01 && quality.clipped_share == 0.0);
        assert!((Quality::from_samples(&square(1, i16::MAX), 8_000).loudness_dbfs).abs() < 0.1);
    }
}
