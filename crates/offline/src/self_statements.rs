//! Statements of users about themselves, their relatives and their things: facts, not peaks.

use text::lexicon::{Words, names, self_statements, speech};
use text::names_time_ahead;

use super::sentences::Clause;

/// A fact about the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SelfStatement {
    pub(super) impact: i32,
    pub(super) emotion: Option<&'static str>,
    /// True if the sentence says who the user is.
    pub(super) identity: bool,
}

impl SelfStatement {
    /// Merges two statements: the higher impact, and identity if either is about it.
    fn merge_statements(self, other: SelfStatement) -> SelfStatement {
        let heavier = (other.impact.abs(), other.impact < 0) > (self.impact.abs(), self.impact < 0);
        let weighty = if heavier { other } else { self };
        let emotion = weighty.emotion.or(self.emotion).or(other.emotion);
        SelfStatement { emotion, identity: self.identity || other.identity, ..weighty }
    }
}

const fn fact_with_impact(impact: i32) -> SelfStatement {
    SelfStatement { impact, emotion: None, identity: false }
}

const fn statement_with_feeling(impact: i32, emotion: &'static str) -> SelfStatement {
    SelfStatement { impact, emotion: Some(emotion), identity: false }
}

const IDENTITY: SelfStatement = SelfStatement { impact: 0, emotion: None, identity: true };

/// The fact that a clause states about the user, if any.
pub(super) fn self_statement(clause: &Clause<'_>) -> Option<SelfStatement> {
    if !clause.is_statement() || clause.fiction {
        return None;
    }
    let english = || {
        let parts = split_at_subjects(clause.said.spaced_words());
        let stated =
            parts.iter().filter_map(|part| english_statement(part)).reduce(SelfStatement::merge_statements);
        stated.or_else(|| states_name(clause.text).then_some(IDENTITY)).map(|statement| SelfStatement {
            identity: statement.identity || states_name(clause.text),
            ..statement
        })
    };
    chinese_statement(clause.text).or_else(english).or_else(|| plan_in(clause)).map(|statement| {
        let pet = clause.says_any(names::PET) && !statement.identity && statement.impact >= 0;
        if pet { statement_with_feeling(statement.impact.max(2), "fondness") } else { statement }
    })
}

/// A plan of the user with a time.
fn plan_in(clause: &Clause<'_>) -> Option<SelfStatement> {
    let own_in_chinese = clause.text.split_once(['我', '咱']).is_some_and(|(before, about)| {
        !before.ends_with(['自', '忘']) && self_statements::PLAN.chinese.occur_in(about)
    });
    let planned = own_in_chinese || self_statements::PLAN.english.occurs_in_words(clause.said.spaced_words());
    (planned && names_time_ahead(clause.text)).then_some(fact_with_impact(0))
}

/// True if a message or a memory states the user's name: "I'm Mia", "The user is Mia".
pub(super) fn states_name(text: &str) -> bool {
    const SUBJECTS: [&str; 6] = ["I'm ", "I’m ", "I am ", "The user is ", "the user is ", "i'm "];
    let stands_alone = |at: usize| !text[..at].ends_with(char::is_alphanumeric);
    SUBJECTS.iter().any(|subject| {
        text.match_indices(subject)
            .any(|(at, _)| stands_alone(at) && begins_with_name(&text[at + subject.len()..]))
    })
}

/// True for a capital and a small letter, unless it is a word that only looks like a name.
fn begins_with_name(text: &str) -> bool {
    let end = text.find(|letter: char| !letter.is_alphabetic()).unwrap_or(text.len());
    let word = &text[..end];
    let mut letters = word.chars();
    let name =
        letters.next().is_some_and(char::is_uppercase) && letters.next().is_some_and(char::is_lowercase);
    let lower = word.to_lowercase();
    name && !self_statements::NO_INTRODUCTION.english.contains(&lower)
        && !names::NO_NAME.english.contains(&lower)
}

/// Splits a clause into parts with subjects of their own: "I'm Mia | and I'm a nurse".
fn split_at_subjects(words: &str) -> Vec<String> {
    let mut parts: Vec<Vec<&str>> = vec![Vec::new()];
    let mut before = "";
    for word in words.split_whitespace() {
        if matches!(before, "and" | "but" | "so" | "because")
            && (speech::I_AS_SUBJECT.english.contains(word) || word == "my")
        {
            parts.push(Vec::new());
        }
        if let Some(part) = parts.last_mut() {
            part.push(word);
        }
        before = word;
    }
    parts.iter().map(|part| format!(" {} ", part.join(" "))).collect()
}

fn chinese_statement(text: &str) -> Option<SelfStatement> {
    let (before, about) = text.split_once('我')?;
    // 自我, 忘我 and a quoted 我 do not refer to the user.
    if before.ends_with(['自', '忘', '叫']) && !before.ends_with("家叫") {
        return None;
    }
    let about = self_statements::ADVERBS
        .chinese
        .iter()
        .fold(about.trim_start(), |rest, adverb| rest.strip_prefix(adverb).unwrap_or(rest));
    let starts = |words: Words| words.begin(about);
    if starts(self_statements::NO_STATEMENT.chinese) {
        return None;
    }
    if starts(self_statements::HEALTH.chinese)
        || text.contains("我") && self_statements::ALLERGY.chinese.occur_in(about)
    {
        let own = !names::FAMILY.chinese.occur_in(text) && !names::ACQUAINTANCE.chinese.occur_in(text);
        return Some(SelfStatement { impact: -2, emotion: None, identity: own });
    }
    let felt_for_something = about.chars().filter(|letter| letter.is_alphanumeric()).count() > 2;
    if starts(self_statements::DISLIKE.chinese) && felt_for_something {
        return Some(statement_with_feeling(-2, "dislike"));
    }
    if starts(self_statements::LIKE.chinese) && felt_for_something {
        return Some(statement_with_feeling(2, "fondness"));
    }
    if starts(self_statements::IDENTITY.chinese)
        || (about.starts_with('在') && self_statements::OCCUPIED.chinese.occur_in(about))
    {
        return Some(IDENTITY);
    }
    if starts(self_statements::DOING.chinese) {
        return Some(fact_with_impact(1));
    }
    let theirs = about.strip_prefix('的').is_some_and(|thing| !thing.is_empty())
        || [names::FAMILY.chinese, names::ACQUAINTANCE.chinese, names::PET.chinese].iter().any(|words| {
            starts(*words) || words.iter().any(|word| text.contains(word) && word.starts_with('我'))
        });
    let is_possession = starts(self_statements::HAVING.chinese)
        || starts(self_statements::HABIT.chinese) && felt_for_something;
    (is_possession || theirs).then_some(fact_with_impact(0))
}

fn english_statement(words: &str) -> Option<SelfStatement> {
    if self_statements::NO_STATEMENT.english.occurs_in_words(words) {
        return None;
    }
    let own = speech::I_AS_SUBJECT.english.occurs_in_words(words);
    if words.contains(" allergic ") && (own || words.starts_with(" my ")) {
        return Some(SelfStatement { impact: -2, emotion: None, identity: own });
    }
    if let Some(about) = after_subject(words) {
        let starts = |phrases: Words| phrases.iter().any(|phrase| about.starts_with(&format!("{phrase} ")));
        if starts(self_statements::DISLIKE.english) {
            return Some(statement_with_feeling(-2, "dislike"));
        }
        if starts(self_statements::LIKE.english) {
            return Some(statement_with_feeling(2, "fondness"));
        }
        if starts(self_statements::IDENTITY.english) {
            return Some(IDENTITY);
        }
        let age = about.starts_with("am ") && about.contains(" years old");
        if age {
            return Some(IDENTITY);
        }
        if starts(self_statements::DOING.english) {
            return Some(fact_with_impact(1));
        }
        if starts(self_statements::HAVING.english) || self_statements::HABIT.english.occurs_in_words(words) {
            return Some(fact_with_impact(0));
        }
    }
    let mine = [" my ", " and my ", " but my ", " so my "].iter().any(|start| words.starts_with(start));
    let name = words.starts_with(" my name is ") || words.starts_with(" my name's ");
    let tells = words.split_whitespace().count() > 3;
    (mine && tells).then_some(if name { IDENTITY } else { fact_with_impact(0) })
}

/// The text after the first "I", with `'m` and `'ve` expanded and adverbs skipped.
fn after_subject(words: &str) -> Option<String> {
    // Further from the start it is not the subject any more: "look at what I made".
    const WORDS_BEFORE_MAX: usize = 3;
    let before =
        words.split_whitespace().take_while(|word| !speech::I_AS_SUBJECT.english.contains(word)).count();
    let mut rest = words.split_whitespace().skip(before).take_while(|_| before <= WORDS_BEFORE_MAX);
    let verb = match rest.next()? {
        "i'm" | "im" => Some("am"),
        "i've" | "ive" => Some("have"),
        "i'll" => Some("will"),
        "i'd" => Some("would"),
        _ => None,
    };
    let about: Vec<&str> = verb
        .into_iter()
        .chain(rest.skip_while(|word| self_statements::ADVERBS.english.contains(word)))
        .collect();
    // An adverb may also follow the auxiliary: "I'm currently working".
    let about: Vec<&str> = about
        .iter()
        .enumerate()
        .filter(|(at, word)| *at != 1 || !self_statements::ADVERBS.english.contains(word))
        .map(|(_, word)| *word)
        .collect();
    Some(format!("{} ", about.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::super::sentences::split_clauses;
    use super::*;

    fn statement_in(text: &str) -> Option<SelfStatement> {
        split_clauses(text).iter().find_map(self_statement)
    }

    #[test]
    fn self_statements_are_found() {
        for (text, impact, identity) in [
            ("我养了只白猫", 2, false),
            ("我叫李雷", 0, true),
            ("我每天早上喝咖啡", 0, false),
            ("I drink coffee every morning", 0, false),
            ("我是护士", 0, true),
            ("我有两个孩子", 0, false),
            ("我最喜欢喝拿铁", 2, false),
            ("我讨厌香菜", -2, false),
            ("我不喜欢下雨", -2, false),
            ("我住在杭州", 0, true),
            ("我现在在银行工作", 0, true),
            ("我对花生过敏", -2, true),
            ("我妈妈对花生过敏", -2, false),
            ("我的生日是五月二号", 0, false),
            ("我弟弟在学钢琴", 0, false),
            ("我最近开始学吉他", 1, false),
            ("I have a white cat named Tom", 2, false),
            ("I've got two kids", 0, false),
            ("I'm a nurse", 0, true),
            ("I am 34 years old", 0, true),
            ("I'm allergic to peanuts", -2, true),
            ("my mom is allergic to peanuts", -2, false),
            ("I really love jazz", 2, false),
            ("I can't stand cilantro", -2, false),
            ("I live in Lisbon", 0, true),
            ("I recently moved to Berlin", 0, true),
            ("I got a new bike", 1, false),
            ("My name is Ana", 0, true),
            ("my birthday is in May", 0, false),
            ("I'm currently working at Siemens", 0, true),
            ("I'm Mia and I'm a nurse in Lisbon.", 0, true),
            ("I'm Mia", 0, true),
            ("I love jazz and I'm a nurse", 2, true),
            ("I'm tired but I have two kids", 0, false),
        ] {
            let statement = statement_in(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!((statement.impact, statement.identity), (impact, identity), "{text}");
        }
    }

    #[test]
    fn small_talk_is_no_self_statement() {
        for text in [
            "我有点累",
            "我有空",
            "我有个问题",
            "我是说真的",
            "我先走了",
            "我要去睡了",
            "我觉得不错",
            "今天天气不错",
            "你叫什么名字?",
            "我的猫叫什么?",
            "大声地叫我",
            "I have to go",
            "I have a question",
            "I'm fine",
            "I'm going to bed",
            "I love it",
            "I'd like a coffee",
            "I got it",
            "I think so",
            "Nice weather today",
            "Do I have a cat?",
            "If I have a cat",
            "my god",
            "I'm not sure",
            "I'm sorry",
            "I'm Sorry",
            "I'm Not sure",
            "I'm OK",
        ] {
            assert_eq!(statement_in(text), None, "{text}");
        }
    }
}
