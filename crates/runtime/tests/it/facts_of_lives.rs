//! Facts of generated conversations: how a value is stated, corrected, restated and asked for.

/// Sentences about a fact in one language. Only statements and corrections are facts; restatements are not.
pub(crate) struct Fact {
    pub(crate) values: &'static [&'static str],
    pub(crate) first: fn(&str) -> String,
    /// Corrections: the earlier value and the new one.
    pub(crate) changed: &'static [fn(&str, &str) -> String],
    /// The description that a good model extracts.
    pub(crate) remembered: fn(&str) -> String,
    /// The earlier value in a statement of others, a quotation, a joke, a denial.
    pub(crate) retold: &'static [fn(&str) -> String],
    pub(crate) asked: &'static str,
    pub(crate) asked_before: &'static str,
    /// Corrections that say that the value was never true.
    pub(crate) mistaken: bool,
}

/// The conversations of one language.
pub(crate) struct Language {
    pub(crate) facts: &'static [Fact],
    pub(crate) chatter: &'static [&'static str],
    pub(crate) unrelated: &'static [&'static str],
}

pub(crate) const ENGLISH: Language = Language {
    facts: &[
        Fact {
            values: &["Berlin", "Lyon", "Porto", "Oslo", "Krakow", "Dublin"],
            first: |value| format!("i have news: i live in {value}, in a small flat"),
            changed: &[
                |_, value| format!("no, i live in {value} now, in a small flat"),
                |_, value| format!("we moved in May, i live in {value} in a small flat"),
                |old, value| format!("i don't live in {old} any more, i live in {value} now"),
            ],
            remembered: |value| format!("The user lives in a small flat in {value}"),
            retold: &[
                |value| format!("my aunt still thinks that i have that flat in {value}"),
                |value| format!("in the film somebody says: \"i live in {value}\""),
                |value| format!("maybe i go back to {value} tomorrow, haha, that was a joke"),
            ],
            asked: "where do i live, where is my small flat?",
            asked_before: "where did i live before, where was my small flat?",
            mistaken: false,
        },
        Fact {
            values: &["Mochi", "Snow", "Pepper", "Luna", "Biscuit", "Otis"],
            first: |value| format!("i have a cat, my cat is called {value}"),
            changed: &[
                |_, value| format!("no, my cat is called {value} now"),
                |_, value| format!("i renamed my cat, she is called {value} now"),
                |old, value| format!("my cat is no longer called {old}, my cat is called {value}"),
            ],
            remembered: |value| format!("The user's cat is called {value}"),
            retold: &[
                |value| format!("my mother still calls the cat {value}"),
                |value| format!("the vet wrote \"{value}\" on the bill of the cat"),
            ],
            asked: "what is my cat called?",
            asked_before: "what was my cat called before?",
            mistaken: false,
        },
        Fact {
            values: &["nurse", "teacher", "baker", "plumber", "librarian", "pilot"],
            first: |value| format!("i work as a {value} in the town"),
            changed: &[
                |_, value| format!("i have a new job: i work as a {value} now"),
                |old, value| format!("i quit my job as a {old}, i work as a {value} now"),
            ],
            remembered: |value| format!("The user works as a {value}"),
            retold: &[
                |value| format!("my neighbour still thinks that i work as a {value}"),
                |value| format!("i never said that i work as a {value} now"),
            ],
            asked: "what do i work as?",
            asked_before: "what did i work as before?",
            mistaken: false,
        },
        Fact {
            values: &["coffee", "green tea", "cocoa", "apple juice", "oat milk", "mint tea"],
            first: |value| format!("i drink {value} every morning"),
            changed: &[
                |old, value| format!("i no longer drink {old}, i drink {value} every morning now"),
                |_, value| format!("i switched to something else: i drink {value} every morning"),
            ],
            remembered: |value| format!("The user drinks {value} every morning"),
            retold: &[
                |value| format!("my brother still thinks that i drink {value} every morning"),
                |value| format!("tomorrow morning i drink {value}, just kidding"),
            ],
            asked: "what do i drink every morning?",
            asked_before: "what did i drink every morning before?",
            mistaken: false,
        },
        Fact {
            values: &["3 May", "8 June", "21 August", "14 October", "30 January", "11 December"],
            first: |value| format!("my birthday is on {value}, write it down"),
            changed: &[
                |_, value| format!("i got that wrong, my birthday is on {value}"),
                |old, value| format!("not {old}, my birthday is on {value}"),
            ],
            remembered: |value| format!("The user's birthday is on {value}"),
            retold: &[|value| format!("my colleagues still believe that my birthday is on {value}")],
            asked: "when is my birthday?",
            asked_before: "which day did you have for my birthday before?",
            mistaken: true,
        },
        Fact {
            values: &["Berlin", "Lyon", "Porto", "Oslo", "Krakow", "Dublin"],
            first: |value| format!("my sister Mila lives in {value} with her family"),
            changed: &[
                |_, value| format!("actually my sister Mila lives in {value} these days"),
                |_, value| format!("my sister Mila has moved to {value}"),
                |old, value| format!("Mila no longer lives in {old}, my sister Mila lives in {value}"),
            ],
            remembered: |value| format!("The user's sister Mila lives in {value}"),
            retold: &[
                |value| format!("my uncle wrote a letter to Mila in {value}, poor man"),
                |value| format!("i read in a book about {value} yesterday"),
            ],
            asked: "where does my sister Mila live?",
            asked_before: "where did my sister Mila live before?",
            mistaken: false,
        },
        Fact {
            values: &["green", "blue", "dark red", "purple", "yellow", "orange"],
            first: |value| format!("my favourite colour is {value}, always was"),
            changed: &[
                |_, value| format!("i changed my mind, my favourite colour is {value} now"),
                |old, value| {
                    format!("my favourite colour is no longer {old}, my favourite colour is {value}")
                },
            ],
            remembered: |value| format!("The user's favourite colour is {value}"),
            retold: &[|value| {
                format!("my sister bought a gift: she believes that my favourite colour is {value}")
            }],
            asked: "what is my favourite colour?",
            asked_before: "what was my favourite colour before?",
            mistaken: false,
        },
        Fact {
            values: &["Anna", "Bruno", "Carla", "Dmitri", "Elena", "Farid"],
            first: |value| format!("my boss is called {value}, we get along"),
            changed: &[
                |_, value| format!("i have a new boss now, my boss is called {value}"),
                |old, value| format!("{old} left, my boss is called {value} now"),
            ],
            remembered: |value| format!("The user's boss is called {value}"),
            retold: &[|value| format!("on the door of the office it still says {value}")],
            asked: "what is my boss called?",
            asked_before: "what was my boss called before?",
            mistaken: false,
        },
    ],
    chatter: &["it rained all day", "what a long week", "hello again"],
    unrelated: &["i have a piano named Otto", "i have a sister named Mila", "i have a bicycle named Blitz"],
};

pub(crate) const CHINESE: Language = Language {
    facts: &[
        Fact {
            values: &["小黑", "小白", "豆豆", "团子", "毛毛", "芝麻"],
            first: |value| format!("我养了一只猫，叫{value}"),
            changed: &[
                |_, value| format!("我的猫改名了，现在叫{value}"),
                |old, value| format!("我的猫不是叫{old}，是叫{value}"),
                |old, value| format!("我的猫早就不叫{old}了，现在叫{value}"),
            ],
            remembered: |value| format!("用户的猫叫{value}"),
            retold: &[
                |value| format!("我妈还是管我的猫叫{value}"),
                |value| format!("电影里有人说“我的猫叫{value}”"),
                |value| format!("要不再叫它{value}吧，开玩笑的"),
            ],
            asked: "我的猫叫什么？",
            asked_before: "我的猫以前叫什么？",
            mistaken: false,
        },
        Fact {
            values: &["柏林", "里昂", "波尔图", "奥斯陆", "都柏林", "布拉格"],
            first: |value| format!("我住在{value}的一间小公寓"),
            changed: &[
                |_, value| format!("我们五月搬家了，我现在住在{value}"),
                |old, value| format!("我早就不住在{old}了，我现在住在{value}"),
            ],
            remembered: |value| format!("用户住在{value}"),
            retold: &[
                |value| format!("我姨妈还以为我住在{value}"),
                |value| format!("我没说过我明年要住在{value}"),
            ],
            asked: "我现在住在哪里？",
            asked_before: "我以前住在哪里？",
            mistaken: false,
        },
        Fact {
            values: &["护士", "老师", "面包师", "司机", "编辑", "律师"],
            first: |value| format!("我的工作是{value}"),
            changed: &[
                |_, value| format!("我跳槽了，我现在的工作是{value}"),
                |old, value| format!("我辞职了，不当{old}了，我现在的工作是{value}"),
            ],
            remembered: |value| format!("用户的工作是{value}"),
            retold: &[|value| format!("邻居还以为我的工作是{value}")],
            asked: "我的工作是什么？",
            asked_before: "我以前的工作是什么？",
            mistaken: false,
        },
        Fact {
            values: &["咖啡", "绿茶", "豆浆", "牛奶", "可可", "果汁"],
            first: |value| format!("我每天早上喝{value}"),
            changed: &[
                |old, value| format!("我早就不喝{old}了，我现在每天早上喝{value}"),
                |_, value| format!("我换了口味，现在每天早上喝{value}"),
            ],
            remembered: |value| format!("用户每天早上喝{value}"),
            retold: &[|value| format!("我弟弟还以为我每天早上喝{value}")],
            asked: "我每天早上喝什么？",
            asked_before: "我以前每天早上喝什么？",
            mistaken: false,
        },
        Fact {
            values: &["五月三日", "六月八日", "八月二十一日", "十月十四日", "一月三十日", "十二月十一日"],
            first: |value| format!("我的生日是{value}"),
            changed: &[
                |_, value| format!("我记错了，我的生日是{value}"),
                |old, value| format!("不是{old}，我的生日是{value}"),
            ],
            remembered: |value| format!("用户的生日是{value}"),
            retold: &[|value| format!("同事们还以为我的生日是{value}")],
            asked: "我的生日是哪天？",
            asked_before: "你以前记的我的生日是哪天？",
            mistaken: true,
        },
        Fact {
            values: &["柏林", "里昂", "波尔图", "奥斯陆", "都柏林", "布拉格"],
            first: |value| format!("我妹妹小梅住在{value}"),
            changed: &[
                |_, value| format!("我妹妹小梅搬到{value}了"),
                |old, value| format!("我妹妹小梅早就不住在{old}了，我妹妹小梅现在住在{value}"),
            ],
            remembered: |value| format!("用户的妹妹小梅住在{value}"),
            retold: &[
                |value| format!("我舅舅给小梅写信，寄到了{value}"),
                |value| format!("我昨天看了一本关于{value}的书"),
            ],
            asked: "我妹妹小梅住在哪里？",
            asked_before: "我妹妹小梅以前住在哪里？",
            mistaken: false,
        },
        Fact {
            values: &["绿色", "蓝色", "红色", "紫色", "黄色", "橙色"],
            first: |value| format!("我最喜欢的颜色是{value}"),
            changed: &[
                |_, value| format!("我改主意了，我现在最喜欢的颜色是{value}"),
                |old, value| format!("我最喜欢的颜色不再是{old}了，我最喜欢的颜色是{value}"),
            ],
            remembered: |value| format!("用户最喜欢的颜色是{value}"),
            retold: &[|value| format!("我姐姐还以为我最喜欢的颜色是{value}")],
            asked: "我最喜欢的颜色是什么？",
            asked_before: "我以前最喜欢的颜色是什么？",
            mistaken: false,
        },
        Fact {
            values: &["王芳", "李强", "张伟", "刘洋", "陈静", "赵磊"],
            first: |value| format!("我的老板叫{value}"),
            changed: &[
                |_, value| format!("我换了老板，我的老板现在叫{value}"),
                |old, value| format!("{old}走了，我的老板现在叫{value}"),
            ],
            remembered: |value| format!("用户的老板叫{value}"),
            retold: &[|value| format!("办公室的门上还写着{value}")],
            asked: "我的老板叫什么？",
            asked_before: "我的老板以前叫什么？",
            mistaken: false,
        },
    ],
    chatter: &["今天一直下雨", "这周好长", "又见面了"],
    unrelated: &["我叫小明，我弹钢琴", "我有一个姐姐叫米拉", "我喜欢在河边跑步"],
};
