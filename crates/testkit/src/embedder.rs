//! Vectors without a model.

use async_trait::async_trait;
use memory::ports::{EmbedError, Embedder, Embedding};
use parking_lot::Mutex;

use crate::ids::mix_bits;

const DIMENSION: usize = 64;
/// Components per word: enough that two words seldom look alike, few enough that they stay apart.
const COMPONENTS_PER_WORD: u64 = 4;

/// An [`Embedder`] of hashed words: the more words two texts share, the more similar their vectors; word order and
/// case are ignored; every CJK character is a word. The same text has the same vector in every run.
pub struct WordHashEmbedder {
    fingerprint: String,
    readability: Option<f32>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    failure: Option<EmbedError>,
    calls: Vec<Vec<String>>,
}

impl Default for WordHashEmbedder {
    fn default() -> Self {
        Self::new()
    }
}

impl WordHashEmbedder {
    /// An embedder that reads everything but CJK characters, like the English model that it simulates.
    #[must_use]
    pub fn new() -> Self {
        Self { fingerprint: "word-hash-64".to_owned(), readability: None, state: Mutex::default() }
    }

    /// Makes every text readable to this share (0 to 1).
    #[must_use]
    pub fn with_readability(mut self, readability: f32) -> Self {
        self.readability = Some(readability);
        self
    }

    /// Changes the fingerprint, as another model would have.
    #[must_use]
    pub fn with_fingerprint(mut self, fingerprint: &str) -> Self {
        fingerprint.clone_into(&mut self.fingerprint);
        self
    }

    /// Makes every further call fail with this error; `None` makes calls work again.
    pub fn fail_with(&self, failure: Option<EmbedError>) {
        self.state.lock().failure = failure;
    }

    /// The texts of every call, in order, failed calls included.
    #[must_use]
    pub fn recorded_calls(&self) -> Vec<Vec<String>> {
        self.state.lock().calls.clone()
    }
}

#[async_trait]
impl Embedder for WordHashEmbedder {
    fn dimension(&self) -> usize {
        DIMENSION
    }

    fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Embedding>, EmbedError> {
        let mut state = self.state.lock();
        state.calls.push(texts.to_vec());
        if let Some(failure) = &state.failure {
            return Err(failure.clone());
        }
        let embedding = |text: &String| Embedding {
            vector: unit_vector(text),
            readability: self.readability.unwrap_or_else(|| readable_share(text)),
        };
        Ok(texts.iter().map(embedding).collect())
    }
}

pub(crate) fn unit_vector(text: &str) -> Vec<f32> {
    let mut vector = vec![0.0_f32; DIMENSION];
    for word in split_words(text) {
        let hash = fnv_1a(&word);
        for component in 0..COMPONENTS_PER_WORD {
            let bits = mix_bits(hash.wrapping_add(component));
            let index = usize::try_from(bits % DIMENSION as u64).unwrap_or(0);
            vector[index] += if bits >> 63 == 0 { 1.0 } else { -1.0 };
        }
    }
    let length = vector.iter().map(|component| component * component).sum::<f32>().sqrt();
    if length == 0.0 {
        // Without a word there is no direction, but a vector must have one.
        vector[0] = 1.0;
        return vector;
    }
    vector.iter_mut().for_each(|component| *component /= length);
    vector
}

fn split_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    for character in text.chars().flat_map(char::to_lowercase) {
        if character.is_alphanumeric() && !is_cjk(character) {
            word.push(character);
            continue;
        }
        if !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if is_cjk(character) {
            words.push(character.to_string());
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

fn readable_share(text: &str) -> f32 {
    let (mut readable, mut all) = (0_u32, 0_u32);
    for character in text.chars().filter(|character| !character.is_whitespace()) {
        all += 1;
        readable += u32::from(!is_cjk(character));
    }
    if all == 0 { 1.0 } else { (f64::from(readable) / f64::from(all)) as f32 }
}

/// Kana, Han (with extensions) and Hangul.
fn is_cjk(character: char) -> bool {
    matches!(character,
        '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{323af}')
}

/// FNV-1a, 64 bits (draft-eastlake-fnv): unlike the standard library's hasher it never changes.
fn fnv_1a(word: &str) -> u64 {
    word.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
