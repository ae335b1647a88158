//! Reflection: asks what to conclude from recent events.

use jiff::tz::TimeZone;
use memory::identifiers::NodeId;
use memory::nodes::{DESCRIPTION_LENGTH_MAX, IMPACT_MAX, Node};
use memory::ports::{ProposedThought, Reflection, ReflectionInput};
use serde::Serialize;
use serde_json::{Value, json};

use crate::answer::{self, Impact, List, MalformedAnswer, Member, Notes, snippet};
use crate::calendar;
use crate::contract::{
    DESCRIPTION_LENGTH_SOFT, ReflectionAnswer, SUBJECTS, THOUGHT_IMPACT_SOFT, THOUGHTS_MAX, ThoughtAnswer,
    subject_word,
};
use crate::handles::Handles;
use crate::parsed::ParsedAnswer;
use crate::quoted::{one_line, quote_lines};
use crate::vocabulary::Vocabulary;

/// Message to the model if no thought was valid.
const NO_THOUGHT: &str = "It held no impression that can be kept. Write one or two, never none, each with the handles of \
                          the events it rests on.";

/// Values for the reflection template.
#[derive(Debug, Default, Serialize)]
pub(crate) struct ReflectionContext {
    persona_name: String,
    persona_block: String,
    user_block: String,
    events: Vec<EventLine>,
    problem: String,
    vocabulary: Vocabulary,
}

#[derive(Debug, Serialize)]
struct EventLine {
    handle: String,
    when: String,
    impact: String,
    tags: String,
    text: String,
}

impl ReflectionContext {
    /// A context with one of everything, to try a template out.
    pub(crate) fn example() -> Self {
        let text = || "text".to_owned();
        Self {
            persona_name: text(),
            persona_block: text(),
            user_block: text(),
            events: vec![EventLine {
                handle: text(),
                when: text(),
                impact: text(),
                tags: text(),
                text: text(),
            }],
            problem: text(),
            vocabulary: Vocabulary::default(),
        }
    }
}

/// A request for a reflection: the input, and the handles of its ids.
pub(crate) struct ReflectionTask<'a> {
    input: &'a ReflectionInput,
    events: Handles<NodeId>,
}

impl<'a> ReflectionTask<'a> {
    pub(crate) fn new(input: &'a ReflectionInput) -> Self {
        Self { input, events: Handles::add_handle('e', input.events.iter().map(|event| event.id)) }
    }

    /// Values for the prompt's template. `problem` is the reason why the last answer was rejected.
    pub(crate) fn prompt_context(&self, problem: Option<&str>) -> ReflectionContext {
        let block = |text: &str| {
            if text.trim().is_empty() { String::new() } else { quote_lines(text.trim()) }
        };
        let events = self.input.events.iter().enumerate().map(|(index, event)| EventLine {
            handle: self.events.handle_at(index),
            when: day_of_event(event, &self.input.zone),
            impact: format!("{:+}", event.emotional_impact),
            tags: event.emotion_tags.iter().map(|tag| one_line(tag)).collect::<Vec<_>>().join(", "),
            text: one_line(&event.description),
        });
        ReflectionContext {
            persona_name: one_line(&self.input.persona_name),
            persona_block: block(&self.input.core_blocks.persona),
            user_block: block(&self.input.core_blocks.user),
            events: events.collect(),
            problem: problem.map_or_else(String::new, one_line),
            vocabulary: Vocabulary::default(),
        }
    }

    /// The input as data, for a provider without a language model.
    pub(crate) fn input_data(&self) -> Value {
        let events = self.input.events.iter().enumerate().map(|(index, event)| {
            json!({
                "handle": self.events.handle_at(index),
                "text": event.description,
                "impact": event.emotional_impact,
                "when": day_of_event(event, &self.input.zone),
            })
        });
        json!({ "events": events.collect::<Vec<_>>() })
    }

    /// Parses an answer; an invalid thought does not affect a good one.
    ///
    /// # Errors
    ///
    /// [`MalformedAnswer`] when there is no object with a list of thoughts at all.
    pub(crate) fn read(&self, answer: &str) -> Result<ParsedAnswer<Reflection>, MalformedAnswer> {
        let mut answer = answer::read(answer, &["thoughts"])?;
        let (mut notes, whole) = (Notes::from_notes(std::mem::take(&mut answer.notes)), answer.whole);
        let ReflectionAnswer { thoughts: proposed } = answer.parse_members()?;
        if !matches!(proposed, List::Items(_) | List::Single(_)) {
            return Err(MalformedAnswer("`thoughts` must be a list of one or two objects.".to_owned()));
        }
        let mut thoughts: Vec<ProposedThought> = Vec::new();
        for proposed in proposed.read("an object", "thoughts", &mut notes) {
            let Some(thought) = self.accept_thought(proposed, &mut notes) else { continue };
            if thoughts.len() == THOUGHTS_MAX {
                notes.add(format!(
                    "more than {THOUGHTS_MAX} thoughts, dropped: \"{}\"",
                    snippet(&thought.description)
                ));
            } else {
                thoughts.push(thought);
            }
        }
        let missing = thoughts.is_empty().then_some(NO_THOUGHT);
        Ok(ParsedAnswer { value: Reflection { thoughts, notes: notes.into_list() }, whole, missing })
    }

    fn accept_thought(&self, proposed: &ThoughtAnswer, notes: &mut Notes) -> Option<ProposedThought> {
        let Some(description) = proposed.description.trimmed_text() else {
            notes.add("a thought without a description, dropped");
            return None;
        };
        let filling = self.events.cited_ids(&proposed.filling, "event", "filling", notes);
        if filling.is_empty() {
            notes.add(format!("a thought that rests on no event, dropped: \"{}\"", snippet(description)));
            return None;
        }
        let description = notes.cut_text(description, DESCRIPTION_LENGTH_MAX, "description");
        if description.chars().count() > DESCRIPTION_LENGTH_SOFT {
            notes.add(format!(
                "a thought over {DESCRIPTION_LENGTH_SOFT} characters: \"{}\"",
                snippet(&description)
            ));
        }
        let word = proposed.subject.lower_case_word().unwrap_or_default();
        let subject = SUBJECTS.into_iter().find(|subject| subject_word(*subject) == word).unwrap_or_default();
        let emotional_impact = settled_impact(&proposed.emotional_impact, notes);
        Some(ProposedThought { description, subject, emotional_impact, filling })
    }
}

/// The impact, clamped and rounded. Extraction would refuse it instead, but the impact of an impression is not a fact
/// about anybody.
pub(crate) fn settled_impact(given: &Member<f64>, notes: &mut Notes) -> i8 {
    let impact = match Impact::from_member(given) {
        Impact::Valid(impact) => impact,
        Impact::OutOfRange(number) => {
            let given = snippet(&number.to_string());
            notes.add(format!("a thought's impact {given} clamped to ±{IMPACT_MAX}"));
            if number > 0.0 { IMPACT_MAX } else { -IMPACT_MAX }
        }
        Impact::Fraction(number) => {
            notes.add(format!("a thought's impact {number} rounded"));
            let bound = f64::from(IMPACT_MAX);
            number.round().clamp(-bound, bound) as i8
        }
        Impact::NoNumber => {
            if given.is_wrong() {
                notes.add("a thought's impact is no number, taken as 0");
            }
            0
        }
    };
    if impact.unsigned_abs() > THOUGHT_IMPACT_SOFT.unsigned_abs() {
        notes.add(format!(
            "a thought of impact {impact}: impressions rarely go beyond ±{THOUGHT_IMPACT_SOFT}"
        ));
    }
    impact
}

/// The day on which the event happened, or else was noted.
pub(crate) fn day_of_event(event: &Node, zone: &TimeZone) -> String {
    calendar::format_day(event.event_time.map_or(event.created_at, |time| time.start), zone)
}
