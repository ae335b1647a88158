//! `extraction`: extracts events from messages, with exact quotes as evidence.

pub(crate) mod corrections;
mod drafts;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use text::lexicon::speech;
use text::{CorrectionCue, correction_cue, names_time_ahead};

use corrections::withdraws_statement;
use drafts::{
    EMOTION_TAGS_MAX, Event, Evidence, IDENTITY_BEARING, RELATIONAL_TAGS_MAX, SENTENCES_MAX, limit_events,
    merge,
};

use super::clarification::{Clarification, Doubt, find_clarification};
use super::entities::{Kind, NamedThing, mentions_name, named_things};
use super::peaks::heaviest_peak;
use super::rewrite::{continue_about, quote_user, third_person};
use super::self_statements::self_statement;
use super::sentences::{
    Clause, Language, clip_text, is_question, seems_to_ask, sentences_with_words, split_clauses,
};

/// Minimum |impact| of a peak. It is the impact from which an event has an anniversary.
const PEAK_IMPACT: i32 = 7;
const SUMMARY_CHARACTERS_MAX: usize = 300;

#[derive(Deserialize)]
pub(super) struct ExtractionInputs {
    messages: Vec<Message>,
    #[serde(default)]
    known_entities: Vec<KnownEntity>,
    #[serde(default)]
    entities_in_doubt: Vec<Doubt>,
    #[serde(default)]
    known_nodes: Vec<KnownNode>,
}

#[derive(Deserialize)]
struct Message {
    handle: String,
    role: String,
    text: String,
}

#[derive(Deserialize)]
struct KnownEntity {
    name: String,
    #[serde(default)]
    aliases: Vec<String>,
    #[serde(default)]
    kind: Option<String>,
}

#[derive(Deserialize)]
struct KnownNode {
    handle: String,
    text: String,
}

#[derive(Serialize)]
pub(super) struct Extraction {
    events: Vec<Event>,
    mentioned_entities: Vec<MentionedEntity>,
    entity_clarification: Option<Clarification>,
    session_mood_signal: Mood,
    session_summary: Option<String>,
    self_check_notes: String,
}

#[derive(Serialize)]
struct MentionedEntity {
    canonical_name: String,
    aliases: Vec<String>,
    kind: Kind,
}

#[derive(Serialize)]
struct Mood {
    mood: &'static str,
    energy: u8,
    last_user_signal: Option<String>,
}

/// Extracts memories from a closed session.
pub(super) fn extract(inputs: &ExtractionInputs) -> Extraction {
    let mut named: Vec<NamedThing> = Vec::new();
    for message in inputs.messages.iter().filter(|message| message.role == "user") {
        for sentence in sentences_with_words(&message.text) {
            named.extend(named_things(sentence, &split_clauses(sentence)));
        }
    }
    let known = RuleContext { entities: &inputs.known_entities, nodes: &inputs.known_nodes, named: &named };
    let mut drafts: Vec<Event> = Vec::new();
    let mut before = None;
    for message in &inputs.messages {
        let found = match message.role.as_str() {
            "user" => {
                if withdraws_statement(&message.text) {
                    let is_of = |evidence: &Evidence| before.is_some_and(|before| evidence.message == before);
                    drafts.retain(|event| !event.evidence.iter().any(is_of));
                }
                before = Some(message.handle.as_str());
                known.extract_events(message)
            }
            _ => intentions_of(message),
        };
        for event in found {
            if !drafts.iter().any(|other| other.description == event.description) {
                drafts.push(event);
            }
        }
    }
    // A stable sort: peaks, then statements of identity, then the higher impact, then the earlier one.
    drafts.sort_by_key(|event| {
        let impact = event.emotional_impact.abs();
        let identity = event.relational_tags.contains(&IDENTITY_BEARING);
        let peak = if impact >= PEAK_IMPACT { impact } else { 0 };
        (std::cmp::Reverse(peak), !identity, std::cmp::Reverse(impact))
    });
    let left_out = limit_events(&mut drafts);
    let language = session_language(&inputs.messages);
    Extraction {
        mentioned_entities: known.mentioned_entities(&drafts),
        entity_clarification: find_clarification(
            inputs.messages.iter().map(|message| (message.role.as_str(), message.text.as_str())),
            &inputs.entities_in_doubt,
        ),
        session_mood_signal: mood(&drafts, language),
        session_summary: summary(&drafts, language),
        self_check_notes: self_check_text(&drafts, left_out, language),
        events: drafts,
    }
}

/// Facts that the rules use in addition to the sentence.
struct RuleContext<'a> {
    entities: &'a [KnownEntity],
    nodes: &'a [KnownNode],
    named: &'a [NamedThing],
}

impl RuleContext<'_> {
    fn extract_events(&self, message: &Message) -> Vec<Event> {
        let mut events: Vec<Event> = Vec::new();
        for sentence in sentences_with_words(&message.text) {
            let cue = correction_cue(sentence);
            let language = Language::from_text(sentence).unwrap_or_default();
            if matches!(cue, Some(CorrectionCue::Denied | CorrectionCue::Retracted)) {
                events.extend(self.retraction(message, sentence, language));
                continue;
            }
            match (self.weigh_sentence(sentence), events.last_mut()) {
                (finding, Some(event))
                    if begins_with_pronoun(sentence) && event.evidence.len() < SENTENCES_MAX =>
                {
                    event.description.push_str(language.choose("", " "));
                    event.description.push_str(&continue_about(sentence, language));
                    self.strengthen_event(event, message, sentence, finding.unwrap_or_default());
                }
                (Some(finding), _) => {
                    let description = if finding.asked {
                        quote_user(sentence, language, true)
                    } else {
                        third_person(sentence, language)
                    };
                    let mut event = Event::user_event("event", description);
                    event.supersedes = self.superseded_by(sentence);
                    self.strengthen_event(&mut event, message, sentence, finding);
                    events.push(event);
                }
                (None, _) => {}
            }
        }
        events
    }

    /// The memory of a sentence, if it is worth one.
    fn weigh_sentence(&self, sentence: &str) -> Option<SentenceWeight> {
        let clauses = split_clauses(sentence);
        let names: Vec<&str> = self.known_names().collect();
        let cries = clauses
            .iter()
            .filter_map(|clause| heaviest_peak(clause, &names))
            .any(|peak| peak.cries_for_help());
        if clauses.len() == 1 && !is_question(sentence) && seems_to_ask(sentence) && !cries {
            return None;
        }
        let mut finding = SentenceWeight::default();
        let mut worth = false;
        for clause in &clauses {
            if let Some(statement) = self_statement(clause) {
                worth = true;
                finding.raise_impact(statement.impact, statement.emotion);
                finding.add_tag_if(statement.identity, IDENTITY_BEARING);
            }
            if let Some(peak) = heaviest_peak(clause, &names) {
                worth = true;
                finding.asked |= !clause.is_statement() && clauses.len() == 1 && clause.asks;
                finding.raise_impact(peak.impact, Some(peak.emotion));
                finding.add_tag_if(peak.vulnerable, "vulnerability");
            }
            if clause.is_statement() && clause.says_any(speech::PROMISE) {
                worth = true;
                finding.raise_impact(1, None);
                finding.add_tag_if(true, "commitment");
            }
            worth |= clause.says_any(speech::CORRECTION);
        }
        match correction_cue(sentence) {
            Some(CorrectionCue::Mistaken) => finding.add_tag_if(worth, "correction"),
            // A statement that something has changed states the present.
            Some(CorrectionCue::Changed) => worth |= clauses.iter().any(Clause::is_statement),
            _ => {}
        }
        let named = named_things(sentence, &clauses);
        if named.iter().any(|thing| thing.kind == Kind::Pet) {
            finding.raise_impact(2, Some("fondness"));
        }
        (worth || !named.is_empty()).then_some(finding)
    }

    fn strengthen_event(
        &self,
        event: &mut Event,
        message: &Message,
        sentence: &str,
        finding: SentenceWeight,
    ) {
        let impact = event.emotional_impact;
        if (finding.impact.abs(), finding.impact < 0) > (impact.abs(), impact < 0) {
            event.emotional_impact = finding.impact;
        }
        merge(&mut event.emotion_tags, finding.emotions, EMOTION_TAGS_MAX);
        merge(&mut event.relational_tags, finding.relations, RELATIONAL_TAGS_MAX);
        merge(&mut event.entities, self.entities_in(sentence), usize::MAX);
        event.evidence.push(Evidence { message: message.handle.clone(), quote: sentence.to_owned() });
    }

    fn known_names(&self) -> impl Iterator<Item = &str> {
        let known = self.entities.iter().flat_map(|entity| entity.aliases.iter().chain([&entity.name]));
        let named = self.named.iter().filter(|named| matches!(named.kind, Kind::Person | Kind::Pet));
        known.chain(named.map(|named| &named.name)).map(String::as_str).filter(|name| !name.trim().is_empty())
    }

    /// Names of the entities that a sentence mentions.
    fn entities_in(&self, sentence: &str) -> Vec<String> {
        let mut found = Vec::new();
        for entity in self.entities {
            if entity.aliases.iter().chain([&entity.name]).any(|name| mentions_name(sentence, name)) {
                found.push(entity.name.clone());
            }
        }
        for named in self.named.iter().filter(|named| mentions_name(sentence, &named.name)) {
            if self.find_known_entity(&named.name).is_none() && !found.contains(&named.name) {
                found.push(named.name.clone());
            }
        }
        found
    }

    fn find_known_entity(&self, name: &str) -> Option<&KnownEntity> {
        let same = |other: &String| other.to_lowercase() == name.to_lowercase();
        self.entities.iter().find(|entity| same(&entity.name) || entity.aliases.iter().any(same))
    }

    fn mentioned_entities(&self, events: &[Event]) -> Vec<MentionedEntity> {
        let mut mentioned: Vec<MentionedEntity> = Vec::new();
        for event in events {
            for name in &event.entities {
                if mentioned.iter().any(|entity| entity.canonical_name == *name) {
                    continue;
                }
                let stated =
                    self.find_known_entity(name).and_then(|entity| Kind::from_word(entity.kind.as_deref()?));
                let named = self.named.iter().find(|named| named.name == *name).map(|named| named.kind);
                let around = || {
                    Kind::from_context(name, event.evidence.first().map_or("", |evidence| &evidence.quote))
                };
                mentioned.push(MentionedEntity {
                    canonical_name: name.clone(),
                    aliases: Vec::new(),
                    kind: stated.or(named).unwrap_or_else(around),
                });
            }
        }
        mentioned
    }
}

/// Impact and tags of one sentence.
#[derive(Default)]
struct SentenceWeight {
    impact: i32,
    emotions: Vec<&'static str>,
    relations: Vec<&'static str>,
    /// True if the sentence is a question; its memory says so.
    asked: bool,
}

impl SentenceWeight {
    fn raise_impact(&mut self, impact: i32, emotion: Option<&'static str>) {
        if (impact.abs(), impact < 0) > (self.impact.abs(), self.impact < 0) {
            self.impact = impact;
        }
        merge(&mut self.emotions, emotion.into_iter().collect(), EMOTION_TAGS_MAX);
    }

    fn add_tag_if(&mut self, holds: bool, tag: &'static str) {
        if holds {
            merge(&mut self.relations, vec![tag], RELATIONAL_TAGS_MAX);
        }
    }
}

/// Commitments that the persona made: a promise with a time, and no refusal in the same message.
fn intentions_of(message: &Message) -> Vec<Event> {
    let mut found = Vec::new();
    for sentence in sentences_with_words(&message.text) {
        let clauses = split_clauses(sentence);
        let any = |words| clauses.iter().any(|clause| clause.is_statement() && clause.says_any(words));
        let promised = any(speech::PROMISE);
        let due = any(speech::WHEN) || names_time_ahead(sentence);
        let refused = any(speech::REFUSAL);
        if promised && due && !refused && message.role == "persona" {
            let language = Language::from_text(sentence).unwrap_or_default();
            let description = match language {
                Language::Chinese => format!("答应过：「{sentence}」"),
                Language::English => format!("Promised: \"{}\"", sentence.replace('"', "'")),
            };
            let evidence = Evidence { message: message.handle.clone(), quote: sentence.to_owned() };
            found.push(Event {
                emotional_impact: 1,
                relational_tags: vec!["commitment"],
                subject: "persona",
                evidence: vec![evidence],
                ..Event::user_event("intention", description)
            });
        }
    }
    found
}

fn begins_with_pronoun(sentence: &str) -> bool {
    let english = text::spaced_words(sentence);
    sentence.starts_with(['他', '她', '它', '牠'])
        || [" he ", " she ", " it ", " they ", " he's ", " she's ", " it's ", " they're "]
            .iter()
            .any(|pronoun| english.starts_with(pronoun))
}

fn session_language(messages: &[Message]) -> Language {
    let said: Vec<&str> = messages
        .iter()
        .filter(|message| message.role == "user")
        .map(|message| message.text.as_str())
        .collect();
    Language::from_text(&said.join("\n")).unwrap_or_default()
}

/// The persona's mood afterwards, by the impact of the most important event.
fn mood(events: &[Event], language: Language) -> Mood {
    let heaviest = events
        .iter()
        .filter(|event| event.subject == "user")
        .max_by_key(|event| event.emotional_impact.abs());
    let (mood, energy) = match heaviest.map_or(0, |event| event.emotional_impact) {
        ..=-8 => ("sorrowful", 3),
        -7..=-3 => ("concerned", 4),
        -2..=-1 => ("thoughtful", 5),
        0 => ("neutral", 5),
        1..=4 => ("warm", 6),
        5..=7 => ("happy", 7),
        _ => ("joyful", 8),
    };
    Mood {
        mood,
        energy,
        last_user_signal: heaviest
            .and_then(|event| describe_feeling(event.emotional_impact, language))
            .map(str::to_owned),
    }
}

/// The feeling of the user in a few words; `None` without one.
fn describe_feeling(impact: i32, language: Language) -> Option<&'static str> {
    Some(match impact {
        ..=-8 => language.choose("很难过", "heavy-hearted"),
        -7..=-3 => language.choose("心里不好受", "having a hard time"),
        -2..=-1 => language.choose("有点低落", "a little low"),
        0 => return None,
        1..=4 => language.choose("心情不错", "in good spirits"),
        5..=7 => language.choose("很高兴", "glad"),
        _ => language.choose("高兴极了", "overjoyed"),
    })
}

fn summary(events: &[Event], language: Language) -> Option<String> {
    let stated: Vec<&str> = events.iter().map(|event| event.description.as_str()).collect();
    (!stated.is_empty()).then(|| clip_text(&stated.join(language.choose("", " ")), SUMMARY_CHARACTERS_MAX))
}

fn self_check_text(events: &[Event], dropped: usize, language: Language) -> String {
    let peaks = events.iter().filter(|event| event.emotional_impact.abs() >= PEAK_IMPACT).count();
    match language {
        Language::Chinese => {
            format!(
                "只按词表查过失去、危机和人生大事：找到 {peaks} 处情绪高点；因为最多三件，略去 {dropped} 件较轻的。"
            )
        }
        Language::English => format!(
            "Checked by word lists only for loss, crisis and milestones: {peaks} peaks found; {dropped} lighter events left out because three is the most."
        ),
    }
}
