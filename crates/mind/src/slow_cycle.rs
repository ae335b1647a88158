//! The slow cycle: asks for thoughts, expectations and questions between two sessions.

use jiff::SignedDuration;
use memory::identifiers::{EntityId, NodeId};
use memory::nodes::{DESCRIPTION_LENGTH_MAX, EventTime, Node, NodeKind, RelationalTag, Subject};
use memory::ports::{ProposedExpectation, ProposedIntention, ProposedThought, SlowCycle, SlowCycleInput};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::answer::{self, Answer, List, MalformedAnswer, Member, Notes, snippet};
use crate::calendar;
use crate::contract::{
    EXPECTATIONS_MAX, EntityDescriptionAnswer, ExpectationAnswer, INTENTIONS_MAX, IntentionAnswer,
    QUESTIONS_MAX, SLOW_SUBJECTS, SLOW_THOUGHTS_MAX, SlowCycleAnswer, SlowThoughtAnswer, TimeAnswer,
    subject_word,
};
use crate::extraction::event_time;
use crate::handles::Handles;
use crate::parsed::ParsedAnswer;
use crate::quoted::{one_line, quote_lines};
use crate::reflection::{day_of_event, settled_impact};
use crate::vocabulary::Vocabulary;

/// Fields that the answer of the model must have.
const REQUIRED_MEMBERS: [&str; 5] =
    ["new_thoughts", "new_expectations", "new_intentions", "salient_questions", "entity_descriptions"];

/// Values for the slow cycle's template.
#[derive(Debug, Default, Serialize)]
pub(crate) struct SlowCycleContext {
    persona_name: String,
    persona_block: String,
    user_block: String,
    now: String,
    elapsed: String,
    events: Vec<EventLine>,
    thoughts: Vec<String>,
    expectations: Vec<String>,
    questions: Vec<String>,
    entities: Vec<EntityLines>,
    problem: String,
    vocabulary: Vocabulary,
}

#[derive(Debug, Serialize)]
struct EventLine {
    handle: String,
    when: String,
    kind: &'static str,
    impact: String,
    tags: String,
    text: String,
}

#[derive(Debug, Serialize)]
struct EntityLines {
    handle: String,
    name: String,
    kind: &'static str,
    description: String,
    memories: Vec<String>,
}

impl SlowCycleContext {
    /// A context with one of everything, to try a template out.
    pub(crate) fn example() -> Self {
        let text = || "text".to_owned();
        Self {
            persona_name: text(),
            persona_block: text(),
            user_block: text(),
            now: text(),
            elapsed: text(),
            events: vec![EventLine {
                handle: text(),
                when: text(),
                kind: "event",
                impact: text(),
                tags: text(),
                text: text(),
            }],
            thoughts: vec![text()],
            expectations: vec![text()],
            questions: vec![text()],
            entities: vec![EntityLines {
                handle: text(),
                name: text(),
                kind: "person",
                description: text(),
                memories: vec![text()],
            }],
            problem: text(),
            vocabulary: Vocabulary::default(),
        }
    }
}

/// A request for a cycle: the input, and the handles of its ids.
pub(crate) struct SlowCycleTask<'a> {
    input: &'a SlowCycleInput,
    events: Handles<NodeId>,
    entities: Handles<EntityId>,
}

impl<'a> SlowCycleTask<'a> {
    pub(crate) fn new(input: &'a SlowCycleInput) -> Self {
        Self {
            input,
            events: Handles::add_handle('e', input.events.iter().map(|event| event.id)),
            entities: Handles::add_handle('t', input.entities.iter().map(|known| known.entity.id)),
        }
    }

    /// Values for the prompt's template. `problem` is the reason why the last answer was rejected.
    pub(crate) fn prompt_context(&self, problem: Option<&str>) -> SlowCycleContext {
        let input = self.input;
        let block = |text: &str| {
            if text.trim().is_empty() { String::new() } else { quote_lines(text.trim()) }
        };
        let event = |(index, event): (usize, &Node)| EventLine {
            handle: self.events.handle_at(index),
            when: day_of_event(event, &input.zone),
            kind: if event.kind == NodeKind::Intention { "promise" } else { "event" },
            impact: format!("{:+}", event.emotional_impact),
            tags: event.emotion_tags.iter().map(|tag| one_line(tag)).collect::<Vec<_>>().join(", "),
            text: one_line(&event.description),
        };
        let expectation =
            |node: &Node| one_line(&node.description) + &calendar::time_phrase(node, input.now, &input.zone);
        let entity = |(index, known): (usize, &memory::ports::EntityToDescribe)| EntityLines {
            handle: self.entities.handle_at(index),
            name: one_line(&known.entity.canonical_name),
            kind: known.entity.kind.as_str(),
            description: one_line(known.entity.description.as_deref().unwrap_or_default()),
            memories: known.events.iter().map(|node| one_line(&node.description)).collect(),
        };
        SlowCycleContext {
            persona_name: one_line(&input.persona_name),
            persona_block: block(&input.core_blocks.persona),
            user_block: block(&input.core_blocks.user),
            now: calendar::wall_clock(input.now, &input.zone),
            elapsed: input.elapsed.map_or_else(String::new, elapsed_words),
            events: input.events.iter().enumerate().map(event).collect(),
            thoughts: input.thoughts.iter().map(|node| one_line(&node.description)).collect(),
            expectations: input.expectations.iter().map(expectation).collect(),
            questions: input.salient_questions.iter().map(|question| one_line(question)).collect(),
            entities: input.entities.iter().enumerate().map(entity).collect(),
            problem: problem.map_or_else(String::new, one_line),
            vocabulary: Vocabulary::default(),
        }
    }

    /// The input as data, for a provider without a language model.
    pub(crate) fn input_data(&self) -> Value {
        let input = self.input;
        let upcoming = |time: EventTime| time.start > input.now;
        let events = input.events.iter().enumerate().map(|(index, event)| {
            let due = event.event_time.filter(|time| upcoming(*time));
            json!({
                "handle": self.events.handle_at(index),
                "text": event.description,
                "impact": event.emotional_impact,
                "when": day_of_event(event, &input.zone),
                "due": due.map(|time| calendar::format_day(time.end.unwrap_or(time.start), &input.zone)),
                "unresolved": event.relational_tags.contains(&RelationalTag::Unresolved),
            })
        });
        let texts =
            |nodes: &[Node]| -> Vec<String> { nodes.iter().map(|node| node.description.clone()).collect() };
        let entities = input.entities.iter().enumerate().map(|(index, known)| {
            json!({
                "handle": self.entities.handle_at(index),
                "name": known.entity.canonical_name,
                "description": known.entity.description,
                "events": texts(&known.events),
            })
        });
        json!({
            "events": events.collect::<Vec<_>>(),
            "thoughts": texts(&input.thoughts),
            "expectations": texts(&input.expectations),
            "entities": entities.collect::<Vec<_>>(),
        })
    }

    /// Parses an answer; an invalid item does not affect the good ones.
    ///
    /// # Errors
    ///
    /// [`MalformedAnswer`] when there is no object of this contract, or its new thoughts are not a list.
    pub(crate) fn read(&self, answer: &str) -> Result<ParsedAnswer<SlowCycle>, MalformedAnswer> {
        let mut answer = parse_answer(answer)?;
        let (mut notes, whole) = (Notes::from_notes(std::mem::take(&mut answer.notes)), answer.whole);
        let answer: SlowCycleAnswer = answer.parse_members()?;
        if matches!(answer.new_thoughts, List::Wrong(_)) {
            return Err(MalformedAnswer(
                "`new_thoughts` must be a list; write [] if there are none.".to_owned(),
            ));
        }
        let mut cycle = SlowCycle::default();
        for thought in answer.new_thoughts.read("an object", "new_thoughts", &mut notes) {
            cycle.thoughts.extend(self.thought(thought, &mut notes));
        }
        for expectation in answer.new_expectations.read("an object", "new_expectations", &mut notes) {
            cycle.expectations.extend(self.expectation(expectation, &mut notes));
        }
        for intention in answer.new_intentions.read("an object", "new_intentions", &mut notes) {
            cycle.intentions.extend(self.intention(intention, &mut notes));
        }
        for description in answer.entity_descriptions.read("an object", "entity_descriptions", &mut notes) {
            cycle.entity_descriptions.extend(self.description(description, &mut notes));
        }
        let questions = answer.salient_questions.trimmed_texts("salient_questions", &mut notes);
        cycle.salient_questions = questions.into_iter().map(str::to_owned).collect();
        notes.cut_list(&mut cycle.thoughts, SLOW_THOUGHTS_MAX, "thoughts");
        notes.cut_list(&mut cycle.expectations, EXPECTATIONS_MAX, "expectations");
        notes.cut_list(&mut cycle.intentions, INTENTIONS_MAX, "intentions");
        notes.cut_list(&mut cycle.salient_questions, QUESTIONS_MAX, "questions");
        cycle.notes = notes.into_list();
        Ok(ParsedAnswer { value: cycle, whole, missing: None })
    }

    fn thought(&self, proposed: &SlowThoughtAnswer, notes: &mut Notes) -> Option<ProposedThought> {
        let description = read_description(&proposed.description, "a thought", notes)?;
        let filling = self.cited_events(&proposed.filling, "filling", &description, notes)?;
        let word = proposed.subject.lower_case_word().unwrap_or_default();
        let subject = SLOW_SUBJECTS.into_iter().find(|subject| subject_word(*subject) == word);
        let emotional_impact = settled_impact(&proposed.emotional_impact, notes);
        Some(ProposedThought {
            description,
            subject: subject.unwrap_or(Subject::User),
            emotional_impact,
            filling,
        })
    }

    fn expectation(&self, proposed: &ExpectationAnswer, notes: &mut Notes) -> Option<ProposedExpectation> {
        let Some(prediction) = proposed.prediction.trimmed_text() else {
            notes.add("an expectation without a prediction, dropped");
            return None;
        };
        let reasoning = self.cited_events(&proposed.reasoning, "reasoning", prediction, notes)?;
        let due = self.read_due(&proposed.due, notes);
        if due.is_none() {
            notes.add(format!("an expectation without a time, dropped: \"{}\"", snippet(prediction)));
            return None;
        }
        Some(ProposedExpectation {
            about: proposed.about.trimmed_text().unwrap_or_default().to_owned(),
            prediction: prediction.to_owned(),
            due,
            reasoning,
            emotional_impact: settled_impact(&proposed.emotional_impact, notes),
        })
    }

    fn intention(&self, proposed: &IntentionAnswer, notes: &mut Notes) -> Option<ProposedIntention> {
        let description = read_description(&proposed.description, "an intention", notes)?;
        let filling = self.cited_events(&proposed.filling, "filling", &description, notes)?;
        Some(ProposedIntention { description, due: self.read_due(&proposed.due, notes), filling })
    }

    fn description(
        &self,
        proposed: &EntityDescriptionAnswer,
        notes: &mut Notes,
    ) -> Option<(EntityId, String)> {
        let handle = proposed.entity.trimmed_text().unwrap_or_default();
        let Some(entity) = self.entities.id(handle) else {
            notes.add(format!("unknown entity \"{}\" described, dropped", snippet(handle)));
            return None;
        };
        Some((entity, proposed.description.trimmed_text()?.to_owned()))
    }

    /// The events that an item cites, each once; empty, with a note, if none is valid.
    fn cited_events(
        &self,
        list: &List<String>,
        name: &str,
        description: &str,
        notes: &mut Notes,
    ) -> Option<Vec<NodeId>> {
        let cited = self.events.cited_ids(list, "event", name, notes);
        if cited.is_empty() {
            notes.add(format!("rests on no event, dropped: \"{}\"", snippet(description)));
            return None;
        }
        Some(cited)
    }

    fn read_due(&self, due: &Member<TimeAnswer>, notes: &mut Notes) -> Option<EventTime> {
        event_time::read(due, &self.input.zone).unwrap_or_else(|reason| {
            notes.add(format!("`due` can't be used: {reason}"));
            None
        })
    }
}

fn read_description(description: &Member<String>, what: &str, notes: &mut Notes) -> Option<String> {
    let Some(description) = description.trimmed_text() else {
        notes.add(format!("{what} without a description, dropped"));
        return None;
    };
    Some(notes.cut_text(description, DESCRIPTION_LENGTH_MAX, "description"))
}

/// The object of an answer. Any list may be missing, and the object may be empty.
fn parse_answer(text: &str) -> Result<Answer, MalformedAnswer> {
    let mut members = REQUIRED_MEMBERS;
    let first = answer::read(text, &members);
    if first.is_ok() {
        return first;
    }
    for _ in 1..members.len() {
        members.rotate_left(1);
        if let Ok(answer) = answer::read(text, &members) {
            return Ok(answer);
        }
    }
    if answer::is_empty_object(text) {
        let notes = vec!["the answer was an empty object, taken as nothing new".to_owned()];
        return Ok(Answer { members: Map::new(), whole: true, notes });
    }
    first
}

/// `3 days`, `5 hours`, `40 minutes`.
fn elapsed_words(elapsed: SignedDuration) -> String {
    let (days, hours, minutes) = (elapsed.as_hours() / 24, elapsed.as_hours(), elapsed.as_mins());
    let (count, unit) = match (days, hours) {
        (1.., _) => (days, "day"),
        (_, 1..) => (hours, "hour"),
        _ => (minutes.max(1), "minute"),
    };
    if count == 1 { format!("1 {unit}") } else { format!("{count} {unit}s") }
}
