//! Stop sequences: ends an answer at the first of the client's texts. The stored reply stays complete; only this
//! client receives less.

/// Passes text on until a stop sequence. A possible beginning of one is held back.
pub(super) struct StopFilter {
    stops: Vec<String>,
    held: String,
    over: bool,
}

impl StopFilter {
    pub(super) fn new(stops: Vec<String>) -> Self {
        Self { stops, held: String::new(), over: false }
    }

    /// Returns the text that can be sent now.
    pub(super) fn filter_piece(&mut self, piece: &str) -> String {
        if self.over {
            return String::new();
        }
        self.held.push_str(piece);
        if let Some(end) = self.stops.iter().filter_map(|stop| self.held.find(stop)).min() {
            self.over = true;
            self.held.truncate(end);
            return std::mem::take(&mut self.held);
        }
        let from = self.possible_stop();
        let rest = self.held.split_off(from);
        std::mem::replace(&mut self.held, rest)
    }

    /// Returns the rest at the end of the text.
    pub(super) fn finish(&mut self) -> String {
        std::mem::take(&mut self.held)
    }

    /// True after a stop sequence.
    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    /// Position at which a stop sequence may have begun.
    fn possible_stop(&self) -> usize {
        let places = self.held.char_indices().map(|(at, _)| at);
        let begins = |at: &usize| self.stops.iter().any(|stop| stop.starts_with(&self.held[*at..]));
        places.into_iter().find(begins).unwrap_or(self.held.len())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn filtered_text(pieces: &[&str], stops: &[&str]) -> String {
        let mut filter = StopFilter::new(stops.iter().map(|stop| (*stop).to_owned()).collect());
        let mut said: String = pieces.iter().map(|piece| filter.filter_piece(piece)).collect();
        said.push_str(&filter.finish());
        said
    }

    #[test]
    fn a_stop_is_found_across_chunks() {
        assert_eq!(filtered_text(&["one tw", "o thr", "ee"], &["two"]), "one ");
        assert_eq!(filtered_text(&["我", "走", "了。再见"], &["了。"]), "我走");
        assert_eq!(filtered_text(&["tw", "elve"], &["two"]), "twelve");
        assert_eq!(filtered_text(&["all of it"], &[]), "all of it");
    }

    proptest! {
        #[test]
        fn chunking_makes_no_difference(text in "[ab猫]{0,12}", cut in 0usize..12, stop in "[ab猫]{1,3}") {
            let letters: Vec<char> = text.chars().collect();
            let cut = cut.min(letters.len());
            let (first, second): (String, String) = (letters[..cut].iter().collect(), letters[cut..].iter().collect());
            let whole = text.split(&stop).next().unwrap_or_default();
            prop_assert_eq!(filtered_text(&[&first, &second], &[&stop]), whole);
        }
    }
}
