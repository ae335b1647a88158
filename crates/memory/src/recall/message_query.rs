//! The query of a text to the log: weighted words, vectors in the first person, and the speaker and times that it
//! names.

use std::collections::HashMap;

use jiff::civil::Weekday;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::identity::{self, IdentityQuestion};
use super::settings::{RecallSettings, SpeakerNames};
use super::speakers::{NamedSpeakers, name_speakers};
use crate::messages::{Message, Role};
use crate::text::lexicon::times as lexicon;
use crate::text::{
    QueryTerm, asks_for_time, border_terms, estimate_tokens, index_terms, named_times, query_terms,
    split_sentences, time_phrases,
};

/// Maximum tokens of a message that is searched as one. The embedder blurs longer texts, and a long text has too many
/// words at once.
const WHOLE_TOKENS_MAX: u32 = 24;
/// Maximum sentences of a long message to search separately; the newest are used. Embedding each takes some
/// milliseconds.
const SENTENCES_MAX: usize = 5;
/// Characters of a long message to embed as a whole, the newest: the model reads no more at once.
const WHOLE_LENGTH_MAX: usize = 1_000;
/// Weight of a line or sentence relative to the one after it: the newest text is the point, the older one its context.
const OLDER_LINE_WEIGHT: f64 = 0.9;
/// Weight of another speaker's line in a dialogue: the search is about the asker's topic.
const OTHER_SPEAKER_LINE_WEIGHT: f64 = 0.3;
/// Maximum length of the label of a dialogue's line ("Ann: …"), in characters.
const LABEL_LENGTH_MAX: usize = 20;
/// Maximum length of a time span in a message that dates an event. "In March" does; "in my twenties" does not.
const DATED_SPAN_MAX: SignedDuration = SignedDuration::from_hours(24 * 31);
/// Maximum tokens of a message that is read for the times in it; longer ones have many.
const TELLING_TOKENS_MAX: u32 = 300;
/// Weight of the words of a date that was understood: it is searched as a time.
const DATE_WORD: f64 = 0.3;
/// Weight of two characters across the boundary of two Chinese words, relative to a word. They may be a word that the
/// dictionary lacks, or chance.
const BORDER_PAIR: f64 = 0.5;
/// Maximum terms to search for, the newest. It is the maximum number of phrases of one search.
const TERMS_MAX: usize = 96;

/// A search in the message log. The speakers' names are neither in its terms nor in its vectors: people seldom say
/// their own name, and the speaker of a message is known.
#[derive(Clone, Debug, Default)]
pub struct MessageQuery {
    /// Distinct content terms with their weights (0 to 1), the newest first.
    pub terms: Vec<(QueryTerm, f64)>,
    /// The content terms of each sentence that is searched separately.
    pub sentences: Vec<Vec<QueryTerm>>,
    /// Vectors of these sentences in the first person, if the model can read them.
    pub vectors: Vec<Vec<f32>>,
    /// Vector of the whole text, if it has more than one sentence.
    pub whole: Option<Vec<f32>>,
    /// The speaker that is asked about: set if the text names exactly one of the two.
    pub speaker: Option<Role>,
    /// The times that the text names.
    pub times: Vec<(Timestamp, Timestamp)>,
    /// True if the text asks when something was.
    pub asks_for_time: bool,
    /// The zone and the first day of an English week, for resolving times.
    pub calendar: Option<(TimeZone, Weekday)>,
}

/// The texts to embed for a question, and its terms.
pub(super) struct TextsToEmbed {
    /// The sentences of the text, unchanged.
    pub(super) sentences: Vec<String>,
    /// The content terms of each.
    pub(super) terms: Vec<Vec<QueryTerm>>,
    /// The sentences converted to the first person.
    pub(super) spoken: Vec<String>,
    /// The whole text in the first person, if it has more than one sentence.
    pub(super) whole: Option<String>,
    /// A question about the identity of the user, if there is one.
    pub(super) identity: Option<IdentityQuestion>,
}

impl MessageQuery {
    /// Splits a text into terms, names and times. Its vectors are added later.
    pub(super) fn new(
        text: &str,
        now: Timestamp,
        zone: &TimeZone,
        settings: &RecallSettings,
    ) -> (Self, TextsToEmbed) {
        let RecallSettings { speaker_names: names, week_start, .. } = settings;
        let sentences = sentences(text);
        let spoken = sentences.iter().map(|sentence| name_speakers(sentence, names).spoken).collect();
        let NamedSpeakers { spoken: whole, speaker } = name_speakers(text.trim(), names);
        let is_whole = sentences.len() <= 1 && estimate_tokens(text.trim()) <= WHOLE_TOKENS_MAX;
        let names = SpeakerNameTerms::new(names);
        let terms: Vec<Vec<QueryTerm>> = sentences.iter().map(|sentence| query_terms(sentence)).collect();
        // A short text is its own sentence and part, so it is split once.
        let terms_of = |part: &str| match sentences.iter().position(|sentence| sentence == part) {
            Some(place) => terms[place].clone(),
            None => query_terms(part),
        };
        // Times in older lines of a conversation are not asked about.
        let newest = text.trim().lines().next_back().unwrap_or_default();
        // 我叫林晚 and 我叫什么 have no content word in common, but these two characters.
        let asked = identity::identity_question(text);
        let named = asked.and_then(identity::users_name_term);
        let sentences_terms = terms.iter().map(|terms| {
            let mut terms = names.without_names(terms.clone());
            terms.extend(named.clone());
            terms
        });
        let mut weighted = weighted_terms(text, &names, terms_of);
        weighted.extend(named.clone().map(|term| (term, 1.0)));
        let times = named_times(newest, now, zone, *week_start);
        for (_, weight) in weighted.iter_mut().filter(|(term, _)| !times.is_empty() && is_date_term(term)) {
            *weight *= DATE_WORD;
        }
        let question = Self {
            terms: weighted,
            sentences: sentences_terms.collect(),
            vectors: Vec::new(),
            whole: None,
            speaker,
            times,
            asks_for_time: asks_for_time(newest),
            calendar: Some((zone.clone(), *week_start)),
        };
        let whole = (!is_whole).then(|| newest_characters(&whole));
        (question, TextsToEmbed { sentences, terms, spoken, whole, identity: asked })
    }
}

impl MessageQuery {
    /// True if a message is about a time that the question names: "yesterday", said on the day after it.
    pub(super) fn is_about_named_time(&self, message: &Message) -> bool {
        let Some((zone, week_start)) = self.calendar.as_ref().filter(|_| !self.times.is_empty()) else {
            return false;
        };
        if message.token_count > TELLING_TOKENS_MAX {
            return false;
        }
        let named = time_phrases(&message.content, message.created_at, zone, *week_start);
        named
            .iter()
            .filter(|named| !named.present && named.end.duration_since(named.start) <= DATED_SPAN_MAX)
            .any(|named| self.times.iter().any(|&(start, end)| named.start <= end && start <= named.end))
    }
}

fn sentences(text: &str) -> Vec<String> {
    let whole = text.trim();
    if whole.is_empty() {
        return Vec::new();
    }
    if estimate_tokens(whole) <= WHOLE_TOKENS_MAX {
        return vec![whole.to_owned()];
    }
    let sentences = split_sentences(whole);
    sentences[sentences.len().saturating_sub(SENTENCES_MAX)..]
        .iter()
        .map(|&sentence| sentence.to_owned())
        .collect()
}

fn newest_characters(text: &str) -> String {
    let from = text.char_indices().rev().nth(WHOLE_LENGTH_MAX - 1).map_or(0, |(at, _)| at);
    text[from..].to_owned()
}

/// The index terms of the speakers' names.
struct SpeakerNameTerms(Vec<Vec<String>>);

impl SpeakerNameTerms {
    fn new(names: &SpeakerNames) -> Self {
        let terms = |name: &String| index_terms(name).split(' ').map(str::to_owned).collect();
        Self(names.user.iter().chain(&names.persona).map(terms).collect())
    }

    /// The terms without names and words of names.
    fn without_names(&self, mut terms: Vec<QueryTerm>) -> Vec<QueryTerm> {
        let word_of = |term: &QueryTerm, name: &[String]| match term.phrase.0.as_slice() {
            [word] => word.chars().count() > 1 && name.contains(word),
            _ => false,
        };
        terms.retain(|term| !self.0.iter().any(|name| *name == term.phrase.0 || word_of(term, name)));
        terms
    }
}

/// The terms of all lines (for a single line, of its sentences); a term in several of them gets the highest weight.
fn weighted_terms(
    text: &str,
    names: &SpeakerNameTerms,
    terms_of: impl Fn(&str) -> Vec<QueryTerm>,
) -> Vec<(QueryTerm, f64)> {
    let mut places: HashMap<Vec<String>, usize> = HashMap::new();
    let mut terms: Vec<(QueryTerm, f64)> = Vec::new();
    for (part, weight) in weighted_parts(text) {
        let pairs =
            names.without_names(border_terms(part)).into_iter().map(|term| (term, weight * BORDER_PAIR));
        let words = names.without_names(terms_of(part)).into_iter().map(|term| (term, weight));
        for (term, weight) in words.chain(pairs) {
            match places.get(&term.phrase.0) {
                Some(&place) => terms[place].1 = terms[place].1.max(weight),
                None if terms.len() < TERMS_MAX => {
                    places.insert(term.phrase.0.clone(), terms.len());
                    terms.push((term, weight));
                }
                None => {}
            }
        }
    }
    terms
}

/// Lines of a dialogue, else lines, else sentences, with their weights, the newest first.
fn weighted_parts(text: &str) -> Vec<(&str, f64)> {
    let whole = text.trim();
    let lines: Vec<&str> = whole.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let labels: Vec<Option<&str>> = lines.iter().map(|line| speaker_label(line)).collect();
    let asker = labels.iter().copied().flatten().next();
    let is_dialogue = labels.iter().flatten().count() > 1;
    let older = |age: usize| OLDER_LINE_WEIGHT.powf(age as f64);
    if lines.len() > 1 && is_dialogue {
        let weight = |label: Option<&str>| {
            if label.is_none_or(|name| Some(name) == asker) { 1.0 } else { OTHER_SPEAKER_LINE_WEIGHT }
        };
        let newest_first = lines.into_iter().zip(labels).rev().enumerate();
        return newest_first.map(|(age, (line, label))| (line, older(age) * weight(label))).collect();
    }
    let parts = match lines.as_slice() {
        [_, _, ..] => lines,
        _ if estimate_tokens(whole) <= WHOLE_TOKENS_MAX => vec![whole],
        _ => split_sentences(whole),
    };
    parts.into_iter().rev().enumerate().map(|(age, part)| (part, older(age))).collect()
}

fn is_date_term(term: &QueryTerm) -> bool {
    term.surface.chars().all(|c| c.is_ascii_digit()) || lexicon::DATE_WORDS.contains(&term.surface)
}

/// The name at the start of a line in a dialogue.
fn speaker_label(line: &str) -> Option<&str> {
    let parted = line.split_once([':', '\u{ff1a}']);
    let named = parted.filter(|(name, words)| {
        let short = name.chars().count() <= LABEL_LENGTH_MAX && name.split_whitespace().count() <= 3;
        short && name.chars().any(char::is_alphabetic) && !words.starts_with("//")
    });
    named.map(|(name, _)| name.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weights(text: &str) -> Vec<(&str, f64)> {
        weighted_parts(text)
            .into_iter()
            .map(|(part, weight)| (part, (weight * 100.0).round() / 100.0))
            .collect()
    }

    fn question(text: &str, names: &SpeakerNames) -> (MessageQuery, TextsToEmbed) {
        let settings = RecallSettings { speaker_names: names.clone(), ..RecallSettings::default() };
        MessageQuery::new(text, Timestamp::UNIX_EPOCH, &TimeZone::UTC, &settings)
    }

    #[test]
    fn a_short_message_stays_whole_and_of_a_long_one_the_newest_sentences_count() {
        assert_eq!(sentences(" Hi. How is my cat? "), ["Hi. How is my cat?"]);
        let long: Vec<String> =
            (0..8).map(|n| format!("This is the sentence number {n} of a long story.")).collect();
        assert_eq!(sentences(&long.join(" ")), long[3..]);
        assert!(sentences(" \n").is_empty());
    }

    #[test]
    fn the_newest_line_weighs_most_and_in_a_dialogue_those_of_the_asker() {
        let dialogue = "Bart: 我的小企鹅\nAssistant: 真的吗\nBart\u{ff1a}在公园丢的";
        assert_eq!(
            weights(dialogue),
            [("Bart\u{ff1a}在公园丢的", 1.0), ("Assistant: 真的吗", 0.27), ("Bart: 我的小企鹅", 0.81)]
        );
        assert_eq!(weights("my cat\nis ill"), [("is ill", 1.0), ("my cat", 0.9)]);
        assert_eq!(weights("at 10:30 my cat came"), [("at 10:30 my cat came", 1.0)]);
    }

    #[test]
    fn names_of_the_speakers_are_no_terms() {
        let names = SpeakerNames { user: vec!["Mary Ann".to_owned()], persona: vec!["小黑".to_owned()] };
        let (asked, texts) = question("What did Mary Ann cook?", &names);
        let surfaces: Vec<&str> = asked.terms.iter().map(|(term, _)| term.surface.as_str()).collect();
        assert_eq!(surfaces, ["cook"]);
        assert_eq!((asked.speaker, texts.spoken), (Some(Role::User), vec!["What did I cook?".to_owned()]));
        assert!(texts.whole.is_none());
        let (asked, _) = question("小黑喜欢黑咖啡吗", &names);
        assert!(asked.terms.iter().any(|(term, _)| term.surface == "咖啡"));
        assert!(asked.terms.iter().all(|(term, _)| term.surface != "小黑"));
        assert_eq!(asked.speaker, Some(Role::Persona));
    }
}
