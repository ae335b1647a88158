//! Questions of the user about themselves: what they ask for, and what tells it.

use super::lexicon::Words;
use super::self_statements::{self_statement, tells_name};
use super::sentences::{clauses, has_part, has_phrase, words_with_spaces};

/// A question about the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SelfQuestion {
    /// The question is about all that is known.
    Everything,
    Name,
    Age,
    Work,
    Home,
}

const ASKED: [(SelfQuestion, Words, Words); 5] = [
    (
        SelfQuestion::Name,
        Words::new("我叫什么|我叫啥|我的名字|我名字|我姓什么|怎么称呼我|叫我什么"),
        Words::new("my name|what am i called|do you call me"),
    ),
    (
        SelfQuestion::Age,
        Words::new("我几岁|我多大|我多少岁|我今年几岁|我今年多大|我的年龄"),
        Words::new("how old am i|how old i am|my age"),
    ),
    (
        SelfQuestion::Work,
        Words::new(
            "我是做什么|我做什么工作|我是干什么|我是干嘛|我的工作是什么|我的职业|我在哪工作|我在哪上班|我在哪里工作|我在哪里上班|我在哪儿上班",
        ),
        Words::new(
            "do i do for a living|i do for a living|do i do for work|what is my job|what's my job|my profession|my occupation|where do i work|where i work",
        ),
    ),
    (
        SelfQuestion::Home,
        Words::new("我住哪|我住在哪|我在哪住|我在哪里住|我家在哪|我是哪里人|我来自哪"),
        Words::new(
            "where do i live|where i live|city do i live in|where am i from|where i'm from|where i am from|where do i come from",
        ),
    ),
    (
        SelfQuestion::Everything,
        Words::new(
            "记得我什么|知道我什么|知道我哪些|知道我的什么|了解我|记得我吗|记得我多少|认识我吗|关于我|我是谁|我是什么样|我是个什么样|我是怎样|介绍我|\
             介绍一下我|说说我|我告诉过你什么|我跟你说过什么|我和你说过什么|我说过什么|你记得什么|还记得什么|记得些什么|都记得什么|记得哪些|我们聊过什么|\
             我们聊了什么|我们说过什么|知道我多少",
        ),
        Words::new(
            "know about me|remember about me|remember me|learned about me|learnt about me|about myself|tell me about me|who am i|who i am|know me|\
             describe me|what have i told you|what did i tell you|what i told you|what i've told you|what do you remember|what do you know|\
             do you remember anything|what have we talked about|what did we talk about|everything you know|everything you remember|all you know|\
             all you remember",
        ),
    ),
];
/// Phrases that answer it, in the user's own words or in a memory of the user.
const NAME_SAID: Words = Words::new(
    "我叫|我的名字是|我名叫|用户叫|用户名叫|用户的名字|My name is|my name is|My name's|my name's|user's name is|I'm called|I am called|user is called|Call me|call me",
);
const AGE_SAID: Words = Words::new("岁|今年|出生|年纪|years old|year-old|born");
const WORK_SAID: Words = Words::new(
    "我是|用户是|工作|上班|就职|入职|职业|is a |is an |I'm a |I am a |I'm an |I am an |work as|works as|work at|works at|work for|works for|work in|works in|my job|teach",
);
const HOME_SAID: Words = Words::new("住|搬到|来自|家在|live in|lives in|moved to|from ");

impl SelfQuestion {
    /// The question of a text, if it asks about the user as such.
    pub(super) fn of(text: &str) -> Option<SelfQuestion> {
        let spelled = words_with_spaces(text);
        let asked = |(_, chinese, english): &(SelfQuestion, Words, Words)| {
            has_part(text, *chinese) || has_phrase(&spelled, *english)
        };
        ASKED.into_iter().find(asked).map(|(question, ..)| question)
    }

    /// True if a memory, or else a line of the user, tells it. Any memory is an answer to who asks for everything.
    pub(super) fn is_told_by(self, source: &str, is_memory: bool) -> bool {
        let of_user = || {
            let clauses = clauses(source);
            clauses.iter().any(|clause| self_statement(clause).is_some())
                || source.contains("用户")
                || source.to_lowercase().contains("the user")
        };
        match self {
            SelfQuestion::Everything => is_memory || of_user(),
            SelfQuestion::Name => has_part(source, NAME_SAID) && of_user() || tells_name(source),
            SelfQuestion::Age => has_part(source, AGE_SAID) && of_user(),
            SelfQuestion::Work => has_part(source, WORK_SAID) && of_user(),
            SelfQuestion::Home => has_part(source, HOME_SAID) && of_user(),
        }
    }
}
