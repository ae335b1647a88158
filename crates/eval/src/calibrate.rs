//! Distribution of a model's vectors: their mean by language, and the cosines of unrelated texts. The result is
//! stored with the model's description.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context as _, bail};
use memory::ports::Embedder;
use memory::vector_index::cosine;
use serde::Serialize;

use crate::data::DataSet;
use crate::loading;

/// Maximum units to sample from a data set, evenly spaced. Each is compared with those of every other set.
const SAMPLED_UNITS_MAX: usize = 1000;
/// Maximum questions to sample from a data set, evenly spaced: a mean needs no more.
const QUESTIONS_MAX: usize = 300;
/// Maximum characters of a text; longer texts cost much and change a mean little.
const CHARACTERS_MAX: usize = 1200;
/// Texts embedded at once. It bounds the memory that embedding takes.
const BATCH: usize = 64;
/// Share of Chinese letters from which a data set counts as Chinese.
const HAN_SHARE_MIN: f64 = 0.5;

/// Distribution of a model's vectors over several data sets.
#[derive(Clone, Debug, Serialize)]
pub struct Calibration {
    /// Fingerprint of the model.
    pub model: String,
    /// Mean vectors of Chinese passages, in hundred-thousandths; each set has the same weight. `None` if no set is
    /// Chinese.
    pub han_passages: Option<Vec<i32>>,
    /// Mean vectors of English passages.
    pub latin_passages: Option<Vec<i32>>,
    /// Mean vectors of Chinese queries.
    pub han_queries: Option<Vec<i32>>,
    /// Mean vectors of English queries.
    pub latin_queries: Option<Vec<i32>>,
    /// Cosines of questions with units of other sets: the 5th, 50th, 95th and 99th percentile.
    pub unrelated: [f32; 4],
    /// Cosines of questions with the units that answer them, the same percentiles.
    pub related: [f32; 4],
    /// Cosines of units with units of other sets, the same percentiles.
    pub unrelated_units: [f32; 4],
}

/// A data set's vectors.
struct EmbeddedSet {
    is_han: bool,
    units: Vec<Vec<f32>>,
    questions: Vec<Vec<f32>>,
    /// Indexes of questions and of units that answer them.
    related: Vec<(usize, usize)>,
}

/// Reads the data sets in the subfolders of a folder. A subfolder without `units.jsonl` is LoCoMo.
///
/// # Errors
///
/// When a set can't be read.
pub fn read_sets(folder: &Path) -> anyhow::Result<Vec<(String, DataSet)>> {
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut folders: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    folders.retain(|path| path.is_dir());
    folders.sort();
    let mut sets = Vec::new();
    for path in folders {
        let format = if path.join("units.jsonl").is_file() { "jsonl" } else { "locomo" };
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        sets.push((name, loading::read_data_set(format, &path)?));
    }
    if sets.len() < 2 {
        bail!("{} needs at least two data sets in folders of their own", folder.display());
    }
    Ok(sets)
}

/// Embeds a sample of each set and measures it.
///
/// # Errors
///
/// When the embedder fails.
pub async fn measure(
    embedder: &dyn Embedder,
    sets: &[(String, DataSet)],
    progress: &mut (dyn FnMut(&str) + Send),
) -> anyhow::Result<Calibration> {
    let mut embedded = Vec::with_capacity(sets.len());
    for (name, set) in sets {
        progress(name);
        embedded.push(embed(embedder, set).await?);
    }
    let mean = |is_han: bool, of: fn(&EmbeddedSet) -> &[Vec<f32>]| {
        let sets: Vec<Vec<f64>> =
            embedded.iter().filter(|set| set.is_han == is_han).map(|set| mean_of(of(set))).collect();
        mean_of_means(&sets)
    };
    let related = embedded.iter().flat_map(|set| {
        set.related.iter().map(|(question, unit)| cosine(&set.questions[*question], &set.units[*unit]))
    });
    Ok(Calibration {
        model: embedder.fingerprint().to_owned(),
        han_passages: mean(true, |set| &set.units),
        latin_passages: mean(false, |set| &set.units),
        han_queries: mean(true, |set| &set.questions),
        latin_queries: mean(false, |set| &set.questions),
        unrelated: percentiles(cosines_across_sets(&embedded, |set| &set.questions)),
        related: percentiles(related.collect()),
        unrelated_units: percentiles(cosines_across_sets(&embedded, |set| &set.units)),
    })
}

async fn embed(embedder: &dyn Embedder, set: &DataSet) -> anyhow::Result<EmbeddedSet> {
    let units: Vec<_> = set.conversations.iter().flat_map(|one| &one.units).collect();
    let questions: Vec<_> = set.conversations.iter().flat_map(|one| &one.questions).collect();
    let (units, questions) = (take_sample(&units, SAMPLED_UNITS_MAX), take_sample(&questions, QUESTIONS_MAX));
    let cut = |text: &str| text.chars().take(CHARACTERS_MAX).collect::<String>();
    let unit_texts: Vec<String> = units.iter().map(|unit| cut(&unit.text)).collect();
    let question_texts: Vec<String> = questions.iter().map(|question| cut(&question.text)).collect();
    let letters = || unit_texts.iter().flat_map(|text| text.chars()).filter(|letter| letter.is_alphabetic());
    let han = letters().filter(|letter| ('\u{4e00}'..='\u{9fff}').contains(letter)).count();
    let mut embedded = EmbeddedSet {
        is_han: han as f64 >= HAN_SHARE_MIN * letters().count() as f64,
        units: Vec::with_capacity(units.len()),
        questions: Vec::with_capacity(questions.len()),
        related: Vec::new(),
    };
    for batch in unit_texts.chunks(BATCH) {
        embedded.units.extend(embedder.embed(batch).await?.into_iter().map(|one| one.vector));
    }
    for batch in question_texts.chunks(BATCH) {
        embedded.questions.extend(embedder.embed_queries(batch).await?.into_iter().map(|one| one.vector));
    }
    for (at, question) in questions.iter().enumerate() {
        let golden = units.iter().enumerate().filter(|(_, unit)| question.gold.contains(&unit.id));
        embedded.related.extend(golden.map(|(unit, _)| (at, unit)));
    }
    Ok(embedded)
}

fn take_sample<'a, T>(all: &[&'a T], most: usize) -> Vec<&'a T> {
    let step = all.len().div_ceil(most).max(1);
    all.iter().step_by(step).copied().collect()
}

fn mean_of(vectors: &[Vec<f32>]) -> Vec<f64> {
    let mut sums = vec![0.0; vectors.first().map_or(0, Vec::len)];
    for vector in vectors {
        for (sum, number) in sums.iter_mut().zip(vector) {
            *sum += f64::from(*number) / vectors.len() as f64;
        }
    }
    sums
}

fn mean_of_means(sets: &[Vec<f64>]) -> Option<Vec<i32>> {
    let first = sets.first()?;
    let mean = |at: usize| sets.iter().map(|set| set.get(at).copied().unwrap_or_default()).sum::<f64>();
    Some((0..first.len()).map(|at| (mean(at) / sets.len() as f64 * 1e5).round() as i32).collect())
}

/// Cosines of the vectors that `of` selects with the units of every other set.
fn cosines_across_sets(sets: &[EmbeddedSet], of: fn(&EmbeddedSet) -> &[Vec<f32>]) -> Vec<f32> {
    let mut cosines = Vec::new();
    for (at, set) in sets.iter().enumerate() {
        let others = sets.iter().enumerate().filter(|(other, _)| *other != at);
        for unit in others.flat_map(|(_, other)| &other.units) {
            cosines.extend(of(set).iter().step_by(7).map(|vector| cosine(vector, unit)));
        }
    }
    cosines
}

fn percentiles(mut cosines: Vec<f32>) -> [f32; 4] {
    cosines.sort_by(f32::total_cmp);
    [0.05, 0.5, 0.95, 0.99].map(|share| {
        let at = (share * cosines.len().saturating_sub(1) as f64).round() as usize;
        cosines.get(at).copied().unwrap_or_default()
    })
}

impl Calibration {
    /// Averages two measurements into this one.
    pub fn average_with(&mut self, other: Self) {
        self.han_passages = other.han_passages;
        self.latin_passages = other.latin_passages;
        self.han_queries = other.han_queries;
        self.latin_queries = other.latin_queries;
    }

    /// The table for people; the means are in the JSON only.
    pub fn table(&self) -> String {
        let mut table =
            format!("{}\n{:26} {:>6} {:>6} {:>6} {:>6}\n", self.model, "cosines", "5%", "50%", "95%", "99%");
        for (name, [low, middle, high, highest]) in [
            ("questions, other sets", self.unrelated),
            ("questions, their answers", self.related),
            ("units, other sets", self.unrelated_units),
        ] {
            // Writing to a String can't fail.
            let _ = writeln!(table, "{name:26} {low:>6.2} {middle:>6.2} {high:>6.2} {highest:>6.2}");
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_weigh_every_set_the_same() {
        let (small, large) = (mean_of(&[vec![1.0, 0.0]]), mean_of(&vec![vec![0.0, 0.5]; 9]));
        assert_eq!(mean_of_means(&[small, large]), Some(vec![50_000, 25_000]));
        assert_eq!(mean_of_means(&[]), None);
    }

    #[test]
    fn percentiles_are_of_the_sorted_cosines() {
        let cosines = (0..=100).rev().map(|number| number as f32 / 100.0).collect();
        assert_eq!(percentiles(cosines), [0.05, 0.5, 0.95, 0.99]);
        assert_eq!(percentiles(Vec::new()), [0.0; 4]);
    }

    #[test]
    fn a_sample_is_evenly_spaced_and_never_larger() {
        let all: Vec<usize> = (0..2500).collect();
        let sampled = take_sample(&all.iter().collect::<Vec<_>>(), 1000);
        assert_eq!((sampled.len(), *sampled[1]), (834, 3));
    }
}
