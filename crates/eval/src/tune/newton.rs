//! Maximum likelihood of choices by Newton's method.

/// Maximum rounds; the fit converges in far fewer.
const ROUNDS_MAX: usize = 50;
/// Change of a weight below which the fit has converged.
const CHANGE_MIN: f64 = 1e-8;
/// Ridge penalty: keeps weights finite that the data alone would let grow without end.
const RIDGE: f64 = 0.5;

/// One choice among candidates.
pub(super) struct Choice {
    /// The values of each candidate.
    pub(super) values: Vec<Vec<f64>>,
    /// Indexes of the right candidates.
    pub(super) answers: Vec<usize>,
    /// The weight of the choice.
    pub(super) weight: f64,
}

/// The weights that make the right candidates likeliest.
pub(super) fn fit_weights(choices: &[Choice], length: usize) -> Vec<f64> {
    let mut weights = vec![0.5; length];
    for _ in 0..ROUNDS_MAX {
        let (gradient, curvature) = gradient_and_curvature(choices, &weights);
        let step = solve(curvature, gradient);
        for (weight, step) in weights.iter_mut().zip(&step) {
            *weight += step;
        }
        if step.iter().all(|step| step.abs() < CHANGE_MIN) {
            break;
        }
    }
    weights
}

/// Gradient of the log-likelihood and its negated Hessian.
fn gradient_and_curvature(choices: &[Choice], weights: &[f64]) -> (Vec<f64>, Vec<Vec<f64>>) {
    let length = weights.len();
    let mut gradient: Vec<f64> = weights.iter().map(|weight| -RIDGE * weight).collect();
    let mut curvature = vec![vec![0.0; length]; length];
    for (place, row) in curvature.iter_mut().enumerate() {
        row[place] = RIDGE;
    }
    for choice in choices {
        let chances = softmax(&choice.values, weights);
        let mut mean = vec![0.0; length];
        for (values, chance) in choice.values.iter().zip(&chances) {
            for (mean, value) in mean.iter_mut().zip(values) {
                *mean += chance * value;
            }
        }
        for (values, chance) in choice.values.iter().zip(&chances) {
            let apart: Vec<f64> = values.iter().zip(&mean).map(|(value, mean)| value - mean).collect();
            for (row, first) in curvature.iter_mut().zip(&apart) {
                for (sum, second) in row.iter_mut().zip(&apart) {
                    *sum += choice.weight * chance * first * second;
                }
            }
        }
        let share = choice.weight / choice.answers.len() as f64;
        for values in choice.answers.iter().map(|answer| &choice.values[*answer]) {
            for ((sum, value), mean) in gradient.iter_mut().zip(values).zip(&mean) {
                *sum += share * (value - mean);
            }
        }
    }
    (gradient, curvature)
}

/// Softmax of the totals.
fn softmax(values: &[Vec<f64>], weights: &[f64]) -> Vec<f64> {
    let total =
        |values: &Vec<f64>| values.iter().zip(weights).map(|(value, weight)| value * weight).sum::<f64>();
    let totals: Vec<f64> = values.iter().map(total).collect();
    let most = totals.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let raised: Vec<f64> = totals.iter().map(|total| (total - most).exp()).collect();
    let sum: f64 = raised.iter().sum();
    raised.into_iter().map(|value| value / sum).collect()
}

/// Solves `matrix · x = right` for a positive definite matrix, by elimination.
fn solve(mut matrix: Vec<Vec<f64>>, mut right: Vec<f64>) -> Vec<f64> {
    let length = right.len();
    for pivot in 0..length {
        let (row, value) = (matrix[pivot].clone(), right[pivot]);
        for other in (0..length).filter(|other| *other != pivot) {
            let factor = matrix[other][pivot] / row[pivot];
            for (cell, above) in matrix[other].iter_mut().zip(&row) {
                *cell -= factor * above;
            }
            right[other] -= factor * value;
        }
    }
    (0..length).map(|place| right[place] / matrix[place][place]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_is_solved() {
        let x = solve(vec![vec![4.0, 1.0], vec![1.0, 3.0]], vec![1.0, 2.0]);
        assert!((x[0] - 1.0 / 11.0).abs() < 1e-12 && (x[1] - 7.0 / 11.0).abs() < 1e-12);
    }

    #[test]
    fn the_gradient_vanishes_at_the_fit() {
        let choice = |answer| Choice {
            values: vec![vec![1.0, 0.2], vec![0.0, 1.0], vec![0.5, 0.5]],
            answers: vec![answer],
            weight: 1.0,
        };
        let choices = [choice(0), choice(0), choice(1), choice(2)];
        let weights = fit_weights(&choices, 2);
        let (gradient, _) = gradient_and_curvature(&choices, &weights);
        assert!(gradient.iter().all(|part| part.abs() < 1e-9), "{gradient:?}");
    }
}
