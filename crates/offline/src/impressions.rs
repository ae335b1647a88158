//! Impressions by rules: whom several events are about, and if they are positive or negative. No event is restated.

use super::sentences::Language;
use text::lexicon::{Words, names};

/// Maximum events that one impression cites.
const CITED_EVENTS_MAX: usize = 3;
/// Maximum |impact| of an impression; the contract calls higher ones unusual for a thought.
const IMPRESSION_IMPACT_MAX: i64 = 8;
/// Minimum |impact| of a major event.
const MAJOR_IMPACT: i64 = 7;

/// An event in the form that impressions use.
#[derive(Clone, Copy)]
pub(super) struct AnalysedEvent<'a> {
    pub(super) handle: &'a str,
    pub(super) text: &'a str,
    pub(super) impact: i64,
}

pub(super) struct Impression {
    pub(super) description: String,
    /// The mean impact of the cited events, within [`IMPRESSION_IMPACT_MAX`].
    pub(super) impact: i64,
    /// Handles of the cited events, in their order.
    pub(super) cited: Vec<String>,
}

/// An impression of what the events have in common: a person or thing that several of them name, else if they were
/// good or bad. `None` without events.
pub(super) fn shared_impression(events: &[AnalysedEvent<'_>], language: Language) -> Option<Impression> {
    let (description, of) = match find_most_mentioned(events, language) {
        Some(found) => found,
        None => (impression_by_sign(events, language)?, events.to_vec()),
    };
    let mut cited: Vec<(usize, AnalysedEvent<'_>)> = of.into_iter().enumerate().collect();
    cited.sort_by_key(|(_, event)| std::cmp::Reverse(event.impact.abs()));
    cited.truncate(CITED_EVENTS_MAX);
    cited.sort_by_key(|(at, _)| *at);
    let count = i64::try_from(cited.len()).unwrap_or(1).max(1);
    let mean = cited.iter().map(|(_, event)| event.impact.clamp(-10, 10)).sum::<i64>() / count;
    Some(Impression {
        description,
        impact: mean.clamp(-IMPRESSION_IMPACT_MAX, IMPRESSION_IMPACT_MAX),
        cited: cited.into_iter().map(|(_, event)| event.handle.to_owned()).collect(),
    })
}

/// The relative or pet that most events are about, two at least.
fn find_most_mentioned<'a>(
    events: &[AnalysedEvent<'a>],
    language: Language,
) -> Option<(String, Vec<AnalysedEvent<'a>>)> {
    let lists = language
        .choose([names::FAMILY.chinese, names::PET.chinese], [names::FAMILY.english, names::PET.english]);
    let mentions = |event: &AnalysedEvent<'_>, word: &str| match language {
        Language::Chinese => event.text.contains(word),
        Language::English => text::spaced_words(event.text).contains(&format!(" {word} ")),
    };
    let known = lists.into_iter().flat_map(Words::iter).filter(|word| !word.starts_with(['我', '咱']));
    let counted = known.map(|word| (events.iter().filter(|event| mentions(event, word)).count(), word));
    // Of words in equally many events, the first one in the lists.
    let (count, word) = counted.fold((0, ""), |best, next| if next.0 > best.0 { next } else { best });
    if count < 2 {
        return None;
    }
    let about: Vec<AnalysedEvent<'a>> =
        events.iter().filter(|event| mentions(event, word)).copied().collect();
    let tone = match about.iter().map(|event| event.impact).sum::<i64>() {
        ..=-1 => language.choose("，说的多是让人担心的事", ", and it weighs on them"),
        0 => "",
        1.. => language.choose("，说起来总是高兴的", ", and gladly"),
    };
    let description = match language {
        Language::Chinese => format!("用户常常说起{word}{tone}。"),
        Language::English => format!("The user keeps coming back to their {word}{tone}."),
    };
    Some((description, about))
}

fn impression_by_sign(events: &[AnalysedEvent<'_>], language: Language) -> Option<String> {
    let heaviest = events.iter().map(|event| event.impact).max_by_key(|impact| impact.abs())?;
    let glad = events.iter().filter(|event| event.impact > 0).count();
    let hard = events.iter().filter(|event| event.impact < 0).count();
    let impression = match (glad, hard, heaviest) {
        (1.., 1.., _) => language.choose(
            "用户最近有高兴的事，也有难受的事。",
            "The user has had both good and hard things lately.",
        ),
        (_, 2.., _) => language.choose(
            "最近难受的事接连落在用户身上。",
            "Several hard things have come to the user one after another.",
        ),
        (2.., _, _) => {
            language.choose("用户最近有不少高兴的事。", "Several good things have come to the user lately.")
        }
        (_, 1, ..) if heaviest <= -MAJOR_IMPACT => {
            language.choose("用户正经历一件很重的事。", "The user is going through something very hard.")
        }
        (_, 1, _) => language.choose("用户心里有件不好受的事。", "Something is weighing on the user."),
        (1, ..) if heaviest >= MAJOR_IMPACT => {
            language.choose("用户遇到了一件大喜事。", "Something wonderful has come to the user.")
        }
        (1, ..) => language
            .choose("用户说起自己喜欢的事，是高兴的。", "The user is glad about what they have told me."),
        _ => language.choose("用户愿意把自己的日常讲给我听。", "The user lets me into their everyday life."),
    };
    Some(impression.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn impression_of(events: &[(&str, i64)], language: Language) -> String {
        let seen: Vec<AnalysedEvent<'_>> = events
            .iter()
            .map(|(text, impact)| AnalysedEvent { handle: "e1", text, impact: *impact })
            .collect();
        shared_impression(&seen, language).map(|impression| impression.description).unwrap_or_default()
    }

    #[test]
    fn someone_in_several_events_is_what_they_have_in_common() {
        let events = [("用户的妈妈住院了。", -5), ("用户搬家了。", 1), ("用户给妈妈打了电话。", -1)];
        assert_eq!(impression_of(&events, Language::Chinese), "用户常常说起妈妈，说的多是让人担心的事。");
        let events = [("The user has a dog named Rex.", 2), ("The user's dog won a prize.", 4)];
        assert_eq!(
            impression_of(&events, Language::English),
            "The user keeps coming back to their dog, and gladly."
        );
    }

    #[test]
    fn otherwise_the_sign_of_the_impact_decides() {
        let hard = [("The user lost a job.", -7), ("The user is ill.", -5)];
        assert!(impression_of(&hard, Language::English).starts_with("Several hard things"));
        assert!(
            impression_of(&[hard[0], ("The user won.", 4)], Language::English).contains("both good and hard")
        );
        assert!(impression_of(&hard[..1], Language::English).contains("something very hard"));
        assert_eq!(impression_of(&[], Language::English), "");
    }

    #[test]
    fn no_event_is_restated() {
        for (text, impact) in [("用户养了只猫,叫小黑", 2), ("用户的奶奶走了", -9), ("用户住在杭州", 0)]
        {
            let said = impression_of(&[(text, impact)], Language::Chinese);
            assert!(!said.is_empty() && !said.contains(text), "{said}");
        }
    }
}
