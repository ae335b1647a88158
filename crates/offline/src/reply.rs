//! `reply`: answers from recalled memories.

use std::ops::Range;
use text::lexicon::speech;

use text::is_han;

use super::ailments::AilmentQuestion;
use super::peaks::{Peak, heaviest_peak};
use super::reply_inputs::{Memory, Passage, Period, ReplyInputs};
use super::rewrite::second_person;
use super::rollup;
use super::self_questions::SelfQuestion;
use super::sentences::{Clause, Language, clip_text, seems_to_ask, sentences_with_words, split_clauses};
use super::small_talk::{answer_to_wish, to_small_talk};

/// Characters without a meaning of their own.
const FUNCTION_CHARACTERS: &str = "我你他她它您们的了吗呢吧啊呀是在有不没就都也还记得什么怎样谁哪几多少会能要想这那个一只养叫名字知道过和跟对说去来很最现今明昨天做上下里次样好事周";
const RESTATED_MAX: usize = 3;
const RESTATED_LENGTH_MAX: usize = 160;
/// The line that marks where a period was shortened for the prompt.
const SHORTENED_MARK: &str = "… (it goes on)";

/// Writes the reply. Only facts of the inputs are presented as memories.
pub(super) fn reply(inputs: &ReplyInputs) -> String {
    let text = inputs.user_text.trim();
    let asked_for = inputs
        .language
        .as_deref()
        .map(|language| if language.starts_with("zh") { Language::Chinese } else { Language::English });
    let language = Language::from_text(text).or(asked_for).unwrap_or_default();
    if let Some(line) = reply_to_peak(text, language) {
        return line.to_owned();
    }
    if let Some(line) = to_small_talk(text, language, inputs.persona_name.as_deref()) {
        return line;
    }
    if let Some(line) = answer_to_wish(text, language) {
        return line.to_owned();
    }
    if seems_to_ask(text) || asks_for_something(text) {
        return answer(inputs, text, language);
    }
    let noted = language.choose("记下了。", "I've noted that.");
    match remembered_fact(inputs, text, language, false).fitting.first() {
        Some(memory) => {
            let stated_text = with_full_stop(memory, language);
            language.choose(
                format!("{noted}我还记得：{stated_text}"),
                format!("{noted} I also remember: {stated_text}"),
            )
        }
        None => noted.to_owned(),
    }
}

fn answer(inputs: &ReplyInputs, text: &str, language: Language) -> String {
    let separator = language.choose("；", "; ");
    let stated_text = lines_of_periods(&inputs.periods);
    if !stated_text.is_empty() {
        let stated_text = with_full_stop(&stated_text.join(separator), language);
        return language.choose(format!("我记得：{stated_text}"), format!("I remember: {stated_text}"));
    }
    let remembered = remembered_fact(inputs, text, language, true);
    if !remembered.fitting.is_empty() {
        let stated_text = with_full_stop(&remembered.fitting.join(separator), language);
        return language.choose(format!("我记得：{stated_text}"), format!("I remember: {stated_text}"));
    }
    if !remembered.others.is_empty() {
        let stated_text = with_full_stop(&remembered.others.join(separator), language);
        return language.choose(
            format!("我不太确定。我记得：{stated_text}"),
            format!("I'm not sure. I remember: {stated_text}"),
        );
    }
    let unknown = language.choose(
        "这个我不知道。我现在只能凭记得的事回答。",
        "I don't know that. Right now I can only answer from what I remember.",
    );
    unknown.to_owned()
}

/// The first lines of each period in turn, as the question is about the period as a whole.
fn lines_of_periods(periods: &[Period]) -> Vec<String> {
    let lines = periods.iter().map(|period| rollup::lines_without_marks(&period.text).into_iter());
    let lines: Vec<Vec<&str>> =
        lines.map(|lines| lines.filter(|line| *line != SHORTENED_MARK).collect()).collect();
    let longest = lines.iter().map(Vec::len).max().unwrap_or(0);
    let in_turn = (0..longest).flat_map(|at| lines.iter().filter_map(move |lines| lines.get(at)));
    in_turn
        .take(RESTATED_MAX)
        .map(|line| clip_text(line.trim_end_matches(['。', '.']), RESTATED_LENGTH_MAX))
        .collect()
}

/// Adds a full stop, unless the text was cut, or ends with a quoted sentence that has one.
fn with_full_stop(stated_text: &str, language: Language) -> String {
    let inner = stated_text.trim_end_matches(['」', '"']);
    let has_own = inner.len() < stated_text.len() && inner.ends_with(['。', '！', '？', '…', '!', '?', '.']);
    let stop = if has_own || stated_text.ends_with('…') { "" } else { language.choose("。", ".") };
    format!("{stated_text}{stop}")
}

/// Restated memories and passages: those that share a word with the text, and the others.
#[derive(Default)]
struct RememberedFact {
    fitting: Vec<String>,
    others: Vec<String>,
}

/// The fact to restate. `seeks` is true if the text asks for something.
fn remembered_fact(inputs: &ReplyInputs, text: &str, language: Language, seeks: bool) -> RememberedFact {
    let mut asked = terms(text);
    if !seeks {
        // For a mere statement, one shared ideograph means nothing.
        asked.retain(|term| term.chars().nth(1).is_some());
    }
    let of_self = SelfQuestion::from_text(text).filter(|_| seeks);
    let ailment = if seeks { AilmentQuestion::from_text(text, inputs) } else { None };
    // A time without other words ("what did I do today?") asks for what happened then.
    let timely =
        seeks && asked.is_empty() && of_self.is_none() && split_clauses(text).iter().any(names_a_time);
    // Events come before thoughts about them; an expectation has not happened.
    let (thoughts, events): (Vec<&Memory>, Vec<&Memory>) = inputs
        .memories
        .iter()
        .filter(|memory| memory.kind != "expectation")
        .filter(|memory| !inputs.nothing_found || answers_ailment(&ailment, &memory.description))
        .partition(|memory| memory.kind == "thought");
    let memories = events.into_iter().chain(thoughts).map(|memory| {
        let bare = memory.description.trim().trim_end_matches(['。', '.', '!', '！']);
        // A thought may be in every prompt, so only a shared word makes it an answer.
        let recalled = !matches!(memory.kind.as_str(), "thought" | "intention");
        (bare, second_person(&clip_text(bare, RESTATED_LENGTH_MAX)), recalled, StatementSource::Memory)
    });
    let passages = inputs
        .passages
        .iter()
        .filter(|passage| !inputs.nothing_found || answers_ailment(&ailment, &passage.text))
        .filter(|passage| passage.text.trim() != text)
        .filter(|passage| !is_own_line(&passage.text))
        .filter_map(|passage| {
            let source = match passage.speaker.as_str() {
                OTHER_SPEAKER => StatementSource::Other,
                _ if is_persona_passage(passage, inputs.persona_name.as_deref()) => StatementSource::Persona,
                _ => StatementSource::User,
            };
            let stated = stating_part(&passage.text)?;
            // A sentence beside a question belongs to it, so only a shared word makes it an answer.
            let recalled = stated == passage.text.trim() && source != StatementSource::Other;
            let quoted = quoted_passage(passage, stated, inputs.persona_name.as_deref(), language);
            Some((stated, quoted, recalled, source))
        });
    // Recent messages were not recalled for this text, so only a shared word makes one an answer.
    let recent = inputs.recent.iter().filter(|line| line.text.trim() != text).filter_map(|line| {
        let stated = stating_part(&line.text)?;
        Some((
            stated,
            quoted_passage(line, stated, inputs.persona_name.as_deref(), language),
            false,
            StatementSource::User,
        ))
    });
    let mut found = RememberedFact::default();
    let mut sources: Vec<&str> = Vec::new();
    for (source, stated_text, recalled, by) in memories.chain(passages).chain(recent) {
        let about = terms(source);
        let fits = match of_self {
            _ if ailment.is_some() => by != StatementSource::Other && answers_ailment(&ailment, source),
            Some(question) => {
                matches!(by, StatementSource::Memory | StatementSource::User)
                    && question.is_answered_by(source, by == StatementSource::Memory)
            }
            None if timely => recalled && by == StatementSource::Memory,
            None => asked.iter().any(|term| contains_term(source, &about, term)),
        };
        // Results for a question without content words ("why?") are not an answer, not even a doubtful one.
        let recalled = recalled && (!asked.is_empty() || of_self.is_some()) && !about.is_empty();
        let repeats = sources.iter().any(|other| source.contains(other) || has_same_content(other, &about));
        let list = if fits { &mut found.fitting } else { &mut found.others };
        if (fits || recalled) && !repeats && list.len() < RESTATED_MAX {
            list.push(stated_text);
            sources.push(source);
        }
    }
    found
}

fn answers_ailment(question: &Option<AilmentQuestion>, source: &str) -> bool {
    question.as_ref().is_some_and(|question| question.is_answered_by(source))
}

/// True if a text contains at least four of five terms already.
fn has_same_content(text: &str, about: &[String]) -> bool {
    let known = terms(text);
    let held = about.iter().filter(|term| contains_term(text, &known, term)).count();
    !about.is_empty() && held * 5 >= about.len() * 4
}

/// True if a text contains a term; a Chinese one may be inside a longer word.
fn contains_term(source: &str, about: &[String], term: &String) -> bool {
    about.contains(term) || (term.chars().all(is_han) && source.contains(term.as_str()))
}

/// True for a line of an earlier reply of this provider, which only restates memories.
fn is_own_line(text: &str) -> bool {
    speech::OWN_LINES.begin(text)
}

/// The source of a statement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StatementSource {
    Memory,
    User,
    Persona,
    /// Another speaker of the conversation, such as a member of a group.
    Other,
}

/// Label for another speaker, whose name is not known.
const OTHER_SPEAKER: &str = "other";

fn is_persona_passage(passage: &Passage, persona_name: Option<&str>) -> bool {
    matches!(passage.speaker.as_str(), "persona" | "me") || Some(passage.speaker.as_str()) == persona_name
}

fn names_a_time(clause: &Clause<'_>) -> bool {
    clause.says_any(speech::TIMES)
}

/// The stating part of a text: all of it, or the first sentences that are not questions. `None` if it only asks.
fn stating_part(text: &str) -> Option<&str> {
    if !seems_to_ask(text) {
        return Some(text.trim());
    }
    let mut end = 0;
    let places = sentences_with_words(text).into_iter().filter_map(|sentence| {
        let start = end + text[end..].find(sentence)?;
        end = start + sentence.len();
        Some(start..end)
    });
    let asks = |place: &Range<usize>| seems_to_ask(&text[place.clone()]);
    let stating = places.skip_while(asks).take_while(|place| !asks(place));
    let stated = stating.reduce(|first, next| first.start..next.end)?;
    Some(&text[stated])
}

/// The text of a passage with its speaker and its date, so that no text is attributed to somebody else.
fn quoted_passage(passage: &Passage, words: &str, persona_name: Option<&str>, language: Language) -> String {
    let words = clip_text(words, RESTATED_LENGTH_MAX);
    let speaker = match passage.speaker.as_str() {
        OTHER_SPEAKER => passage.name.as_deref().unwrap_or(language.choose("别人", "somebody")),
        _ if is_persona_passage(passage, persona_name) => language.choose("我", "I"),
        "user" | "them" | "" => language.choose("你", "you"),
        other => other,
    };
    let date = passage.date.as_deref().unwrap_or_default();
    match (language, date) {
        (Language::Chinese, "") => format!("{speaker}说过：「{words}」"),
        (Language::Chinese, date) => format!("{speaker}在 {date} 说过：「{words}」"),
        (Language::English, "") => format!("{speaker} said: \"{words}\""),
        (Language::English, date) => format!("on {date} {speaker} said: \"{words}\""),
    }
}

/// The terms of a text: words of letters without their endings, and meaningful ideographs.
fn terms(text: &str) -> Vec<String> {
    let spelled = text::spaced_words(text);
    let spelled = spelled
        .split_whitespace()
        .map(|word| word.strip_suffix("'s").unwrap_or(word))
        .filter(|word| word.len() > 2 && !speech::FUNCTION.english.contains(word))
        .map(|word| word.strip_suffix('s').filter(|stem| stem.len() > 2).unwrap_or(word).to_owned());
    ideograph_pairs(text).into_iter().chain(spelled).collect()
}

/// Pairs of adjacent meaningful ideographs; a single one between others counts by itself (我的猫吗 asks about 猫, but 怕做不好
/// is not about 做什么).
fn ideograph_pairs(text: &str) -> Vec<String> {
    let carries = |letter: char| is_han(letter) && !FUNCTION_CHARACTERS.contains(letter);
    text.split(|letter| !carries(letter))
        .flat_map(|run| {
            let letters: Vec<char> = run.chars().collect();
            match letters.as_slice() {
                [_, _, ..] => letters.windows(2).map(String::from_iter).collect(),
                _ => letters.iter().map(char::to_string).collect::<Vec<String>>(),
            }
        })
        .collect()
}

/// Answers grief, despair and joy before anything is noted.
fn reply_to_peak(text: &str, language: Language) -> Option<&'static str> {
    let heaviest = sentences_with_words(text)
        .into_iter()
        .flat_map(|sentence| {
            // What a question mentions is not new information.
            let asks = seems_to_ask(sentence);
            let heard = |peak: &Peak| !asks || peak.cries_for_help();
            let peaks = split_clauses(sentence);
            peaks.iter().filter_map(|clause| heaviest_peak(clause, &[])).filter(heard).collect::<Vec<Peak>>()
        })
        .max_by_key(|peak| (peak.impact.abs(), peak.impact < 0))?;
    match (heaviest.emotion, heaviest.impact) {
        ("despair" | "overwhelm", _) => Some(language.choose(
            "我听见了，这很重。我现在只能听、只能记，帮不上更多：请马上找一个你信任的人，或拨打当地的求助电话。",
            "I hear you, and this is heavy. Right now I can only listen and remember: please reach someone you trust, or a local crisis line, right away.",
        )),
        ("grief", _) => Some(language.choose("听到这个我很难过。我会记住的。", "I'm so sorry. I will remember this.")),
        (_, ..=-4) => Some(language.choose("我听见了，这不容易。记下了。", "I hear you; that is hard. I've noted it.")),
        (_, 7..) => Some(language.choose("真为你高兴！我记下了。", "I'm so glad for you! I've noted it.")),
        (_, 4..) => Some(language.choose("真好！我记下了。", "That's good to hear! I've noted it.")),
        _ => None,
    }
}

/// A request that is not a question in form: "tell me …".
fn asks_for_something(text: &str) -> bool {
    let spelled = text::spaced_words(text);
    let first_words = spelled.split_whitespace().take(3).collect::<Vec<_>>().join(" ");
    speech::REQUEST.chinese.begin(text)
        || speech::REQUEST.english.occurs_in_words(&format!(" {first_words} "))
        || (speech::REMEMBER.chinese.occur_in(text) && text.contains('你'))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn reply_to(inputs: Value) -> String {
        reply(&serde_json::from_value(inputs).unwrap())
    }

    fn reply_about_cat(text: &str) -> String {
        reply_to(json!({"user_text": text, "memories": [
            {"description": "用户养了只白猫,叫小黑。他超调皮。", "kind": "event", "when": "三天前"},
            {"description": "用户喜欢咖啡", "kind": "event", "when": "昨天"},
        ]}))
    }

    #[test]
    fn cut_memory_ends_in_its_ellipsis_alone() {
        let long = format!("The user's lamp {}", "broke again and ".repeat(20));
        let english =
            reply_to(json!({"user_text": "What about my lamp?", "memories": [{"description": long}]}));
        assert!(english.ends_with('…'), "{english}");
        assert!(!english.contains(" …") && !english.contains("…."), "{english}");
    }

    #[test]
    fn a_broad_question_is_answered_from_the_period() {
        let of_two = |text: &str, said: &str, first: &str, second: &str| {
            reply_to(json!({"user_text": text, "periods": [
                {"period": "2025-06", "text": format!("- {said}\n- {first}\n… (it goes on)")},
                {"period": "2025-07", "text": format!("- {said}\n- {second}")},
            ]}))
        };
        let said = "(no language model: 1 of 2 lines, copied in order)";
        let english =
            of_two("How was last summer?", said, "We rowed across the lake.", "(Saturday) we swam.");
        assert_eq!(english, "I remember: We rowed across the lake; (Saturday) we swam.");
        let said = "（没有语言模型：从2条记录里按顺序抄下1条）";
        let chinese = of_two("去年夏天过得怎么样？", said, "我们一起去看海。", "（周六）我们游泳了。");
        assert_eq!(chinese, "我记得：我们一起去看海；（周六）我们游泳了。");
    }

    #[test]
    fn a_question_is_answered_from_what_fits() {
        assert_eq!(reply_about_cat("你还记得我的猫吗"), "我记得：你养了只白猫,叫小黑。他超调皮。");
        let english = reply_to(json!({"user_text": "Do you remember my cat?", "memories": [
            {"description": "The user loves jazz.", "kind": "event", "when": ""},
            {"description": "The user has a white cat named Tom.", "kind": "event", "when": ""},
            {"description": "The user said: \"cats are better than people\"", "kind": "event", "when": ""},
        ]}));
        assert_eq!(
            english,
            "I remember: you have a white cat named Tom; you said: \"cats are better than people\"."
        );
    }

    #[test]
    fn memories_without_a_shared_word_are_marked_as_doubtful() {
        assert_eq!(
            reply_to(
                json!({"user_text": "What pets do I have?", "memories": [{"description": "The user has a dog"}]})
            ),
            "I'm not sure. I remember: you have a dog."
        );
        assert!(reply_about_cat("明天会下雨吗?").starts_with("我不太确定。我记得："));
    }

    #[test]
    fn statements_beside_a_question_count_as_answers() {
        let said = |text: &str, before: &str| {
            reply_to(json!({"user_text": text, "passages": [{"speaker": "user", "text": before}]}))
        };
        assert_eq!(
            said("What is my cat called?", "My cat is called Mimi. Isn't that sweet?"),
            "I remember: you said: \"My cat is called Mimi.\""
        );
        assert_eq!(
            said("我的猫叫什么?", "你好吗?我的猫叫糯米。它很乖。你喜欢吗?"),
            "我记得：你说过：「我的猫叫糯米。它很乖。」"
        );
        assert_eq!(
            said("Who is Mimi?", "Mimi? Mimi is my cat. Isn't she sweet?"),
            "I remember: you said: \"Mimi is my cat.\""
        );
        let unknown = "I don't know that. Right now I can only answer from what I remember.";
        assert_eq!(said("What is my cat called?", "I forgot it. So what was its name?"), unknown);
        assert_eq!(said("What is my cat called?", "What is my cat called?"), unknown);
    }

    #[test]
    fn a_question_with_nothing_remembered_is_not_known() {
        assert_eq!(
            reply_to(json!({"user_text": "我妈妈叫什么名字?"})),
            "这个我不知道。我现在只能凭记得的事回答。"
        );
        assert_eq!(
            reply_to(json!({"user_text": "What is my mother's name?"})),
            "I don't know that. Right now I can only answer from what I remember."
        );
        assert!(reply_to(json!({"user_text": "Tell me a story"})).starts_with("I don't know that."));
    }

    #[test]
    fn the_nearest_memory_alone_is_no_answer() {
        let inputs = |text: &str, memory: &str| {
            json!({"user_text": text, "memories": [{"description": memory, "kind": "event"}], "nothing_found": true,
                "passages": [{"speaker": "user", "text": memory}]})
        };
        assert!(
            reply_to(inputs("Where is my other shoe?", "The user bought a shoe rack"))
                .starts_with("I don't know that.")
        );
        assert!(reply_to(inputs("我的另一只鞋在哪?", "用户买了鞋架")).starts_with("这个我不知道"));
        // A message of a moment ago is not a memory.
        let mut recent = inputs("Where is my other shoe?", "The user bought a shoe rack");
        recent["recent"] = json!([{"speaker": "user", "text": "My other shoe is under the bed"}]);
        assert!(reply_to(recent).contains("under the bed"));
    }

    #[test]
    fn a_statement_is_noted() {
        assert_eq!(reply_to(json!({"user_text": "我养了只白猫,叫小黑。"})), "记下了。");
        assert_eq!(reply_to(json!({"user_text": "I moved to Lisbon."})), "I've noted that.");
        assert_eq!(reply_about_cat("小黑今天很乖"), "记下了。我还记得：你养了只白猫,叫小黑。他超调皮。");
    }

    #[test]
    fn words_of_others_are_theirs_by_any_name() {
        for name in ["Tom", "user", "persona", "me"] {
            let other = json!({"speaker": "other", "name": name, "text": "I am allergic to walnuts."});
            let asked = |text: &str| reply_to(json!({"user_text": text, "passages": [other]}));
            assert!(
                asked("Who is allergic to walnuts?")
                    .contains(&format!("{name} said: \"I am allergic to walnuts.\""))
            );
            for question in ["Who is allergic to walnuts?", "What am I allergic to?"] {
                let answer =
                    asked(question).replace(&format!("{name} said: \"I am allergic to walnuts.\""), "");
                assert!(!answer.contains("walnuts"), "{answer}");
            }
        }
    }

    #[test]
    fn a_quoted_sentence_brings_its_own_full_stop() {
        let said = reply_to(json!({"user_text": "What's my dog called?", "passages": [
            {"speaker": "user", "text": "I have a dog named Bruno."},
        ]}));
        assert_eq!(said, "I remember: you said: \"I have a dog named Bruno.\"");
    }

    #[test]
    fn a_question_without_its_mark_is_answered_and_one_shared_character_is_no_answer() {
        let passages = json!([{"speaker": "user", "text": "怕自己做不好一个妻子。"}]);
        let father = reply_to(json!({"user_text": "我爸爸做什么工作", "recent": passages}));
        assert!(father.starts_with("这个我不知道"), "{father}");
        let afraid = json!([{"speaker": "user", "text": "我有点害怕,怕自己做不好。"}]);
        let why = reply_to(json!({"user_text": "我上次为什么害怕", "recent": afraid}));
        assert!(why.starts_with("我记得：你说过"), "{why}");
    }

    #[test]
    fn ones_own_name_is_found_where_it_was_said() {
        let recent = json!([
            {"speaker": "user", "text": "我不喜欢下雨天"},
            {"speaker": "user", "text": "我叫林晚,在杭州做产品经理。"},
        ]);
        for text in ["你记得我的名字吗", "我叫什么"] {
            let said = reply_to(json!({"user_text": text, "recent": recent}));
            assert_eq!(said, "我记得：你说过：「我叫林晚,在杭州做产品经理。」");
        }
    }

    #[test]
    fn passages_keep_their_speaker_and_date() {
        let inputs = |speaker: &str| {
            json!({"user_text": "小黑怎么样了?", "persona_name": "Echo", "passages": [
                {"speaker": "user", "text": "小黑怎么样了?", "date": "2026-03-01"},
                {"speaker": speaker, "text": "小黑生病了", "date": "2026-03-02"},
            ]})
        };
        assert_eq!(reply_to(inputs("user")), "我记得：你在 2026-03-02 说过：「小黑生病了」。");
        assert_eq!(reply_to(inputs("Echo")), "我记得：我在 2026-03-02 说过：「小黑生病了」。");
        assert_eq!(reply_to(inputs("阿明")), "我记得：阿明在 2026-03-02 说过：「小黑生病了」。");
    }

    #[test]
    fn nothing_is_repeated_and_expectations_are_no_memories() {
        let said = reply_to(json!({"user_text": "你还记得我的猫吗", "memories": [
            {"description": "用户养了只白猫,叫小黑。", "kind": "event"},
            {"description": "一直放在心上的是:用户养了只白猫,叫小黑。", "kind": "thought"},
            {"description": "用户会给猫洗澡", "kind": "expectation"},
        ], "passages": [{"speaker": "user", "text": "我养了只白猫,叫小黑", "date": "2026-03-01"}]}));
        assert_eq!(said, "我记得：你养了只白猫,叫小黑。");
    }

    #[test]
    fn a_thought_that_shares_no_word_is_no_answer() {
        let thought = json!([{"description": "用户夜里才说重的话", "kind": "thought"}]);
        assert!(
            reply_to(json!({"user_text": "明天会下雨吗?", "memories": thought})).starts_with("这个我不知道")
        );
    }

    #[test]
    fn an_open_question_gets_what_is_there() {
        for (text, begin) in
            [("你还记得我什么?", "我记得："), ("What do you know about me?", "I remember: you")]
        {
            let memories = json!([{"description": "The user loves jazz", "kind": "event"}]);
            assert!(reply_to(json!({"user_text": text, "memories": memories})).starts_with(begin), "{text}");
        }
    }

    #[test]
    fn a_question_without_a_word_of_its_own_is_not_answered_with_whatever_is_there() {
        let inputs = |text: &str| {
            json!({"user_text": text, "memories": [{"description": "The user loves jazz", "kind": "event"}],
                "passages": [{"speaker": "user", "text": "ok"}],
                "recent": [{"speaker": "user", "text": "ok"}, {"speaker": "user", "text": "I have a dog named Bruno."}]})
        };
        for text in ["Why?", "What's 2+2?", "Really?"] {
            assert!(!reply_to(inputs(text)).contains("remember:"), "{text}: {}", reply_to(inputs(text)));
        }
        assert!(reply_to(inputs("How are you?")).starts_with("I'm well"));
        assert!(reply_to(inputs("你好吗？")).starts_with("我挺好的"));
        for text in ["Tell me about myself", "Who am I?", "你知道我是谁吗", "What have I told you?"] {
            let said = reply_to(inputs(text));
            assert!(
                said.contains("you love jazz") && said.contains("Bruno") && !said.contains("ok"),
                "{said}"
            );
        }
        let nurse = json!({"user_text": "我是做什么的？", "memories": [
            {"description": "用户养了只猫", "kind": "event"}, {"description": "用户是护士", "kind": "event"}]});
        assert_eq!(reply_to(nurse), "我记得：你是护士。");
        let mia =
            json!({"user_text": "What's my name?", "recent": [{"speaker": "user", "text": "Hi! I'm Mia."}]});
        let dog = json!({"user_text": "What's my name?", "recent": [{"speaker": "user", "text": "My dog is called Bruno."}]});
        assert!(reply_to(dog).starts_with("I don't know that."));
        assert!(reply_to(json!({"user_text": "我多大了"})).starts_with("这个我不知道"));
        assert!(reply_to(json!({"user_text": "I passed my driving test!"})).contains("good to hear"));
        assert_eq!(reply_to(mia), "I remember: you said: \"Hi! I'm Mia.\"");
        let today = json!({"user_text": "我今天做了什么？", "memories": [{"description": "用户去爬山了", "kind": "event"}]});
        assert_eq!(reply_to(today), "我记得：你去爬山了。");
    }

    #[test]
    fn at_most_three_are_restated_in_their_order() {
        let memories: Vec<_> =
            (1..6).map(|at| json!({"description": format!("The user has cat number{at}")})).collect();
        let said = reply_to(json!({"user_text": "Which cats do I have?", "memories": memories}));
        assert_eq!(said, "I remember: you have cat number1; you have cat number2; you have cat number3.");
    }

    #[test]
    fn grief_despair_and_joy_are_not_just_noted() {
        assert!(reply_to(json!({"user_text": "我不想活了"})).contains("求助电话"));
        assert!(reply_to(json!({"user_text": "I want to die"})).contains("crisis line"));
        assert!(reply_to(json!({"user_text": "我奶奶去世了"})).contains("难过"));
        assert!(reply_to(json!({"user_text": "My mom passed away"})).contains("sorry"));
        assert!(reply_to(json!({"user_text": "I got promoted!"})).contains("glad"));
    }

    #[test]
    fn small_talk_is_met_in_its_language() {
        assert_eq!(reply_to(json!({"user_text": "你好!"})), "你好，我在。");
        assert_eq!(reply_to(json!({"user_text": "Hi!"})), "Hello, I'm here.");
        for thanks in ["谢谢", "谢谢你听我说"] {
            assert_eq!(reply_to(json!({"user_text": thanks})), "不客气。");
        }
        assert_eq!(reply_to(json!({"user_text": "thanks for listening"})), "You're welcome.");
        assert_eq!(reply_to(json!({"user_text": "我们下次聊"})), "好，回头见。");
        assert_eq!(reply_to(json!({"user_text": "Good night!"})), "Good night, sleep well.");
        assert_eq!(reply_to(json!({"user_text": "嗯"})), "嗯，我听着呢。");
        assert_eq!(reply_to(json!({"user_text": "Okay."})), "I'm listening.");
        assert!(reply_to(json!({"user_text": "你是谁?", "persona_name": "小夜"})).starts_with("我是小夜。"));
        assert!(
            reply_to(json!({"user_text": "Who are you?", "persona_name": "Echo"})).contains("from memory")
        );
    }

    #[test]
    fn recent_messages_are_known() {
        let recent = json!([{"speaker": "user", "text": "我叫小林,在杭州做设计师。"}]);
        let said = reply_to(json!({"user_text": "我叫什么名字?", "recent": recent}));
        assert_eq!(said, "我记得：你说过：「我叫小林,在杭州做设计师。」");
        assert!(
            reply_to(json!({"user_text": "明天会下雨吗?", "recent": recent})).starts_with("这个我不知道")
        );
    }

    #[test]
    fn the_language_is_the_users() {
        assert_eq!(reply_to(json!({"user_text": "🙂", "language": "zh-CN"})), "记下了。");
        assert_eq!(reply_to(json!({"user_text": "🙂"})), "I've noted that.");
        assert_eq!(reply_to(json!({"user_text": "ok then", "language": "zh"})), "I'm listening.");
    }
}
