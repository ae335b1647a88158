//! What a model's vectors need before their cosines mean what recall takes them for.
//!
//! Vectors of some models lie in a narrow cone: unrelated texts of multilingual-e5-small have cosines of 0.7 to 0.9, those
//! of one language higher than those of two, and queries lie elsewhere than passages. Taking the mean vector of such
//! texts away and scaling to unit length puts unrelated texts near 0 again, in one language and across two, so that the
//! floor of relevance and every other bound on a cosine keeps its meaning, whichever model it is.

mod multilingual_e5_small;

use icu_properties::CodePointMapData;
use icu_properties::props::Script;

use crate::pooling::normalize;
use multilingual_e5_small::{HAN_PASSAGES, HAN_QUERIES, OTHER_PASSAGES, OTHER_QUERIES};

/// Distribution of a model's vectors, as `echovessel-eval calibrate` measures it.
#[derive(Debug)]
pub struct Calibration {
    /// Mean vectors of texts that are to be found.
    passages: Centres,
    /// Mean vectors of texts that are looked for.
    queries: Centres,
    /// Share of the mean that is taken away. All of it would leave nothing of a text that says nothing in particular.
    strength: f32,
}

/// Mean vectors by language, in hundred-thousandths.
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

/// Share of Chinese in a text, from 0 to 1. A Han character says as much as a Latin word, so it counts as four letters. A
/// letter of a script that was not measured counts half: the mean of both is nearest to what is known of it.
fn han_share(text: &str) -> f32 {
    /// Letters of English that say as much as one Chinese character, about.
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
