//! `proactive`: mentions a due promise or expectation in its stored words, and otherwise nothing.

use serde::{Deserialize, Serialize};

use super::sentences::Language;

#[derive(Deserialize)]
pub(super) struct ProactiveInputs {
    trigger: String,
    about: Option<String>,
}

#[derive(Serialize)]
pub(super) struct Proactive {
    message: Option<String>,
    reason: &'static str,
}

pub(super) fn write_first(inputs: &ProactiveInputs) -> Proactive {
    let about = inputs.about.as_deref().map(str::trim).filter(|about| !about.is_empty());
    let Some(about) = about else { return no_message() };
    let is_chinese = matches!(Language::from_text(about), Some(Language::Chinese));
    let message = match (inputs.trigger.as_str(), is_chinese) {
        ("promise_due", true) => format!("我记得我答应过的事：{about}"),
        ("promise_due", false) => format!("I remember what I promised: {about}"),
        ("expectation_due", true) => format!("我一直惦记着这件事：{about}"),
        ("expectation_due", false) => format!("I have been thinking of this: {about}"),
        _ => return no_message(),
    };
    Proactive { message: Some(message), reason: "its time has come" }
}

fn no_message() -> Proactive {
    Proactive { message: None, reason: "no language model is configured, and rules have no words for this" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn due_memories_are_quoted_in_their_language_and_nothing_else_is_sent() {
        let said = |trigger: &str, about: &str| {
            let inputs = ProactiveInputs { trigger: trigger.to_owned(), about: Some(about.to_owned()) };
            write_first(&inputs).message
        };
        let english = said("promise_due", "I will ask how the interview went");
        assert_eq!(english.unwrap(), "I remember what I promised: I will ask how the interview went");
        assert_eq!(said("promise_due", "周四问面试怎么样").unwrap(), "我记得我答应过的事：周四问面试怎么样");
        assert!(said("expectation_due", "the results").is_some());
        assert_eq!(said("shock", "Her father died"), None);
        assert_eq!(said("long_silence", ""), None);
    }
}
