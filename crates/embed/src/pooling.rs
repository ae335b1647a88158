use serde_json::Value;

/// The method by which one vector is computed from a text's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pooling {
    Mean,
    /// The row of the first token, which precedes the text.
    Cls,
}

impl Pooling {
    /// Reads `1_Pooling/config.json` of sentence-transformers.
    ///
    /// # Errors
    ///
    /// The key of an unsupported option.
    pub(crate) fn read(config: &Value) -> Result<Self, String> {
        const PREFIX: &str = "pooling_mode_";
        let asked: Vec<&str> = config
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(key, value)| key.starts_with(PREFIX) && value.as_bool() == Some(true))
            .map(|(key, _)| key.as_str())
            .collect();
        if config["include_prompt"].as_bool() == Some(false) {
            return Err("include_prompt is false; prefixes are always pooled with the text".to_owned());
        }
        match asked.as_slice() {
            // The sum divided by the square root of the count has the direction of the mean, and only the direction
            // matters.
            [] | ["pooling_mode_mean_tokens" | "pooling_mode_mean_sqrt_len_tokens"] => Ok(Self::Mean),
            ["pooling_mode_cls_token"] => Ok(Self::Cls),
            [one] => Err(format!("{one} is not supported; mean and cls are")),
            several => Err(format!("it joins several poolings ({}); one is supported", several.join(", "))),
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Cls => "cls",
        }
    }

    /// The vector of a text, scaled to unit length.
    pub(crate) fn pool_rows(self, rows: &[f32], columns: usize) -> Vec<f32> {
        let counted = match self {
            Self::Mean => rows,
            Self::Cls => &rows[..columns.min(rows.len())],
        };
        let mut vector = vec![0.0; columns];
        for row in counted.chunks_exact(columns) {
            for (sum, number) in vector.iter_mut().zip(row) {
                *sum += number;
            }
        }
        // Scaling to unit length makes dividing by the number of rows unnecessary.
        normalize(&mut vector);
        vector
    }
}

/// Scales to unit length; a zero vector stays zero.
pub(crate) fn normalize(vector: &mut [f32]) {
    let length = vector.iter().map(|number| f64::from(*number).powi(2)).sum::<f64>().sqrt();
    if length > 0.0 {
        for number in vector {
            *number = (f64::from(*number) / length) as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Pooling;

    #[test]
    fn the_mean_has_unit_length() {
        assert_eq!(Pooling::Mean.pool_rows(&[1.0, 2.0, 5.0, 6.0], 2), [0.6, 0.8]);
        assert_eq!(Pooling::Cls.pool_rows(&[3.0, 4.0, 5.0, 6.0], 2), [0.6, 0.8]);
        assert_eq!(Pooling::Mean.pool_rows(&[0.0, 0.0], 2), [0.0, 0.0]);
    }

    #[test]
    fn the_file_decides_and_what_is_not_supported_is_named() {
        let read = |config| Pooling::read(&config);
        let both = json!({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false});
        assert_eq!(read(both), Ok(Pooling::Cls));
        assert_eq!(read(json!({"pooling_mode_mean_sqrt_len_tokens": true})), Ok(Pooling::Mean));
        assert_eq!(read(json!({"word_embedding_dimension": 384})), Ok(Pooling::Mean));
        let refused = read(json!({"pooling_mode_max_tokens": true})).unwrap_err();
        assert!(refused.contains("pooling_mode_max_tokens"), "{refused}");
        assert!(read(json!({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": true})).is_err());
        assert!(read(json!({"include_prompt": false})).is_err());
    }
}
