//! Measures the threshold of honest absence: questions of one conversation are asked of another, and the fit of their
//! best message is compared with that of questions of their own conversation.

use serde::{Deserialize, Serialize};

use crate::data::{Conversation, DataSet, Question};

/// Category of questions that are asked of another conversation than their own.
pub const FOREIGN_CATEGORY: &str = "foreign";

/// Result for one value of the bound. Precision and recall, in percent, are those of the answer "nothing is known".
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AbsenceBound {
    /// Bound of the fit below which the answer is "nothing is known". The fit is the support, or without vectors the
    /// signal `words`.
    pub support: f64,
    /// Share of foreign questions among those below the bound, if both kinds were equally frequent.
    pub precision: f64,
    /// Share of the foreign questions below the bound.
    pub recall: f64,
    /// Share of the answerable questions below the bound: existing memories that are denied.
    pub denied: f64,
}

/// Adds the questions of the next conversation to each one, with the speakers' names exchanged, so that a name does
/// not give them away.
pub fn add_foreign_questions(data: &mut DataSet) {
    let all = data.conversations.clone();
    if all.len() < 2 {
        return;
    }
    for (place, conversation) in data.conversations.iter_mut().enumerate() {
        let other = &all[(place + 1) % all.len()];
        let foreign = other.questions.iter().map(|question| foreign_question(question, other, conversation));
        let foreign: Vec<Question> = foreign.collect();
        conversation.questions.extend(foreign);
    }
}

fn foreign_question(question: &Question, from: &Conversation, to: &Conversation) -> Question {
    let exchange = |text: &str| {
        let apart = if from.user.is_empty() { text.to_owned() } else { text.replace(&from.user, "\u{1}") };
        let apart = if from.persona.is_empty() { apart } else { apart.replace(&from.persona, &to.persona) };
        apart.replace('\u{1}', &to.user)
    };
    Question {
        text: exchange(&question.text),
        gold: Vec::new(),
        gold_sessions: Vec::new(),
        category: FOREIGN_CATEGORY.to_owned(),
        ..question.clone()
    }
}

/// The curve over all bounds from 0.10 to 0.80 in steps of 0.01, from the fits of questions with an answer and of
/// foreign ones.
pub fn bound_curve(known: &[f64], foreign: &[f64]) -> Vec<AbsenceBound> {
    let below = |supports: &[f64], bound: f64| {
        supports.iter().filter(|support| **support < bound).count() as f64 / supports.len().max(1) as f64
    };
    let at = |step: u32| {
        let support = f64::from(step) / 100.0;
        let (denied, recall) = (below(known, support), below(foreign, support));
        let precision = if recall + denied > 0.0 { recall / (recall + denied) } else { 1.0 };
        AbsenceBound { support, precision: 100.0 * precision, recall: 100.0 * recall, denied: 100.0 * denied }
    };
    (10..=80).map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_match_a_computation_by_hand() {
        let bounds = bound_curve(&[0.4, 0.6, 0.7, 0.9], &[0.35, 0.45, 0.65, 0.2]);
        let at = |support: f64| {
            bounds.iter().copied().find(|bound| (bound.support - support).abs() < 1e-9).unwrap()
        };
        assert_eq!((at(0.5).recall, at(0.5).denied, at(0.5).precision), (75.0, 25.0, 75.0));
        assert_eq!((at(0.3).recall, at(0.3).denied, at(0.3).precision), (25.0, 0.0, 100.0));
    }

    #[test]
    fn the_curve_only_rises() {
        let bounds = bound_curve(&[0.4, 0.6, 0.7, 0.9], &[0.35, 0.45, 0.65, 0.2]);
        assert!(
            bounds
                .windows(2)
                .all(|pair| pair[0].recall <= pair[1].recall && pair[0].denied <= pair[1].denied)
        );
    }

    #[test]
    fn names_of_user_and_persona_are_swapped() {
        let talk = |user: &str, persona: &str, text: &str| Conversation {
            user: user.to_owned(),
            persona: persona.to_owned(),
            questions: vec![Question {
                id: "q1".to_owned(),
                text: text.to_owned(),
                gold: vec!["1".to_owned()],
                gold_sessions: Vec::new(),
                category: "4".to_owned(),
                at: None,
            }],
            ..Conversation::default()
        };
        let conversations =
            vec![talk("Ann", "Ben", "What did Ann say?"), talk("Cleo", "Dan", "Does Cleo like Dan?")];
        let mut data = DataSet { conversations, ..DataSet::default() };
        add_foreign_questions(&mut data);
        assert_eq!(data.conversations[0].questions[1].text, "Does Ann like Ben?");
        assert_eq!(data.conversations[1].questions[1].category, FOREIGN_CATEGORY);
    }
}
