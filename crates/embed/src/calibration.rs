//! Calibration of a model's vectors, so that their cosines have the scale that recall expects.
//!
//! Vectors of some models lie in a narrow cone: unrelated texts of multilingual-e5-small have cosines of 0.7 to 0.9,
//! those in the same language higher ones than those in two, and queries differ from passages. Subtracting the mean
//! vector of such texts and scaling to unit length moves unrelated texts back to about 0, within a language and
//! across two. So the minimum relevance and all other bounds on cosines have the same meaning for every model.

mod multilingual_e5_small;

use icu_properties::CodePointMapData;
use icu_properties::props::Script;

use crate::pooling::normalize;
use multilingual_e5_small::{HAN_PASSAGES, HAN_QUERIES, OTHER_PASSAGES, OTHER_QUERIES};

/// Distribution of a model's vectors, as `echovessel-eval calibrate` measures it.
#[derive(Debug)]
pub struct Calibration {
    /// Mean vectors of passages, the texts that are searched.
    passages: Centres,
    /// Mean vectors of queries.
    queries: Centres,
    /// Share of the mean that is subtracted. Subtracting all of it would leave nothing of a text without a particular
    /// meaning.
    strength: f32,
}

/// Mean vectors by script, in hundred-thousandths.
#[derive(Debug)]
struct Centres {
    /// Values for texts in Han characters.
    han: &'static [i16],
    /// Values for texts in Latin letters.
    latin: &'static [i16],
}

/// Why a text is embedded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A query: a text that others are searched with.
    Query,
    /// A text that is searched.
    Passage,
}

pub(crate) const MULTILINGUAL_E5_SMALL_CALIBRATION: Calibration = Calibration {
    passages: Centres { han: &HAN_PASSAGES, latin: &OTHER_PASSAGES },
    queries: Centres { han: &HAN_QUERIES, latin: &OTHER_QUERIES },
    strength: 0.9,
};

impl Calibration {
    /// Subtracts the mean vector of texts in the same script and for the same purpose, then scales to unit length.
    pub(crate) fn center_and_normalize(&self, purpose: Purpose, text: &str, vector: &mut [f32]) {
        let centres = match purpose {
            Purpose::Query => &self.queries,
            Purpose::Passage => &self.passages,
        };
        let han = han_share(text);
        for ((number, of_han), of_latin) in vector.iter_mut().zip(centres.han).zip(centres.latin) {
            let centre = han * f32::from(*of_han) + (1.0 - han) * f32::from(*of_latin);
            *number -= self.strength * centre / 1e5;
        }
        normalize(vector);
    }
}

/// Share of Chinese in a text, from 0 to 1. A Han character carries as much meaning as a Latin word, so it counts as
/// four letters. A letter of an unmeasured script counts half: the mean of both scripts is the best guess for it.
fn han_share(text: &str) -> f32 {
    /// Latin letters that carry about as much meaning as one Han character.
    const LETTERS_OF_A_CHARACTER: f32 = 4.0;
    let scripts = CodePointMapData::<Script>::new();
    let (mut han, mut all) = (0.0, 0.0);
    for letter in text.chars().filter(|letter| letter.is_alphabetic()) {
        match scripts.get(letter) {
            Script::Han => (han, all) = (han + LETTERS_OF_A_CHARACTER, all + LETTERS_OF_A_CHARACTER),
            Script::Latin => all += 1.0,
            _ => (han, all) = (han + 0.5, all + 1.0),
        }
    }
    if all > 0.0 { han / all } else { 0.5 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_of_a_text_is_the_share_of_its_letters() {
        assert_eq!(han_share("用户养了一只白猫。"), 1.0);
        assert_eq!(han_share("2024: a white cat"), 0.0);
        assert_eq!(han_share("猫 cats"), 0.5);
        assert_eq!(han_share("кошка"), 0.5);
        assert_eq!(han_share("2024 😀"), 0.5);
    }

    #[test]
    fn calibration_subtracts_the_common_direction() {
        static CENTRE: [i16; 2] = [30_000, 0];
        let centres = || Centres { han: &CENTRE, latin: &CENTRE };
        let calibration = Calibration { passages: centres(), queries: centres(), strength: 1.0 };
        let mut vector = [0.3 + 0.6, 0.8];
        calibration.center_and_normalize(Purpose::Passage, "cat", &mut vector);
        assert!((vector[0] - 0.6).abs() < 1e-6 && (vector[1] - 0.8).abs() < 1e-6, "{vector:?}");
    }

    #[test]
    fn every_centre_has_as_many_components_as_the_model() {
        for centres in
            [&MULTILINGUAL_E5_SMALL_CALIBRATION.passages, &MULTILINGUAL_E5_SMALL_CALIBRATION.queries]
        {
            assert_eq!((centres.han.len(), centres.latin.len()), (384, 384));
        }
    }
}
