/// Mean of a text's rows, scaled to unit length: the vector of the whole text.
pub(crate) fn pool(rows: &[f32], columns: usize) -> Vec<f32> {
    let mut vector = vec![0.0; columns];
    for row in rows.chunks_exact(columns) {
        for (sum, number) in vector.iter_mut().zip(row) {
            *sum += number;
        }
    }
    // Scaling to unit length makes dividing by the number of rows needless.
    let length = vector.iter().map(|number| f64::from(*number).powi(2)).sum::<f64>().sqrt();
    if length > 0.0 {
        for number in &mut vector {
            *number = (f64::from(*number) / length) as f32;
        }
    }
    vector
}

#[cfg(test)]
mod tests {
    use super::pool;

    #[test]
    fn the_mean_has_unit_length() {
        assert_eq!(pool(&[1.0, 2.0, 5.0, 6.0], 2), [0.6, 0.8]);
        assert_eq!(pool(&[0.0, 0.0], 2), [0.0, 0.0]);
    }
}
