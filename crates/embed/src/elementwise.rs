//! Functions between the matrix products, written in lanes so that the compiler vectorises them for the width that
//! the caller was compiled for. All are `#[inline(always)]` for that reason.

/// Numbers processed together: two registers of AVX2, one of AVX-512.
const LANES: usize = 16;

/// Layer normalisation of each row of `update + hidden`, written to `hidden`: `(x − mean) / √(variance + ε) · gain +
/// bias`, the variance over all components (Ba, Kiros and Hinton 2016).
#[inline(always)]
pub(crate) fn add_and_normalize(hidden: &mut [f32], update: &[f32], norm: &Norm, epsilon: f32) {
    let columns = norm.gain.len();
    for (hidden, update) in hidden.chunks_exact_mut(columns).zip(update.chunks_exact(columns)) {
        for (number, update) in hidden.iter_mut().zip(update) {
            *number += update;
        }
        normalize(hidden, norm, epsilon);
    }
}

/// Gain and bias of a layer normalisation.
pub(crate) struct Norm {
    pub(crate) gain: Vec<f32>,
    pub(crate) bias: Vec<f32>,
}

/// Normalises one row (layer normalisation).
#[inline(always)]
pub(crate) fn normalize(row: &mut [f32], norm: &Norm, epsilon: f32) {
    let mean = sum_by(row, |number| number) / row.len() as f32;
    let variance = sum_by(row, |number| (number - mean) * (number - mean)) / row.len() as f32;
    let scale = 1.0 / (variance + epsilon).sqrt();
    for ((number, gain), bias) in row.iter_mut().zip(&norm.gain).zip(&norm.bias) {
        *number = (*number - mean) * scale * gain + bias;
    }
}

/// Sums `term(number)` over a row, in lanes that the compiler can vectorise.
#[inline(always)]
pub(crate) fn sum_by(row: &[f32], term: impl Fn(f32) -> f32) -> f32 {
    let (chunks, rest) = row.as_chunks::<LANES>();
    let mut sums = [0.0_f32; LANES];
    for chunk in chunks {
        for (sum, number) in sums.iter_mut().zip(chunk) {
            *sum += term(*number);
        }
    }
    sums.iter().sum::<f32>() + rest.iter().map(|number| term(*number)).sum::<f32>()
}

/// `softmax(scale · row)` in place.
#[inline(always)]
pub(crate) fn softmax(row: &mut [f32], scale: f32) {
    let (chunks, rest) = row.as_chunks::<LANES>();
    let mut highest = [f32::NEG_INFINITY; LANES];
    for chunk in chunks {
        for (high, number) in highest.iter_mut().zip(chunk) {
            *high = if *number > *high { *number } else { *high };
        }
    }
    let highest = highest.iter().chain(rest).fold(f32::NEG_INFINITY, |high, number| high.max(*number));
    for number in row.iter_mut() {
        *number = exp((*number - highest) * scale);
    }
    let share = 1.0 / sum_by(row, |number| number);
    for number in row {
        *number *= share;
    }
}

/// The activation function of the feed-forward network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Activation {
    /// The Gaussian error linear unit.
    Gelu,
    /// GELU, approximated by the hyperbolic tangent (Hendrycks and Gimpel 2016).
    GeluByTanh,
    /// The larger of the value and 0.
    Relu,
}

impl Activation {
    /// Replaces each number by the value of the activation function.
    #[inline(always)]
    pub(crate) fn apply_activation(self, numbers: &mut [f32]) {
        match self {
            Self::Gelu => gelu(numbers),
            Self::GeluByTanh => gelu_by_tanh(numbers),
            Self::Relu => numbers.iter_mut().for_each(|number| *number = number.max(0.0)),
        }
    }
}

/// `x · Φ(x) = x/2 · (1 + erf(x/√2))`, the Gaussian error linear unit, in place.
#[inline(always)]
fn gelu(numbers: &mut [f32]) {
    for number in numbers {
        let x = *number;
        *number = 0.5 * x * (1.0 + erf(x * std::f32::consts::FRAC_1_SQRT_2));
    }
}

/// `x/2 · (1 + tanh y)` with `y = √(2/π) · (x + 0.044715 x³)`, in place. `(1 + tanh y) / 2 = 1 / (1 + e^(−2y))`.
#[inline(always)]
fn gelu_by_tanh(numbers: &mut [f32]) {
    const ROOT_2_OVER_PI: f32 = 0.797_884_6;
    for number in numbers {
        let x = *number;
        let y = ROOT_2_OVER_PI * (x + 0.044_715 * x * x * x);
        let exponent = -2.0 * y;
        let bounded = if exponent > 80.0 { 80.0 } else { exponent };
        *number = x / (1.0 + exp(bounded));
    }
}

/// The error function by formula 7.1.26 of Abramowitz and Stegun; absolute error ≤ 1.5e-7 before rounding.
#[inline(always)]
fn erf(x: f32) -> f32 {
    let magnitude = x.abs();
    let t = 1.0 / (1.0 + 0.327_591_1 * magnitude);
    let polynomial =
        t * (0.254_829_6 + t * (-0.284_496_72 + t * (1.421_413_8 + t * (-1.453_152_1 + t * 1.061_405_4))));
    (1.0 - polynomial * exp(-magnitude * magnitude)).copysign(x)
}

/// eˣ for x ≤ 88, relative error below 3e-7; 0 below −87.
///
/// `x = n·ln 2 + r` with `|r| ≤ ln 2 / 2`, so `eˣ = 2ⁿ · eʳ`: `eʳ` by its Taylor series, `2ⁿ` by writing `n` into the
/// exponent's bits.
#[inline(always)]
fn exp(x: f32) -> f32 {
    // ln 2 in two parts; the first has so few bits that its product with n is exact.
    const LN_2_HIGH: f32 = 0.693_359_4;
    const LN_2_LOW: f32 = -2.121_944_4e-4;
    // Adding 1.5·2²³ rounds to the nearest integer and leaves it in the low bits.
    const ROUNDING_OFFSET: f32 = 12_582_912.0;
    let clamped = if x < -87.0 { -87.0 } else { x };
    let shifted = clamped * std::f32::consts::LOG2_E + ROUNDING_OFFSET;
    let n = shifted - ROUNDING_OFFSET;
    let r = (clamped - n * LN_2_HIGH) - n * LN_2_LOW;
    let series = 1.0
        + r * (1.0
            + r * (0.5
                + r * (1.0 / 6.0 + r * (1.0 / 24.0 + r * (1.0 / 120.0 + r * (1.0 / 720.0 + r / 5040.0))))));
    let power = f32::from_bits(shifted.to_bits().wrapping_add(127) << 23);
    if x < -87.0 { 0.0 } else { series * power }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_agrees_with_the_standard_library() {
        for step in -8_700..=8_800 {
            let x = step as f32 / 100.0;
            let expected = f64::from(x).exp();
            let error = (f64::from(exp(x)) - expected).abs() / expected;
            assert!(error < 3e-7, "e^{x}: relative error {error:e}");
        }
        assert_eq!(exp(-1_000.0), 0.0);
        assert_eq!(exp(f32::NEG_INFINITY), 0.0);
    }

    /// Values of Abramowitz and Stegun, table 7.1.
    #[test]
    fn erf_agrees_with_the_table() {
        let table = [
            (0.0, 0.0),
            (0.1, 0.112_462_916),
            (0.5, 0.520_499_878),
            (1.0, 0.842_700_793),
            (1.5, 0.966_105_146),
            (2.0, 0.995_322_265),
        ];
        for (x, expected) in table {
            assert!((f64::from(erf(x)) - expected).abs() < 3e-7, "erf({x}) = {}", erf(x));
            assert!((f64::from(erf(-x)) + expected).abs() < 3e-7, "erf(-{x})");
        }
        assert_eq!(erf(10.0), 1.0);
    }

    #[test]
    fn gelu_of_known_points() {
        let mut numbers = [0.0, 1.0, -1.0, 20.0, -20.0];
        gelu(&mut numbers);
        let expected = [0.0, 0.841_344_7, -0.158_655_26, 20.0, 0.0];
        for (number, expected) in numbers.iter().zip(expected) {
            assert!((number - expected).abs() < 1e-6, "{number} is not {expected}");
        }
    }

    #[test]
    fn gelu_by_tanh_agrees_with_its_formula() {
        for step in -300..=300 {
            let x = step as f32 / 10.0;
            let mut numbers = [x];
            Activation::GeluByTanh.apply_activation(&mut numbers);
            let y = (2.0 / std::f64::consts::PI).sqrt() * (f64::from(x) + 0.044_715 * f64::from(x).powi(3));
            let expected = 0.5 * f64::from(x) * (1.0 + y.tanh());
            assert!((f64::from(numbers[0]) - expected).abs() < 1e-5, "{x}: {} is not {expected}", numbers[0]);
        }
        let mut numbers = [-2.0, 0.0, 3.0];
        Activation::Relu.apply_activation(&mut numbers);
        assert_eq!(numbers, [0.0, 0.0, 3.0]);
    }

    #[test]
    fn softmax_sums_to_one_and_keeps_ratios() {
        let mut row: Vec<f32> = (0..37).map(|index| index as f32 / 5.0).collect();
        softmax(&mut row, 0.5);
        assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-6);
        assert!((row[36] / row[35] - 0.1_f32.exp()).abs() < 1e-5);
    }

    #[test]
    fn a_normalised_row_has_the_gain_as_its_spread_and_the_bias_as_its_mean() {
        let mut row: Vec<f32> = (0..50).map(|index| ((index * 7) % 11) as f32).collect();
        normalize(&mut row, &Norm { gain: vec![2.0; 50], bias: vec![3.0; 50] }, 1e-12);
        let mean = row.iter().sum::<f32>() / 50.0;
        let variance = row.iter().map(|number| (number - mean).powi(2)).sum::<f32>() / 50.0;
        assert!(
            (mean - 3.0).abs() < 1e-5 && (variance - 4.0).abs() < 1e-4,
            "mean {mean}, variance {variance}"
        );
    }
}
