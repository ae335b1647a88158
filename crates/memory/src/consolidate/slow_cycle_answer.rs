//! Checks a cycle's answer: only new statements that cite the input are accepted.

use jiff::Timestamp;
use uuid::Uuid;

use super::merge::shared_words;
use crate::identifiers::{EntityId, NodeId};
use crate::nodes::{DESCRIPTION_LENGTH_MAX, EventTime, NewNode, Node, NodeKind, Subject};
use crate::ports::{ProposedExpectation, ProposedIntention, ProposedThought, SlowCycle, SlowCycleInput};

/// Maximum thoughts of one cycle. Cycles run daily or more often: more would crowd out what the user said.
const THOUGHTS_MAX: usize = 3;
/// Maximum expectations of one cycle. Each is asked about later, and people tire of questions.
const EXPECTATIONS_MAX: usize = 2;
/// Maximum intentions of one cycle. Each can become a proactive message.
const INTENTIONS_MAX: usize = 2;
/// Maximum questions of one cycle. They wait for a fitting moment in a conversation, of which there are few in a day.
const QUESTIONS_MAX: usize = 3;
/// Maximum length of a question, in characters. A question is one sentence; a longer one is a plan or a text for the
/// user.
const QUESTION_LENGTH_MAX: usize = 200;
/// Maximum length of an entity's description, in characters. Each cycle rewrites it from the former one, so it would
/// grow without end.
const ENTITY_DESCRIPTION_LENGTH_MAX: usize = 500;
/// Minimum share of the content words of both texts for a repetition. It is the share for merging events.
const REPEATED_WORDS_MIN: f64 = 0.75;
/// Minimum share for promises. It is lower, because the same promise can be worded in many ways.
const PROMISED_WORDS_MIN: f64 = 0.5;

/// The valid parts of an answer. The nodes have no ids, terms or vectors yet.
pub(super) struct CheckedCycle {
    pub(super) nodes: Vec<NewNode>,
    pub(super) descriptions: Vec<(EntityId, String)>,
    pub(super) salient_questions: Vec<String>,
    /// Notes of the parser and of the checks: what was dropped, and why.
    pub(super) notes: Vec<String>,
}

/// Checks an answer. `promises` are existing ones; `voiced` are the input's memories in which the persona made a
/// commitment.
pub(super) fn check_answer(
    answer: SlowCycle,
    input: &SlowCycleInput,
    promises: &[Node],
    voiced: &[NodeId],
    now: Timestamp,
) -> CheckedCycle {
    let mut sifting = AnswerCheck { input, now, notes: answer.notes, nodes: Vec::new() };
    for thought in answer.thoughts {
        sifting.thought(thought);
    }
    for expectation in answer.expectations {
        sifting.expectation(expectation);
    }
    for intention in answer.intentions {
        sifting.intention(intention, promises, voiced);
    }
    let shown = |id: &EntityId| input.entities.iter().any(|shown| shown.entity.id == *id);
    let mut descriptions: Vec<(EntityId, String)> = Vec::new();
    for (id, text) in answer.entity_descriptions {
        let text = truncate_text(&text, ENTITY_DESCRIPTION_LENGTH_MAX);
        if shown(&id) && !text.is_empty() && !descriptions.iter().any(|(known, _)| *known == id) {
            descriptions.push((id, text));
        }
    }
    let questions = answer.salient_questions.iter().map(|text| truncate_text(text, QUESTION_LENGTH_MAX));
    let salient_questions = questions.filter(|text| !text.is_empty()).take(QUESTIONS_MAX).collect();
    CheckedCycle { nodes: sifting.nodes, descriptions, salient_questions, notes: sifting.notes }
}

struct AnswerCheck<'a> {
    input: &'a SlowCycleInput,
    now: Timestamp,
    notes: Vec<String>,
    nodes: Vec<NewNode>,
}

impl AnswerCheck<'_> {
    fn thought(&mut self, thought: ProposedThought) {
        let filling = self.filter_shown(thought.filling);
        let description = truncate_text(&thought.description, DESCRIPTION_LENGTH_MAX);
        // A thought about the relationship is stored as one about the user.
        let subject = if thought.subject == Subject::Persona { Subject::Persona } else { Subject::User };
        let known = |known: &Node| shared_words(&known.description, &description) >= REPEATED_WORDS_MIN;
        if filling.is_empty() {
            self.note_dropped("a thought", "it cites no event", &description);
        } else if self.input.thoughts.iter().any(known) || self.has_node(NodeKind::Thought, &description) {
            self.note_dropped("a thought", "it repeats an existing thought", &description);
        } else if self.count_nodes(NodeKind::Thought) == THOUGHTS_MAX {
            self.note_dropped("a thought", "the limit is reached", &description);
        } else {
            let impact = thought.emotional_impact;
            self.push_node(NodeKind::Thought, description, subject, impact, None, filling);
        }
    }

    fn expectation(&mut self, expectation: ProposedExpectation) {
        let reasoning = self.filter_shown(expectation.reasoning);
        let parts = [expectation.about.trim(), expectation.prediction.trim()];
        let proposed: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let description = truncate_text(&proposed.join(" — "), DESCRIPTION_LENGTH_MAX);
        let ends = expectation.due.map(end_of_time_range);
        let known = |known: &Node| shared_words(&known.description, &description) >= REPEATED_WORDS_MIN;
        if reasoning.is_empty() {
            self.note_dropped("an expectation", "it is not based on an event", &description);
        } else if expectation.prediction.trim().is_empty() {
            self.note_dropped("an expectation", "it predicts nothing", &description);
        } else if ends.is_none_or(|ends| ends <= self.now) {
            self.note_dropped("an expectation", "it has no time in the future", &description);
        } else if self.input.expectations.iter().any(known)
            || self.has_node(NodeKind::Expectation, &description)
        {
            self.note_dropped("an expectation", "it repeats an existing expectation", &description);
        } else if self.count_nodes(NodeKind::Expectation) == EXPECTATIONS_MAX {
            self.note_dropped("an expectation", "the limit is reached", &description);
        } else {
            let (due, impact) = (expectation.due, expectation.emotional_impact);
            self.push_node(NodeKind::Expectation, description, Subject::User, impact, due, reasoning);
        }
    }

    fn intention(&mut self, intention: ProposedIntention, promises: &[Node], voiced: &[NodeId]) {
        let filling = self.filter_shown(intention.filling);
        let description = truncate_text(&intention.description, DESCRIPTION_LENGTH_MAX);
        let known = |known: &Node| shared_words(&known.description, &description) >= PROMISED_WORDS_MIN;
        let shown = self.input.events.iter().filter(|event| event.kind == NodeKind::Intention);
        if !filling.iter().any(|id| voiced.contains(id)) {
            self.note_dropped("an intention", "it cites no commitment of the persona", &description);
        } else if intention.due.is_some_and(|due| end_of_time_range(due) <= self.now) {
            self.note_dropped("an intention", "its time has passed", &description);
        } else if promises.iter().chain(shown).any(known) || self.has_node(NodeKind::Intention, &description)
        {
            self.note_dropped("an intention", "it repeats an existing promise", &description);
        } else if self.count_nodes(NodeKind::Intention) == INTENTIONS_MAX || description.is_empty() {
            self.note_dropped("an intention", "the limit is reached, or it is empty", &description);
        } else {
            self.push_node(NodeKind::Intention, description, Subject::Persona, 0, intention.due, filling);
        }
    }

    /// Removes ids that the cycle was not shown. The port promises that there are none, but a thought without
    /// evidence must not exist.
    fn filter_shown(&self, ids: Vec<NodeId>) -> Vec<NodeId> {
        let shown = |id: &NodeId| self.input.events.iter().any(|event| event.id == *id);
        ids.into_iter().filter(shown).collect()
    }

    fn has_node(&self, kind: NodeKind, description: &str) -> bool {
        description.is_empty()
            || self.nodes.iter().any(|node| {
                node.kind == kind && shared_words(&node.description, description) >= REPEATED_WORDS_MIN
            })
    }

    fn count_nodes(&self, kind: NodeKind) -> usize {
        self.nodes.iter().filter(|node| node.kind == kind).count()
    }

    fn note_dropped(&mut self, what: &str, why: &str, description: &str) {
        self.notes.push(format!("{what} was dropped: {why}: \"{}\"", truncate_text(description, 60)));
    }

    fn push_node(
        &mut self,
        kind: NodeKind,
        description: String,
        subject: Subject,
        emotional_impact: i8,
        event_time: Option<EventTime>,
        filling: Vec<NodeId>,
    ) {
        self.nodes.push(NewNode {
            id: NodeId(Uuid::nil()),
            kind,
            description,
            emotional_impact,
            emotion_tags: Vec::new(),
            relational_tags: Vec::new(),
            subject,
            event_time,
            evidence: Vec::new(),
            filling,
            terms: String::new(),
            embedding: None,
        });
    }
}

fn end_of_time_range(time: EventTime) -> Timestamp {
    time.end.unwrap_or(time.start)
}

fn truncate_text(text: &str, length: usize) -> String {
    text.trim().chars().take(length).collect()
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use jiff::tz::TimeZone;

    use super::super::fixtures::node_about_user;
    use super::*;
    use crate::core_blocks::CoreBlocks;
    use crate::identifiers::SessionId;

    fn test_input(events: Vec<Node>) -> SlowCycleInput {
        SlowCycleInput {
            session_id: SessionId(Uuid::nil()),
            persona_name: "Echo".to_owned(),
            core_blocks: CoreBlocks::default(),
            now: Timestamp::UNIX_EPOCH,
            zone: TimeZone::UTC,
            elapsed: None,
            events,
            thoughts: vec![node_about_user(NodeKind::Thought, "她总把难过的事留到深夜才说")],
            expectations: vec![node_about_user(NodeKind::Expectation, "面试 — 她会说起周五的面试结果")],
            salient_questions: Vec::new(),
            entities: Vec::new(),
            answer_tokens: 1_000,
        }
    }

    fn thought(description: &str, filling: &[NodeId]) -> ProposedThought {
        ProposedThought {
            description: description.to_owned(),
            subject: Subject::Shared,
            emotional_impact: 1,
            filling: filling.to_vec(),
        }
    }

    fn expectation(prediction: &str, hours: Option<i64>, reasoning: &[NodeId]) -> ProposedExpectation {
        let due = hours.map(|hours| EventTime {
            start: Timestamp::UNIX_EPOCH + SignedDuration::from_hours(hours),
            end: None,
        });
        ProposedExpectation {
            about: "搬家".to_owned(),
            prediction: prediction.to_owned(),
            due,
            reasoning: reasoning.to_vec(),
            emotional_impact: 1,
        }
    }

    fn descriptions_of(sifted: &CheckedCycle) -> Vec<&str> {
        sifted.nodes.iter().map(|node| node.description.as_str()).collect()
    }

    #[test]
    fn a_thought_cites_an_event_it_was_shown_and_says_something_new() {
        let event = node_about_user(NodeKind::Event, "她搬去了杭州");
        let foreign = node_about_user(NodeKind::Event, "别人的事").id;
        let answer = SlowCycle {
            thoughts: vec![
                thought("凭空而来的想法", &[foreign]),
                thought("她总把难过的事留到深夜才说出来", &[event.id]),
                thought("换了城市她反而松了口气", &[foreign, event.id]),
                thought("  ", &[event.id]),
            ],
            ..SlowCycle::default()
        };
        let sifted = check_answer(answer, &test_input(vec![event.clone()]), &[], &[], Timestamp::UNIX_EPOCH);
        assert_eq!(descriptions_of(&sifted), ["换了城市她反而松了口气"]);
        assert_eq!((sifted.nodes[0].subject, &sifted.nodes[0].filling), (Subject::User, &vec![event.id]));
        assert_eq!(sifted.notes.len(), 3, "{:?}", sifted.notes);
    }

    #[test]
    fn an_expectation_needs_a_reason_and_a_time_to_come() {
        let event = node_about_user(NodeKind::Event, "她下周搬家");
        let proposed = [
            expectation("她会发来新家的照片", Some(24), &[event.id]),
            expectation("没有理由的预感", Some(24), &[]),
            expectation("没有期限的事情", None, &[event.id]),
            expectation("昨天就该发生了", Some(-24), &[event.id]),
            expectation("", Some(24), &[event.id]),
        ];
        let answer = SlowCycle { expectations: proposed.to_vec(), ..SlowCycle::default() };
        let sifted = check_answer(answer, &test_input(vec![event]), &[], &[], Timestamp::UNIX_EPOCH);
        assert_eq!(descriptions_of(&sifted), ["搬家 — 她会发来新家的照片"]);
        assert_eq!(sifted.nodes[0].kind, NodeKind::Expectation);
        let repeated = ProposedExpectation {
            about: "面试".to_owned(),
            ..expectation("她会说起周五的面试结果", Some(24), &[])
        };
        let event = node_about_user(NodeKind::Event, "她周五面试");
        let repeated = ProposedExpectation { reasoning: vec![event.id], ..repeated };
        let answer = SlowCycle { expectations: vec![repeated], ..SlowCycle::default() };
        assert!(
            check_answer(answer, &test_input(vec![event]), &[], &[], Timestamp::UNIX_EPOCH).nodes.is_empty()
        );
    }

    #[test]
    fn an_intention_is_only_one_that_was_voiced_and_is_not_kept_yet() {
        let (event, voiced) = (
            node_about_user(NodeKind::Event, "她要去复查"),
            node_about_user(NodeKind::Event, "约好复查后打电话"),
        );
        let standing = node_about_user(NodeKind::Intention, "明天问问她的猫");
        let intention =
            |text: &str, id| ProposedIntention { description: text.to_owned(), due: None, filling: vec![id] };
        let answer = SlowCycle {
            intentions: vec![
                intention("陪她去医院", event.id),
                intention("复查之后打电话", voiced.id),
                intention("明天问她的猫", voiced.id),
            ],
            ..SlowCycle::default()
        };
        let input = test_input(vec![event, voiced.clone()]);
        let sifted = check_answer(answer, &input, &[standing], &[voiced.id], Timestamp::UNIX_EPOCH);
        assert_eq!(descriptions_of(&sifted), ["复查之后打电话"]);
        assert_eq!(sifted.nodes[0].subject, Subject::Persona);
    }

    #[test]
    fn nothing_goes_beyond_its_number_or_length() {
        let event = node_about_user(NodeKind::Event, "她搬家了");
        let words = ["猫", "海", "书", "雨", "山"];
        let answer = SlowCycle {
            thoughts: words.map(|word| thought(&word.repeat(2_100), &[event.id])).to_vec(),
            salient_questions: words.map(|word| word.repeat(300)).to_vec(),
            ..SlowCycle::default()
        };
        let sifted = check_answer(answer, &test_input(vec![event]), &[], &[], Timestamp::UNIX_EPOCH);
        assert_eq!((sifted.nodes.len(), sifted.salient_questions.len()), (3, 3));
        assert!(sifted.nodes.iter().all(|node| node.description.chars().count() == 2_000));
        assert!(sifted.salient_questions.iter().all(|text| text.chars().count() == 200));
    }
}
