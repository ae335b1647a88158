//! Small talk, and what is asked of the persona beside memory: greetings, thanks, goodbyes, "how are you", "who are you",
//! to forget something, to speak up by itself.

use text::is_han;

use super::lexicon::Words;
use super::sentences::{Language, has_part, worded_sentences, words_with_spaces};

/// A part of a text between punctuation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
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
    /// The persona's name, which only calls.
    Called,
}

/// Replies for each kind. If several kinds are adjacent, the first one here is answered.
const KINDS: [(Part, Words, Words); 10] = [
    (Part::Who, WHO_ZH, WHO_EN),
    (Part::Keep, KEEP_ZH, KEEP_EN),
    (Part::HowAreYou, HOW_ARE_YOU_ZH, HOW_ARE_YOU_EN),
    (Part::NotWell, NOT_WELL_ZH, NOT_WELL_EN),
    (Part::Night, NIGHT_ZH, NIGHT_EN),
    (Part::Goodbye, GOODBYE_ZH, GOODBYE_EN),
    (Part::Thanks, THANKS_ZH, THANKS_EN),
    (Part::Well, WELL_ZH, WELL_EN),
    (Part::Hello, HELLO_ZH, HELLO_EN),
    (Part::Agreeing, AGREEING_ZH, AGREEING_EN),
];

const HELLO_ZH: Words = Words::new(
    "你好|您好|大家好|嗨|嗨嗨|哈喽|哈罗|在吗|在不在|在|早|早安|早上好|晚上好|下午好|中午好|hi|hello|又见面|又来|我来|我回来|\
     我又来|好久不见|很高兴认识你|高兴认识你|认识你很高兴|幸会|又是我|见到你很高兴|很高兴见到你",
);
const HELLO_EN: Words = Words::new(
    "hi|hello|hey|hi there|hey there|hello there|good morning|good evening|good afternoon|good day|morning|evening|yo|howdy|\
     greetings|long time no see|i'm back|i am back|it's me|me|good to see you|nice to see you|nice to meet you|\
     pleased to meet you|glad to meet you|good to be back|nice to be back|welcome back",
);
const HOW_ARE_YOU_ZH: Words = Words::new(
    "你好吗|你还好吗|还好吗|你怎么样|你还好|怎么样|你呢|最近怎么样|最近好吗|最近还好吗|你最近怎么样|你最近好吗|你最近还好吗|过得怎么样|\
     你过得好吗|你过得怎么样|最近过得怎么样|你今天怎么样|今天怎么样|你今天好吗|你在干嘛|在干嘛|你在做什么|你在干什么|在忙吗|你忙吗|\
     吃了吗|你吃了吗|吃饭了吗|你吃饭了吗|吃了没|你开心吗|你累吗|你身体好吗",
);
const HOW_ARE_YOU_EN: Words = Words::new(
    "how are you|how are you doing|how are you feeling|how's it going|how is it going|how do you do|how have you been|\
     how was your day|how is your day|how's your day|how's life|what's up|sup|what are you doing|what are you up to|\
     are you okay|are you ok|are you well|are you happy|you okay|you ok|how are things|how about you|and you|and yourself|\
     what about you|are you there|you there|are you busy|how you doing|how's everything|how is everything",
);
const WELL_ZH: Words = Words::new(
    "我很好|我挺好|挺好|很好|还不错|我还不错|不错|还行|我还行|还可以|我还可以|还好|我还好|我也很好|我也挺好|一切都好|都好|老样子",
);
const WELL_EN: Words = Words::new(
    "i'm fine|i am fine|i'm good|i'm great|i'm well|i'm ok|i'm okay|i'm doing well|i'm doing fine|i'm doing good|i'm all right|\
     i'm alright|not bad|pretty good|very well|doing well|doing fine|all good|very good|good|great|same as always|so so|can't complain",
);
const NOT_WELL_ZH: Words = Words::new(
    "不太好|不好|我不好|我不太好|不怎么好|我不怎么好|不怎么样|很糟|糟糕|很糟糕|糟透|一般|一般般|不是很好|我很不好|心情不好|我心情不好",
);
const NOT_WELL_EN: Words = Words::new(
    "not so good|not great|not good|not so great|not well|not very well|not too good|i'm not great|i'm not good|i'm not so good|\
     i'm not okay|i'm not ok|i'm not well|i'm not fine|i'm not doing well|terrible|awful|i feel terrible|i feel awful|i feel bad|\
     i've been better|i have been better|bad",
);
/// A part that begins so thanks.
const THANKS_FOR_ZH: Words = Words::new("谢谢|多谢|感谢你|谢啦");
const THANKS_FOR_EN: Words = Words::new("thanks for|thank you for|thanks again|thanks so much");
const THANKS_ZH: Words = Words::new("谢谢|谢谢你|多谢|谢啦|谢了|谢|感谢|辛苦|你真好|谢谢您|太谢谢你");
const THANKS_EN: Words = Words::new(
    "thanks|thank you|thx|ty|thanks a lot|thank you so much|thank you very much|many thanks|cheers|that's kind|that's kind of you|\
     that's sweet|you're kind|you're sweet|much appreciated",
);
const NIGHT_ZH: Words = Words::new(
    "晚安|睡|我睡|去睡|我去睡|我先睡|先睡|要睡|我要睡|我要去睡|我要睡觉|我去睡觉|去睡觉|睡觉|好梦|做个好梦|我困",
);
const NIGHT_EN: Words = Words::new(
    "good night|goodnight|night|night night|nighty night|gn|sleep well|sweet dreams|sleep tight|going to bed|i'm going to bed|\
     i'm off to bed|off to bed|going to sleep|i'm going to sleep|time for bed|bedtime",
);
const GOODBYE_ZH: Words = Words::new(
    "再见|拜拜|拜|回头见|我先走|先走|我走|走|下次聊|下次再聊|我们下次聊|改天聊|改天再聊|回头聊|回聊|明天聊|明天再聊|明天见|下次见|先这样|\
     就这样|那先这样|今天先这样|今天就这样|先聊到这|先聊到这里|先到这里|今天先到这里|我得走|我要走|该走|我该走|先下|我先下|下线|我下线|\
     先忙|我先忙|去忙|我去忙|我先去忙|先不聊|不聊|我要出门|我出门|去上班|我去上班|去吃饭|我去吃饭|有空再聊|周末愉快|祝你愉快|祝好|保重",
);
const GOODBYE_EN: Words = Words::new(
    "bye|goodbye|good bye|bye bye|see you|see ya|see you later|see you tomorrow|see you soon|talk later|talk to you later|\
     talk to you soon|talk to you tomorrow|talk tomorrow|talk soon|let's talk later|later|ttyl|cya|take care|bye for now|\
     gotta go|got to go|i gotta go|i've got to go|i have to go|i need to go|i must go|i should go|i'm off|i'm leaving|\
     that's all|that's it|that's all for today|have a good day|have a nice day|have a great day|have a good one|until next time|\
     until tomorrow|be right back|brb|catch you later|farewell|i'll be back",
);
const AGREEING_ZH: Words = Words::new(
    "嗯|嗯嗯|哦|噢|好|好的|好吧|行|对|对的|是|是的|没错|知道了|知道|明白|哈哈|哈哈哈|哈哈哈哈|呵呵|嘿嘿|随便|可以|当然|没事|没关系|没什么|\
     不用|不客气|原来如此|这样|真的|真好|太好|厉害|有意思|不|不是|没有",
);
const AGREEING_EN: Words = Words::new(
    "ok|okay|k|yes|yeah|yea|yep|yup|sure|right|true|i see|got it|haha|hahaha|lol|hm|hmm|mm|mhm|cool|nice|alright|all right|fine|\
     no|nope|nah|oh|wow|really|no problem|no worries|you're welcome|never mind|nevermind|of course|exactly|interesting|sounds good|\
     that's nice|that's good|that's great|perfect|awesome|makes sense|fair enough|understood|sorry|i'm sorry",
);
const WHO_ZH: Words = Words::new(
    "你是谁|你叫什么|你叫什么名字|你是什么|你是机器人吗|你是真人吗|你是人吗|你是AI吗|你是什么人|你会做什么|你能做什么|你会什么|你能干什么|\
     你能帮我做什么|介绍一下你自己|介绍你自己|自我介绍一下",
);
const WHO_EN: Words = Words::new(
    "who are you|what are you|what's your name|what is your name|are you real|are you a bot|are you a robot|are you human|are you an ai|\
     are you a person|can you help me|help|what can you do|what do you do|introduce yourself|tell me about yourself|tell me who you are",
);
/// Questions about whether the persona will remember.
const KEEP_ZH: Words = Words::new(
    "你会忘记我吗|你会忘了我吗|你会忘记吗|你会记得我吗|你会一直记得我吗|你会记住我吗|你会记住吗|你会记得吗|你记住了吗|你能记住吗",
);
const KEEP_EN: Words = Words::new(
    "will you forget me|will you remember me|will you forget|will you remember|will you remember this|will you remember that|do you forget|will you forget this",
);
/// Words that add nothing at the end of a part.
const TAILS_ZH: Words = Words::new("呀|啊|哦|呢|啦|了|吧|哈|嘛|哟|喽|咯|呐|的|先|今天|再|吗");
const TAILS_EN: Words = Words::new(
    "again|now|today|tonight|then|there|everyone|friend|my friend|dear|so much|very much|a lot|for now|too|already|still|everybody|buddy",
);
/// Words that add nothing at the beginning of a part.
const LEADS_ZH: Words = Words::new("那|好|嗯|哦|啊|唉|哎|嘿|我们|我|真|太|先|今天|就");
const LEADS_EN: Words = Words::new(
    "ok|okay|well|oh|so|then|and|alright|hey|hi|hello|yes|no|ah|anyway|but|yeah|really|just|very|i think",
);

/// Requests to delete something from memory.
const FORGET_ZH: Words = Words::new(
    "忘掉|忘了我|忘记我|忘记这|忘记那|忘了这|忘了那|请忘|帮我忘|删掉|删除|别记住|别记得|不要记|别记|把这|把那|把我",
);
const FORGET_HOW_ZH: Words = Words::new("忘|删|别记|不要记");
const NOT_FORGET_ZH: Words = Words::new("别忘|不要忘|不会忘|忘不|没忘|勿忘|难忘|我忘|我想忘");
const FORGET_EN: Words = Words::new(
    "forget what|forget that|forget about|forget everything|forget all|forget my|forget this|forget i|forget the|forget it all|\
     delete what|delete that|delete my|delete everything|delete this|erase|don't remember that|don't remember what|\
     stop remembering|remove what|remove that|unremember",
);
/// Before it one only asks politely, with several of them too.
const POLITE_EN: Words = Words::new("please|can you|could you|would you|i want you to|ok|now");
const POLITE_ZH: Words =
    Words::new("你能不能|能不能|你可不可以|可不可以|你能否|能否|你可否|可否|麻烦你|麻烦您|麻烦|请问");
/// Requests to write without being asked.
const SPEAK_UP_ZH: Words = Words::new(
    "你答应我|答应我|提醒我|记得问我|记得问问我|到时候问我|到时候问问我|你要问我|来问我|问问我|记得叫我|叫醒我|喊我",
);
const SPEAK_UP_EN: Words = Words::new(
    "promise me|promise to|promise you'll|promise you will|remind me to|remind me about|remind me on|remind me in|remind me at|remind me tomorrow|\
     remind me next|remind me tonight|remind me that|ask me about|ask me on|ask me tomorrow|ask me next|ask me how|\
     check in on me|check on me|wake me|ping me|message me|write to me|text me",
);

/// The answer to a text that is nothing but small talk.
pub(super) fn to_small_talk(text: &str, language: Language, persona_name: Option<&str>) -> Option<String> {
    const LONGEST: usize = 64;
    if text.chars().count() > LONGEST {
        return None;
    }
    let signs = |letter: char| !(letter.is_alphanumeric() || matches!(letter, ' ' | '\'' | '’'));
    let parts = text.split(signs).map(str::trim).filter(|part| !part.is_empty());
    let parts: Vec<Part> = parts.map(|part| part_of(part, persona_name)).collect::<Option<_>>()?;
    if parts.iter().all(|part| *part == Part::Called) {
        return (!parts.is_empty()).then(|| language.choose("我在。", "I'm here.").to_owned());
    }
    let (kind, ..) = KINDS.into_iter().find(|(kind, ..)| parts.contains(kind))?;
    let thanked = parts.contains(&Part::Thanks);
    let line = match kind {
        Part::Who => {
            let name = persona_name.unwrap_or(language.choose("我", "me"));
            return Some(language.choose(
                format!("我是{name}。现在没有语言模型帮我说话，我只凭记忆回答。"),
                format!(
                    "I'm {name}. No language model speaks for me at the moment; I answer from memory alone."
                ),
            ));
        }
        Part::Keep => language
            .choose("你说过的话我都留着，除非你删掉。", "I keep what you tell me until you delete it."),
        Part::HowAreYou => {
            language.choose("我挺好的，谢谢你问。你呢？", "I'm well, thank you for asking. And you?")
        }
        Part::NotWell => language.choose("怎么了？我听着呢。", "I'm sorry to hear that. I'm listening."),
        Part::Night => language.choose("晚安，好梦。", "Good night, sleep well."),
        Part::Goodbye if thanked => language.choose("不客气，回头见。", "You're welcome. See you."),
        Part::Goodbye => language.choose("好，回头见。", "See you."),
        Part::Thanks => language.choose("不客气。", "You're welcome."),
        Part::Well => language.choose("那就好。", "Glad to hear it."),
        Part::Hello => language.choose("你好，我在。", "Hello, I'm here."),
        Part::Agreeing | Part::Called => language.choose("嗯，我听着呢。", "I'm listening."),
    };
    Some(line.to_owned())
}

fn part_of(part: &str, persona_name: Option<&str>) -> Option<Part> {
    if persona_name.is_some_and(|name| name.eq_ignore_ascii_case(part)) {
        return Some(Part::Called);
    }
    let listed = |part: &str| {
        KINDS
            .into_iter()
            .find(|(_, chinese, english)| chinese.holds(part) || english.holds(part))
            .map(|(kind, ..)| kind)
    };
    let spelled = words_with_spaces(part);
    let thanks = THANKS_FOR_ZH.iter().any(|word| part.starts_with(word))
        || THANKS_FOR_EN.iter().any(|phrase| spelled.starts_with(&format!(" {phrase} ")));
    let found = if part.contains(is_han) {
        let named = persona_name.and_then(|name| part.strip_suffix(name).or_else(|| part.strip_prefix(name)));
        shorter_forms(named.unwrap_or(part), TAILS_ZH, LEADS_ZH, "").find_map(|part| listed(&part))
    } else {
        let name = persona_name.map(str::to_lowercase);
        let called = name.as_deref().and_then(|name| spelled.trim().strip_suffix(name)).map(str::trim);
        let whole = called.filter(|rest| !rest.is_empty()).unwrap_or(spelled.trim());
        shorter_forms(whole, TAILS_EN, LEADS_EN, " ").find_map(|part| listed(&part))
    };
    found.or(thanks.then_some(Part::Thanks))
}

/// A part unchanged, then with one word after the other taken off its end, then off its beginning.
fn shorter_forms(part: &str, tails: Words, leads: Words, blank: &str) -> impl Iterator<Item = String> {
    let shorter = move |part: &String| {
        let bare = |rest: &str| Some(rest.to_owned()).filter(|rest| !rest.is_empty());
        let without_tail = tails.iter().find_map(|tail| bare(part.strip_suffix(&format!("{blank}{tail}"))?));
        without_tail
            .or_else(|| leads.iter().find_map(|lead| bare(part.strip_prefix(&format!("{lead}{blank}"))?)))
    };
    std::iter::successors(Some(part.to_owned()), shorter)
}

/// The answer to what a persona without a language model can't do by being asked.
pub(super) fn to_a_wish(text: &str, language: Language) -> Option<&'static str> {
    let first = worded_sentences(text).into_iter().next().unwrap_or_default();
    if wants_forgotten(first) {
        return Some(language.choose(
            "我自己不能删掉记忆，要由你来：在「记忆」页里找到它，选「忘记」；或者用命令 echovessel memory forget。",
            "I can't take that out of memory by myself; you can: find it on the memory page and choose Forget, or use the command echovessel memory forget.",
        ));
    }
    // 妈妈提醒我 tells of others.
    let told = text.contains(['他', '她', '妈', '爸', '们']) && !text.contains('你');
    let speak_up = (has_part(text, SPEAK_UP_ZH) && !told) || asks_politely(first, SPEAK_UP_EN);
    speak_up.then(|| {
        language.choose(
            "记下了。不过我不会自己先开口：到时候请你来找我说话。",
            "I've noted that. I can't speak up by myself, though: please come and talk to me when it is time.",
        )
    })
}

fn wants_forgotten(sentence: &str) -> bool {
    let kept = has_part(sentence, NOT_FORGET_ZH);
    let polite = without_politeness(sentence, POLITE_ZH, "");
    let bare = polite.trim_start_matches(['请', '你', '帮', '我', '能', '可', '以', '，', ',', ' ']);
    let asked = FORGET_ZH.iter().any(|begin| bare.starts_with(begin) || sentence.starts_with(begin));
    if asked && !kept && has_part(sentence, FORGET_HOW_ZH) {
        return true;
    }
    asks_politely(sentence, FORGET_EN)
}

/// True if a sentence begins with one of these, or asks politely and then begins with one of them.
fn asks_politely(sentence: &str, phrases: Words) -> bool {
    let spelled = words_with_spaces(sentence);
    let rest = without_politeness(spelled.trim_start(), POLITE_EN, " ");
    phrases.iter().any(|begin| rest.starts_with(&format!("{begin} ")))
}

/// A sentence behind all the polite words that it begins with, in whatever order they stand.
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

    fn said(text: &str) -> Option<String> {
        to_small_talk(text, Language::of(text).unwrap_or_default(), Some("Echo"))
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
            assert_eq!(said(text).as_deref(), Some(line), "{text}");
        }
    }

    #[test]
    fn what_says_something_is_no_small_talk() {
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
            assert_eq!(said(text), None, "{text}");
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
                to_a_wish(text, Language::English).is_some_and(|line| line.contains("memory forget")),
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
            assert!(to_a_wish(text, Language::Chinese).is_some_and(|line| line.contains("忘记")), "{text}");
        }
        for text in [
            "Remind me to call Ann tomorrow.",
            "Promise me you'll ask how it went.",
            "Could you please remind me to call Ann?",
        ] {
            assert!(
                to_a_wish(text, Language::English).is_some_and(|line| line.contains("by myself")),
                "{text}"
            );
        }
        assert!(to_a_wish("你答应我，周一问问我面试怎么样，好吗？", Language::Chinese).is_some());
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
            assert_eq!(to_a_wish(text, Language::of(text).unwrap()), None, "{text}");
        }
    }
}
