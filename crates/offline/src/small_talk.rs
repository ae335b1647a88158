//! Small talk, and requests to the persona other than for memories: greetings, thanks, goodbyes, "how are you", "who
//! are you", requests to forget something or to write proactively.

use text::is_han;
use text::lexicon::{WordList, Words, small_talk};

use super::sentences::{Language, sentences_with_words};

/// A part of a text between punctuation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SmallTalkPart {
    Who,
    Keep,
    HowAreYou,
    NotWell,
    Night,
    Goodbye,
    Thanks,
    Well,
    Hello,
    Agreeing,
    /// The persona's name, as a form of address.
    Called,
}

/// Replies for each kind. If several kinds are adjacent, the first one of this list is answered.
const KINDS: [(SmallTalkPart, WordList); 10] = [
    (SmallTalkPart::Who, small_talk::WHO),
    (SmallTalkPart::Keep, small_talk::KEEP),
    (SmallTalkPart::HowAreYou, small_talk::HOW_ARE_YOU),
    (SmallTalkPart::NotWell, small_talk::NOT_WELL),
    (SmallTalkPart::Night, small_talk::NIGHT),
    (SmallTalkPart::Goodbye, small_talk::GOODBYE),
    (SmallTalkPart::Thanks, small_talk::THANKS),
    (SmallTalkPart::Well, small_talk::WELL),
    (SmallTalkPart::Hello, small_talk::HELLO),
    (SmallTalkPart::Agreeing, small_talk::AGREEING),
];

/// The reply to a text that is only small talk.
pub(super) fn to_small_talk(text: &str, language: Language, persona_name: Option<&str>) -> Option<String> {
    const SMALL_TALK_LENGTH_MAX: usize = 64;
    if text.chars().count() > SMALL_TALK_LENGTH_MAX {
        return None;
    }
    let signs = |letter: char| !(letter.is_alphanumeric() || matches!(letter, ' ' | '\'' | '’'));
    let parts = text.split(signs).map(str::trim).filter(|part| !part.is_empty());
    let parts: Vec<SmallTalkPart> =
        parts.map(|part| classify_part(part, persona_name)).collect::<Option<_>>()?;
    if parts.iter().all(|part| *part == SmallTalkPart::Called) {
        return (!parts.is_empty()).then(|| language.choose("我在。", "I'm here.").to_owned());
    }
    let (kind, ..) = KINDS.into_iter().find(|(kind, ..)| parts.contains(kind))?;
    let thanked = parts.contains(&SmallTalkPart::Thanks);
    let line = match kind {
        SmallTalkPart::Who => {
            let name = persona_name.unwrap_or(language.choose("我", "me"));
            return Some(language.choose(
                format!("我是{name}。现在没有语言模型帮我说话，我只凭记忆回答。"),
                format!(
                    "I'm {name}. No language model speaks for me at the moment; I answer from memory alone."
                ),
            ));
        }
        SmallTalkPart::Keep => language
            .choose("你说过的话我都留着，除非你删掉。", "I keep what you tell me until you delete it."),
        SmallTalkPart::HowAreYou => {
            language.choose("我挺好的，谢谢你问。你呢？", "I'm well, thank you for asking. And you?")
        }
        SmallTalkPart::NotWell => {
            language.choose("怎么了？我听着呢。", "I'm sorry to hear that. I'm listening.")
        }
        SmallTalkPart::Night => language.choose("晚安，好梦。", "Good night, sleep well."),
        SmallTalkPart::Goodbye if thanked => language.choose("不客气，回头见。", "You're welcome. See you."),
        SmallTalkPart::Goodbye => language.choose("好，回头见。", "See you."),
        SmallTalkPart::Thanks => language.choose("不客气。", "You're welcome."),
        SmallTalkPart::Well => language.choose("那就好。", "Glad to hear it."),
        SmallTalkPart::Hello => language.choose("你好，我在。", "Hello, I'm here."),
        SmallTalkPart::Agreeing | SmallTalkPart::Called => {
            language.choose("嗯，我听着呢。", "I'm listening.")
        }
    };
    Some(line.to_owned())
}

fn classify_part(part: &str, persona_name: Option<&str>) -> Option<SmallTalkPart> {
    if persona_name.is_some_and(|name| name.eq_ignore_ascii_case(part)) {
        return Some(SmallTalkPart::Called);
    }
    let listed = |part: &str| KINDS.into_iter().find(|(_, words)| words.contains(part)).map(|(kind, _)| kind);
    let spelled = text::spaced_words(part);
    let thanks = small_talk::THANKS_FOR.chinese.begin(part)
        || small_talk::THANKS_FOR.english.iter().any(|phrase| spelled.starts_with(&format!(" {phrase} ")));
    let found = if part.contains(is_han) {
        let named = persona_name.and_then(|name| part.strip_suffix(name).or_else(|| part.strip_prefix(name)));
        shorter_forms(named.unwrap_or(part), small_talk::TAILS.chinese, small_talk::LEADS.chinese, "")
            .find_map(|part| listed(&part))
    } else {
        let name = persona_name.map(str::to_lowercase);
        let called = name.as_deref().and_then(|name| spelled.trim().strip_suffix(name)).map(str::trim);
        let whole = called.filter(|rest| !rest.is_empty()).unwrap_or(spelled.trim());
        shorter_forms(whole, small_talk::TAILS.english, small_talk::LEADS.english, " ")
            .find_map(|part| listed(&part))
    };
    found.or(thanks.then_some(SmallTalkPart::Thanks))
}

/// A part unchanged, then with words removed from its end, then from its start.
fn shorter_forms(part: &str, tails: Words, leads: Words, blank: &str) -> impl Iterator<Item = String> {
    let shorter = move |part: &String| {
        let bare = |rest: &str| Some(rest.to_owned()).filter(|rest| !rest.is_empty());
        let without_tail = tails.iter().find_map(|tail| bare(part.strip_suffix(&format!("{blank}{tail}"))?));
        without_tail
            .or_else(|| leads.iter().find_map(|lead| bare(part.strip_prefix(&format!("{lead}{blank}"))?)))
    };
    std::iter::successors(Some(part.to_owned()), shorter)
}

/// The reply to a request that a persona without a language model can't fulfil.
pub(super) fn answer_to_wish(text: &str, language: Language) -> Option<&'static str> {
    let first = sentences_with_words(text).into_iter().next().unwrap_or_default();
    if asks_to_forget(first) {
        return Some(language.choose(
            "我自己不能删掉记忆，要由你来：在「记忆」页里找到它，选「忘记」；或者用命令 echovessel memory forget。",
            "I can't take that out of memory by myself; you can: find it on the memory page and choose Forget, or use the command echovessel memory forget.",
        ));
    }
    // 妈妈提醒我 is about others.
    let is_about_others = text.contains(['他', '她', '妈', '爸', '们']) && !text.contains('你');
    let speak_up = (small_talk::SPEAK_UP.chinese.occur_in(text) && !is_about_others)
        || asks_politely(first, small_talk::SPEAK_UP.english);
    speak_up.then(|| {
        language.choose(
            "记下了。不过我不会自己先开口：到时候请你来找我说话。",
            "I've noted that. I can't speak up by myself, though: please come and talk to me when it is time.",
        )
    })
}

fn asks_to_forget(sentence: &str) -> bool {
    let kept = small_talk::NOT_FORGET.chinese.occur_in(sentence);
    let polite = without_politeness(sentence, small_talk::POLITE.chinese, "");
    let bare = polite.trim_start_matches(['请', '你', '帮', '我', '能', '可', '以', '，', ',', ' ']);
    let asked =
        small_talk::FORGET.chinese.iter().any(|begin| bare.starts_with(begin) || sentence.starts_with(begin));
    if asked && !kept && small_talk::FORGET_HOW.chinese.occur_in(sentence) {
        return true;
    }
    asks_politely(sentence, small_talk::FORGET.english)
}

/// True if a sentence begins with one of these, possibly after polite words.
fn asks_politely(sentence: &str, phrases: Words) -> bool {
    let spelled = text::spaced_words(sentence);
    let rest = without_politeness(spelled.trim_start(), small_talk::POLITE.english, " ");
    phrases.iter().any(|begin| rest.starts_with(&format!("{begin} ")))
}

/// A sentence without the polite words at its start, in any order.
fn without_politeness<'a>(sentence: &'a str, polite: Words, blank: &str) -> &'a str {
    let shorter = |rest: &&'a str| {
        polite
            .iter()
            .find_map(|word| rest.strip_prefix(word)?.strip_prefix(blank))
            .filter(|rest| !rest.is_empty())
    };
    std::iter::successors(Some(sentence), shorter).last().unwrap_or(sentence)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small_talk_reply(text: &str) -> Option<String> {
        to_small_talk(text, Language::from_text(text).unwrap_or_default(), Some("Echo"))
    }

    #[test]
    fn small_talk_is_known_in_its_many_forms() {
        for (text, line) in [
            ("Hello again.", "Hello, I'm here."),
            ("Hey Echo!", "Hello, I'm here."),
            ("Echo?", "I'm here."),
            ("Thanks, talk later.", "You're welcome. See you."),
            ("Goodnight", "Good night, sleep well."),
            ("Good night, Echo!", "Good night, sleep well."),
            ("Hi! How are you today?", "I'm well, thank you for asking. And you?"),
            ("I'm fine, thanks", "You're welcome."),
            ("Not so good", "I'm sorry to hear that. I'm listening."),
            ("又见面了", "你好，我在。"),
            ("谢谢，先这样", "不客气，回头见。"),
            ("好，那先这样吧", "好，回头见。"),
            ("Will you remember this?", "I keep what you tell me until you delete it."),
            ("你会忘记我吗？", "你说过的话我都留着，除非你删掉。"),
            ("你好吗？", "我挺好的，谢谢你问。你呢？"),
            ("我去睡了，晚安", "晚安，好梦。"),
            ("挺好的", "那就好。"),
        ] {
            assert_eq!(small_talk_reply(text).as_deref(), Some(line), "{text}");
        }
    }

    #[test]
    fn statements_are_no_small_talk() {
        for text in [
            "Hello, I'm Mia",
            "Goodnight moon is my favourite book",
            "Thanks, my mother died",
            "How are you related to Ann?",
            "你好吗妈妈",
            "我去睡医院",
            "我妈妈走了",
            "How is my dog?",
            "晚安故事讲完了",
            "Why?",
            "What's 2+2?",
        ] {
            assert_eq!(small_talk_reply(text), None, "{text}");
        }
    }

    #[test]
    fn wishes_that_cannot_be_met_are_explained() {
        for text in [
            "Forget what I said about my boss.",
            "Please forget that.",
            "Can you delete my address?",
            "Can you please delete my address?",
            "Please, could you forget that?",
            "Ok now would you please forget what I told you",
        ] {
            assert!(
                answer_to_wish(text, Language::English).is_some_and(|line| line.contains("memory forget")),
                "{text}"
            );
        }
        for text in [
            "忘掉我说的老板的事。",
            "请忘记我说过的话",
            "把我说的地址删掉",
            "能不能请你删掉我的地址？",
            "麻烦你把我说的地址删掉",
        ] {
            assert!(
                answer_to_wish(text, Language::Chinese).is_some_and(|line| line.contains("忘记")),
                "{text}"
            );
        }
        for text in [
            "Remind me to call Ann tomorrow.",
            "Promise me you'll ask how it went.",
            "Could you please remind me to call Ann?",
        ] {
            assert!(
                answer_to_wish(text, Language::English).is_some_and(|line| line.contains("by myself")),
                "{text}"
            );
        }
        assert!(answer_to_wish("你答应我，周一问问我面试怎么样，好吗？", Language::Chinese).is_some());
        for text in [
            "Don't forget my birthday",
            "I forget that sometimes",
            "Remind me what my dog is called",
            "我忘记带伞了",
            "别忘了我的生日",
            "我妈妈提醒我吃药",
            "我能不能忘掉他呢",
            "Can you please tell me about jazz?",
        ] {
            assert_eq!(answer_to_wish(text, Language::from_text(text).unwrap()), None, "{text}");
        }
    }
}
