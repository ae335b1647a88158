//! The word lists of the rules, in Chinese and English.
//!
//! Loss, crisis and hard milestones begin with the strong-emotion keywords of consolidation. Chinese entries match
//! as parts of a text, English ones as phrases at word borders, in lower case.

/// Words or phrases, with bars between them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Words(&'static str);

impl Words {
    pub(super) const fn new(words: &'static str) -> Words {
        Words(words)
    }

    pub(super) const NONE: Words = Words("");
    /// 在, before a place of work.
    pub(super) const ZAI: Words = Words("在");
    /// The user as the subject.
    pub(super) const I: Words = Words("i|i'm|i've|i'll|i'd|im|ive");

    pub(super) fn iter(self) -> impl Iterator<Item = &'static str> {
        self.0.split('|')
    }

    /// True if this word is one of them.
    pub(super) fn holds(self, word: &str) -> bool {
        self.iter().any(|other| other == word)
    }
}

pub(super) const FIRST_PERSON_EN: Words = Words("i|i'm|i've|i'll|i'd|im|ive|my|me|mine|myself|we|our|us");

pub(super) const SUPPOSED_ZH: Words = Words("如果|要是|假如|万一|假设|梦见|梦到|做梦");
pub(super) const SUPPOSED_EN: Words = Words("if|suppose|imagine|i wish|dreamt|dreamed|in my dream");
/// Stories, when nothing in the clause is the user's own.
pub(super) const FICTION_ZH: Words = Words("电影|小说|电视剧|动漫|主角|角色|剧里|书里|游戏里");
pub(super) const FICTION_EN: Words =
    Words("movie|film|novel|tv show|episode|the book|character|in the game|suicide squad");

/// Words for someone. What happens to the family happens to the user.
pub(super) const FAMILY_ZH: Words = Words(
    "女朋友|男朋友|未婚妻|未婚夫|外婆|外公|奶奶|爷爷|姥姥|姥爷|妈妈|媽媽|爸爸|母亲|父亲|爸妈|\
     父母|老婆|老公|妻子|丈夫|媳妇|女儿|女兒|儿子|兒子|孩子|宝宝|哥哥|弟弟|姐姐|妹妹|表哥|表弟|\
     表姐|表妹|叔叔|阿姨|舅舅|姑姑|女友|男友|家人|新娘|新郎|对象|我妈|我媽|我爸|我爹|我娘|我哥|我姐|我弟|我妹|\
     咱妈|咱爸",
);
pub(super) const ACQUAINTANCE_ZH: Words = Words("前任|闺蜜|朋友|同事|同学|室友|邻居|老板|领导|老师|医生");
pub(super) const PET_ZH: Words =
    Words("金毛|柯基|柴犬|泰迪|哈士奇|边牧|布偶|英短|猫咪|小狗|狗狗|兔子|仓鼠|鹦鹉|乌龟|宠物|金鱼|猫|貓|狗");
pub(super) const FAMILY_EN: Words = Words(
    "mom|mum|mother|mommy|dad|father|daddy|parents|grandma|grandmother|grandpa|grandfather|wife|\
     husband|girlfriend|boyfriend|partner|fiance|fiancee|son|daughter|baby|kid|kids|child|\
     children|brother|sister|aunt|uncle|cousin|nephew|niece",
);
pub(super) const ACQUAINTANCE_EN: Words =
    Words("friend|friends|colleague|coworker|boss|roommate|neighbor|neighbour|teacher|doctor|ex");
pub(super) const PET_EN: Words = Words(
    "golden retriever|corgi|husky|poodle|labrador|bird|cat|kitten|dog|puppy|rabbit|hamster|parrot|turtle|goldfish|pet|horse",
);

/// Words that make the named thing an organisation or a place.
pub(super) const ORG_ZH: Words = Words("公司|集团|银行|医院|学校|大学|中学|小学|工作室|乐队|社团|店");
pub(super) const ORG_EN: Words =
    Words("company|startup|firm|school|university|college|hospital|band|club|shop|store");
pub(super) const PLACE_ZH: Words = Words("城市|小镇|村|岛|山|河|湖|公园|国家|地方");
pub(super) const PLACE_EN: Words = Words("city|town|village|island|park|street|country|place|lake");

/// Before a name in Chinese; the longest of those that fit is taken.
pub(super) const NAMED_ZH: Words = Words("名字叫做|名字叫|名字是|名叫|取名叫|取名|起名叫|起名|叫做|叫作|叫");
/// Words after 叫 that are no name.
pub(super) const NO_NAME_ZH: Words = Words(
    "什么|什麼|啥|外卖|车|出租|醒|起|来|不|得|个|着|喊|声|好|你|他|她|它|人|谁|大家|我们|了|一下|一声|服务|医生|妈|爸|我起|我去|我来",
);
/// Words before 叫 that make it a sound or a call.
pub(super) const SOUND_ZH: Words = Words("大|尖|吼|惊|乱|嚎|喊|呼|咆|一直|狂|在|会|老|别|不");
/// Characters at which a Chinese name or place ends.
pub(super) const NAME_ENDS_ZH: Words = Words("的|了|在|是|很|也|都|就|说|跟|着|过|呢|啊|吧|呀|哦|哈|和|与");
pub(super) const PLACE_ENDS_ZH: Words =
    Words("的|了|和|跟|上|工作|住|读|学|做|已经|半|两|三|很|好|这|那|生活|快|都|也");
pub(super) const LIVES_IN_ZH: Words = Words("住在|搬到了|搬到|搬去了|搬去|搬来|来自|家在");
pub(super) const NO_PLACE_ZH: Words =
    Words("一|这|那|家|外|宿舍|学校|公司|朋友|他|她|我|你|新家|新房|新的|老家|别|乡下|哪|父母|爸妈|医院");
pub(super) const LIVES_IN_EN: Words = Words(
    "live in|living in|lives in|lived in|moved to|moving to|move to|i'm from|am from|come from|\
     comes from|born in|grew up in|grew up near",
);
pub(super) const WORKS_AT_EN: Words =
    Words("work at|work for|works at|works for|working at|working for|job at|joined");
/// Words that begin with a capital letter and name nobody.
pub(super) const NO_NAME_EN: Words = Words(
    "i|i'm|i've|i'll|monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|\
     march|april|may|june|july|august|september|october|november|december|christmas|easter|english",
);
/// After "named" or "name is", no name either.
pub(super) const NO_NAME_AFTER_NAMED_EN: Words =
    Words("after|by|it|him|her|them|the|a|an|as|in|on|not|so|my|your|what|that|really|very|hard|important");

/// Death, when said of someone; `*_OF_SOMEONE` are said of many things and need a word for someone.
pub(super) const LOSS_ZH: Words =
    Words("去世|过世|過世|离世|離世|病逝|逝世|葬礼|葬禮|追悼会|安乐死|没抢救过来|没救回来|没救过来|死了");
pub(super) const LOSS_OF_SOMEONE_ZH: Words = Words("走了|没了|沒了|不在了");
pub(super) const LOSS_EN: Words = Words(
    "died|passed away|funeral|has died|passed on|is dead|put to sleep|was killed|got killed|were killed|drowned|overdosed|took his own life|took her own life",
);
/// Words before 死了 that make it an intensifier, not a death.
pub(super) const INTENSIFIED_ZH: Words = Words(
    "累|笑|饿|烦|热|困|气|冷|吓|急|渴|疼|痛|美|爽|丑|闷|馋|晕|忙|羡慕|尴尬|高兴|开心|无聊|讨厌|\
     可爱|好吃|好看|难看|恶心|我|我又|难吃",
);
/// Words after 走了 with which somebody only walks.
pub(super) const WALKED_ZH: Words = Words("一|两|很|好|几|半|过|出|进|来|去|吧|后门|啊|哦");
/// Things that die without grief.
pub(super) const THINGS_ZH: Words = Words("手机|电脑|电池|电|网|车|花|植物|仙人掌|钱|机");
pub(super) const THINGS_EN: Words = Words(
    "phone|battery|laptop|computer|car|engine|wifi|internet|router|tablet|console|plant|plants|\
     conversation|laughing|laughter|inside",
);

/// Wishing not to live.
pub(super) const DESPAIR_ZH: Words =
    Words("不想活|活不下去|自杀|自殺|想死|不如死|死了算了|轻生|结束生命|自残|割腕|活着累|活着没意思");
pub(super) const DESPAIR_EN: Words = Words(
    "suicide|suicidal|kill myself|killing myself|end my life|ending my life|want to die|\
     wanna die|don't want to live|don't want to be alive|hurt myself|self harm|better off dead",
);
/// Words of somebody who can bear no more.
pub(super) const CRISIS_ZH: Words = Words("撑不住|撐不住|崩溃|崩潰|绝望");
pub(super) const CRISIS_EN: Words =
    Words("can't go on|cannot go on|can't take it anymore|breakdown|falling apart|hopeless");
/// Phrases with these words that mean something else.
pub(super) const NOT_DESPAIR_ZH: Words = Words("想死你|想死他|想死她|想死家|想死这");
pub(super) const NOT_DESPAIR_EN: Words = Words("suicide squad");
pub(super) const NOT_CRISIS_ZH: Words = Words("程序|系统|电脑|服务器|软件|网站|浏览器|代码|股市|市场");
pub(super) const NOT_CRISIS_EN: Words = Words(
    "breakdown of|cost breakdown|price breakdown|detailed breakdown|breakdown cover|car|\
     can't go on a|can't go on the|can't go on vacation|can't go on holiday",
);

/// Hard turns of a life.
pub(super) const HARDSHIP_ZH: Words = Words(
    "分手|离婚|離婚|被裁|裁员|失业|失業|失恋|失戀|被开除|被辞退|被解雇|被炒|下岗|丢了工作|没了工作|流产|小产|没保住|早产|难产|破产|确诊|\
     车祸|病危|病重|重病|抢救|进了ICU|进了重症|瘫痪|瘫了|截肢|失明|植物人|失踪|走丢|失散|被捕|被抓|入狱|坐牢|家暴|霸凌|被打了|被抢|\
     被骗光|被甩|出轨|手术失败|复发|被退学|退学|欠债|负债|无家可归|房子烧|家里着火|家里失火",
);
/// Illnesses that change a life; each needs someone who has it.
pub(super) const ILLNESS_ZH: Words = Words(
    "癌|肿瘤|腫瘤|白血病|尿毒症|中风|脑梗|脑溢血|脑出血|心梗|心肌梗|心脏病|老年痴呆|痴呆|阿尔茨海默|帕金森|艾滋|渐冻|肝硬化|肾衰竭",
);
/// Words for having an illness.
pub(super) const HAVING_ILLNESS_ZH: Words =
    Words("得了|得的|患|查出|检查出|诊断|发现|晚期|早期|复发|住院|是|有|长了|犯了|突发|中风|转移|扩散|化疗");
pub(super) const NOT_ILLNESS_ZH: Words = Words(
    "痊愈|治好|战胜|康复|良性|防癌|抗癌药|研究|医院工作|科工作|科上班|中心工作|怕得|担心得|没有癌|排除",
);
pub(super) const ILLNESS_EN: Words = Words(
    "cancer|tumor|tumour|leukemia|leukaemia|lymphoma|dementia|alzheimer's|alzheimers|parkinson's|parkinsons|stroke|heart attack|\
     heart disease|heart failure|kidney failure|multiple sclerosis|als|hiv|cirrhosis|sepsis",
);
/// Words before an illness for having it.
pub(super) const HAVING_ILLNESS_EN: Words = Words(
    "has|have|had|having|got|with|suffered|suffers|battling|fighting|develop|developed|is|terminal|stage",
);
pub(super) const NOT_ILLNESS_EN: Words = Words(
    "cancer free|cancer research|no cancer|about cancer|is a cancer|i'm a cancer|am a cancer|cancer sign|stroke of|breast stroke|beat cancer|survived cancer|\
     cancer ward|cancer patients|cancer center|benign",
);
pub(super) const HARDSHIP_EN: Words = Words(
    "breakup|broke up|break up with|divorce|divorced|got fired|was fired|been fired|were fired|\
     getting fired|fired me|get fired|fired today|fired yesterday|i'm fired|am fired|laid off|lost my job|lost his job|\
     lost her job|miscarriage|bankrupt|dumped me|was diagnosed|got diagnosed|diagnosed with|\
     heartbroken|broke up with|car accident|car crash|had an accident|in an accident|bad accident|terminally ill|in a coma|life support|intensive care|\
     the icu|paralyzed|paralysed|burned down|burnt down|robbed|mugged|assaulted|raped|abused|evicted|homeless|was arrested|got arrested|\
     in prison|in jail|is missing|went missing|gone missing|relapsed|stillborn|lost the baby|lost our baby|lost a baby|lost everything|\
     cheated on me|cheating on me|left me for|walked out on me|filed for bankruptcy|unemployed|got expelled|was expelled|is dying",
);

/// Injuries and operations; each needs someone whom it happened to.
pub(super) const INJURY_ZH: Words = Words(
    "摔断|摔斷|摔伤|摔傷|摔了一跤|骨折|骨裂|受伤|受傷|扭伤|扭傷|脱臼|撞伤|烧伤|烫伤|被咬|脑震荡|断了腿|断了手|断了胳膊|住院|住进医院|送医院|\
     做手术|动手术|要手术|做了手术|动了手术",
);
/// Words beside which [`INJURY_ZH`] does not mean an injury: work at a hospital, leaving one.
pub(super) const NOT_INJURY_ZH: Words = Words("医生|护士|实习|轮岗|科室|出院");
pub(super) const INJURY_EN: Words = Words(
    "in hospital|in the hospital|to hospital|to the hospital|hospitalized|hospitalised|a concussion|fell down the stairs|had a fall|\
     had a bad fall|had surgery|needs surgery|having surgery|got hurt|was hurt|badly hurt|is hurt|got injured|was injured|is injured|was hit by|\
     was bitten|got bitten",
);
/// Verbs that mean an injury when a word of [`BODY_EN`] follows.
pub(super) const INJURES_EN: Words = Words(
    "broke|broken|fractured|sprained|twisted|tore|torn|dislocated|shattered|crushed|burned|burnt|injured",
);
pub(super) const BODY_EN: Words = Words(
    "hip|leg|arm|wrist|ankle|foot|toe|hand|finger|thumb|elbow|shoulder|collarbone|rib|ribs|back|neck|nose|jaw|knee|spine|skull|paw|\
     tail|wing|acl|ligament|meniscus|achilles",
);

pub(super) const NOT_HARDSHIP_EN: Words = Words("fired up|divorce lawyer");

/// Good turns of a life.
pub(super) const MILESTONE_ZH: Words = Words(
    "升职|升職|结婚|結婚|订婚|訂婚|求婚|怀孕|懷孕|考上|录取|錄取|拿到offer|毕业了|康复|痊愈|中奖|\
     中了大奖|获奖|得了冠军|出生了|领证|领了证|怀上|有喜|录用|拿到了offer|拿到offer|收到offer|拿到 offer|拿到了 offer|当爸爸了|当妈妈了|升了职|上岸了|手术成功|手术很成功",
);
pub(super) const BIRTH_ZH: Words = Words(
    "生了个|生了一个|生了女儿|生了儿子|生了宝宝|生了孩子|生了双胞胎|生了二胎|生了对|老婆生了|\
     妻子生了|媳妇生了|姐姐生了|妹妹生了|我生了",
);
pub(super) const NOT_BIRTH_ZH: Words = Words("生了病|生了气|生了一场病|生了个病|生了一个病|生了一肚子");
pub(super) const MILESTONE_EN: Words = Words(
    "promoted|got a promotion|got the promotion|got engaged|we're engaged|are engaged|\
     i'm engaged|am engaged|is engaged|got married|getting married|get married|just married|\
     gave birth|had a baby|having a baby|pregnant|was born|graduated|got accepted|accepted into|\
     got into|got the job|got a new job|won the|won a|cancer free|in remission|proposed to me|became a father|became a mother|\
     became a dad|became a mom|beat cancer|got hired|was hired|job offer|expecting a baby|tied the knot",
);
pub(super) const NOT_MILESTONE_EN: Words = Words(
    "engaged in|engaged with|got into a fight|got into an argument|got into trouble|\
     got into a car|i was born",
);
/// Milestones that one can fail to reach.
pub(super) const ACHIEVEMENT: Words =
    Words("升职|升職|考上|录取|錄取|求婚|中奖|获奖|promoted|accepted|graduated|the job|promotion");
/// Words that undo a milestone anywhere in its clause.
pub(super) const FAILED_ZH: Words = Words("被拒|失败|取消|落榜|泡汤");
pub(super) const FAILED_EN: Words = Words("rejected|failed|cancelled|canceled|called off|turned down|almost");

/// Feelings of an ordinary life.
pub(super) const LOW_ZH: Words = Words(
    "难过|難過|伤心|傷心|焦虑|失眠|睡不着|吵架|压力很大|压力大|生病|住院|骨折|抑郁|孤独|孤单|\
     害怕|受伤|被骂|被骗|委屈|哭了|不开心|不高兴|难受|心碎|失落|沮丧|郁闷|迷茫|压抑|被偷|挂科|没考好|考砸|做手术|动手术|要手术|吵了一架|\
     吵了架|发高烧|想家|绝交|心累|疲惫|无助|内疚|自责",
);
pub(super) const LOW_EN: Words = Words(
    "sad|anxious|insomnia|can't sleep|argued|argument|fight with|stressed|depressed|depression|\
     lonely|scared|afraid|in hospital|in the hospital|to hospital|to the hospital|from the hospital|hospitalized|\
     hospitalised|sick|hurt me|cried|crying|worried|disappointed|not happy|\
     unhappy|miserable|stole my|stolen|lost my wallet|lost my phone|failed my|failed the|homesick|overwhelmed|exhausted|burned out|burnt out|\
     frustrated|upset|surgery|panic attack|bullied|guilty|ashamed|hopeless|devastated|grieving",
);
/// Phrases in which a hospital is a place of work.
pub(super) const NOT_LOW_EN: Words =
    Words("work at|work in|works at|works in|working at|working in|nurse|job|shift|shifts|volunteer");
pub(super) const HIGH_ZH: Words = Words(
    "开心|開心|高兴|高興|幸福|兴奋|感动|骄傲|自豪|加薪|涨工资|涨薪|出院了|考过了|通过了|考试过|面试过|得奖|拿了奖|第一名|脱单|买了房|买房了|病好了|满分|\
     表白成功|和好了",
);
pub(super) const HIGH_EN: Words = Words(
    "happy|excited|proud|grateful|thrilled|overjoyed|delighted|so glad|passed my|passed the exam|passed the test|got a raise|scholarship|\
     bought a house|bought our first|fell in love|in love with|recovered|made the team|first place|over the moon",
);
pub(super) const GOOD_WISHES_EN: Words = Words("happy birthday|happy new year|happy to|happy holidays");

/// Directly before a word, these deny it.
pub(super) const DENIED_ZH: Words = Words(
    "没|沒|没有|沒有|不|别|不是|不会|不想|没想|没想过|没有想|没有想过|还没|并没有|没被|没有被|没能|不算|不太",
);
pub(super) const DENIED_EN: Words =
    Words("not|n't|never|no|didn't|don't|doesn't|wasn't|isn't|aren't|won't|haven't|hasn't|without");

/// A promise by the one who speaks.
pub(super) const PROMISE_ZH: Words = Words(
    "我保证|我答应|我发誓|我会告诉你|我会跟你说|我会提醒|我会记得|下次告诉你|下次再聊|下次聊|\
     下次跟你|改天告诉你|明天告诉你|明天跟你说|回头告诉你|再告诉你|我一定会",
);
pub(super) const PROMISE_EN: Words = Words(
    "i promise|i'll tell you|i will tell you|i'll let you know|i will let you know|\
     i'll keep you posted|i'll update you|i swear|i'll remind you|i will remind you|\
     tell you next time|i'll try to",
);
pub(super) const REFUSAL_ZH: Words = Words("不能|没办法|做不到|不会|无法");
pub(super) const REFUSAL_EN: Words = Words("can't|cannot|won't|unable|not able");
/// Words for the time of a promise.
pub(super) const WHEN_ZH: Words =
    Words("明天|后天|今晚|下周|下个月|下次|周一|周二|周三|周四|周五|周六|周日|点");
pub(super) const WHEN_EN: Words = Words(
    "tomorrow|tonight|next week|next month|next time|on monday|on tuesday|on wednesday|\
     on thursday|on friday|on saturday|on sunday|later today|in the morning",
);

/// Words for plans of the user.
pub(super) const PLAN_ZH: Words = Words(
    "要去|要到|要飞|要回|要搬|要考|要做|要开|要参加|要出发|打算|准备|计划|出差|旅行|旅游|面试|考试|开会|搬家|手术|体检|婚礼|约了",
);
pub(super) const PLAN_EN: Words = Words(
    "i'm going to|i am going to|we're going to|we are going to|i'll go to|i will go to|i'll visit|i will visit|i'll fly|\
     i'll be in|we'll go to|we'll visit|i'm flying|i'm travelling|i'm traveling|i'm visiting|\
     i'm moving|i'm meeting|i'm starting|i'm leaving|i have to go to|i have an interview|i have an exam|\
     i have an appointment|i've got an interview|i have a meeting|my flight",
);

/// Ailments of everyday life.
pub(super) const AILMENT_EN: Words = Words(
    "arthritis|diabetes|asthma|infection|allergy|flu|fever|a cold|limping|limps|vomiting|throwing up|broke her leg|\
     broke his leg|broken leg|injured|ill|the vet said|the doctor said",
);
/// A question for what ails someone.
pub(super) const ASKS_AILMENT_ZH: Words =
    Words("怎么了|怎麼了|什么病|哪里不舒服|出什么事|出了什么事|得了什么|怎么回事|身体怎么样");
pub(super) const ASKS_AILMENT_EN: Words =
    Words("wrong with|the matter with|sick with|ill with|suffering from|diagnosed with|happened to|ails");

/// Times that a question may be about.
pub(super) const TIMES_ZH: Words = Words(
    "昨天|前天|今天|今早|今晚|昨晚|上周|上个月|上星期|这周|这个月|去年|今年|前几天|那天|最近|周末|周一|周二|周三|周四|周五|周六|周日|星期|月|以前|小时候",
);
pub(super) const TIMES_EN: Words = Words(
    "yesterday|today|tonight|last|ago|recently|lately|weekend|monday|tuesday|wednesday|thursday|friday|saturday|sunday|\
     this morning|this week|this month|this year",
);

pub(super) const CORRECTION_ZH: Words =
    Words("我说错了|你记错了|其实不是|实际上不是|不是那样|更正一下|你搞错了");
pub(super) const CORRECTION_EN: Words = Words(
    "that's not what i meant|i misspoke|you got that wrong|actually that's not|you're mistaken|\
     i meant",
);
pub(super) const UNTOLD_ZH: Words =
    Words("从没告诉过|从来没告诉过|没跟别人说过|没有告诉过任何人|第一次跟人说|谁都没说过");
pub(super) const UNTOLD_EN: Words = Words(
    "never told anyone|never told anybody|haven't told anyone|first time i've told|\
     first time i've said",
);

/// Between 我 and its verb.
pub(super) const ADVERBS_ZH: Words = Words(
    "还是|总是|老是|只是|现在|目前|最近|今天|昨天|刚刚|刚|已经|一直|平时|从小|其实|真的|也|还|又|都|就|可|最|很|特别|非常|超级|超|挺|比较",
);
pub(super) const NO_STATEMENT_ZH: Words = Words(
    "有点|有些|有时|有事|有空|有个问题|有一个问题|有问题|有没有|有一点|是说|是不是|是想|是觉得|是真|是在|的天|的妈|的意思|\
     喜欢你|爱你|打算睡|准备睡|准备下线|准备休息",
);
pub(super) const HEALTH_ZH: Words =
    Words("得了病|得了癌|得了流感|得了感冒|得了新冠|得了抑郁|确诊|患有|患了|对牛奶|对花生|对海鲜|对花粉");
pub(super) const ALLERGY_ZH: Words = Words("过敏|過敏");
pub(super) const LIKE_ZH: Words = Words("喜欢|喜歡|爱|愛|热爱|迷上");
pub(super) const DISLIKE_ZH: Words = Words("讨厌|討厭|不喜欢|不爱|恨|受不了|不吃|不喝");
pub(super) const IDENTITY_ZH: Words =
    Words("叫|名叫|的名字|是|住|搬|来自|家在|今年|出生|毕业于|就职|入职|跳槽|的工作|的职业|换工作");
pub(super) const OCCUPIED_ZH: Words = Words("工作|上班|上学|读书|读研|读博|实习|就职");
pub(super) const HAVING_ZH: Words = Words("有|养|養|家有|家养");
pub(super) const DOING_ZH: Words = Words(
    "买了|收到|得到|换了|开始|学会|拿到|打算|准备|计划|决定|报名|收养|领养|参加|完成|去了|去过|做了|学了|画了|得了|赢了",
);

/// Between "I" and its verb.
pub(super) const ADVERBS_EN: Words = Words(
    "just|also|really|recently|still|always|actually|already|currently|now|finally|only|absolutely|\
     totally|kinda|so|do|especially|often|usually|mostly|basically|then",
);
pub(super) const NO_STATEMENT_EN: Words = Words(
    "have to|have no idea|have a question|have been|love it|love that|love you|love this|like it|\
     like that|like you|hate it|hate that|hate you|got it|got you|got to|got that|my god|my bad|\
     my pleasure|my goodness|i'm from here|have a good|have a great|have a nice",
);
pub(super) const LIKE_EN: Words = Words("love|like|enjoy|adore|prefer|am into|am fond of|am a fan of");
pub(super) const DISLIKE_EN: Words =
    Words("hate|dislike|can't stand|don't like|do not like|don't eat|don't drink");
pub(super) const IDENTITY_EN: Words = Words(
    "am a|am an|am the|am from|am vegan|am vegetarian|am married|am single|am divorced|am deaf|\
     am blind|am studying|am working|am living|am moving|am called|am retired|am autistic|live|\
     lived|moved|grew up|was born|work|study|studied|teach|come from|started working|joined|am based",
);
pub(super) const HAVING_EN: Words = Words(
    "have a|have an|have two|have three|have four|have five|have my|have got|have some|have many|\
     have lots|own|keep|had a|had an|had two",
);
/// Words for repeated activities, which describe a way of life.
pub(super) const HABIT_ZH: Words = Words("每天|每周|每晚|每个周|每逢|天天|经常|常常");
pub(super) const HABIT_EN: Words = Words(
    "every day|every morning|every evening|every night|every week|every weekend|each morning|each day|each week",
);
pub(super) const DOING_EN: Words = Words(
    "got|bought|adopted|started|quit|learned|learnt|built|made|found|won|finished|began|plan to|\
     am planning|decided|am learning|am training|am writing|am building|signed up|wrote|broke|\
     went|visited|attended|applied|volunteered|ran|performed|painted|met|am putting together|am creating",
);

/// Names of conditions. A reflection describes and does not label.
pub(super) const LABELS: Words =
    Words("抑郁症|抑郁|焦虑症|双相|创伤后|强迫症|ptsd|depression|depressed|anxiety disorder|bipolar");

/// Words at the start of a message that carry no meaning.
pub(super) const FILLERS_ZH: Words =
    Words("不对|不|没有|对了|其实|嗯|嗯嗯|哦|啊|哈哈|哈哈哈|那个|然后|话说|说起来|你好|嗨|唉|btw");
pub(super) const FILLERS_EN: Words = Words(
    "well|so|oh|hey|hi|hello|btw|also|um|uh|and|but|ah|haha|lol|okay|ok|yeah|yes|actually|honestly|anyway",
);
/// Words whose meaning depends on the listener.
pub(super) const UNSURE_ZH: Words = Words("我们|我們|咱们|说:|说：");
pub(super) const SECOND_PERSON_EN: Words = Words("you|your|yours|yourself|you're|you've|you'll|you'd|u|ur");
pub(super) const UNSURE_EN: Words = Words("we|us|our|ours|ourselves|we're|we've|we'll|we'd|let's");
/// After "I'm" with a capital, and no name.
pub(super) const NO_INTRODUCTION_EN: Words = Words(
    "sorry|fine|okay|ok|good|great|happy|sad|tired|back|here|not|going|just|so|very|really|still|also|feeling|in|at|on|from|the|a|an|\
     sure|well|glad|afraid|done|home|about|trying|looking|having|being|getting|thinking|doing|always|never|too|only|that|your|my|out|off|up",
);
/// Subjects that are not the user.
pub(super) const OTHER_SUBJECT_EN: Words = Words(
    "he|she|it|they|him|her|them|his|their|he's|she's|it's|they're|who|that|which|people|someone|everyone",
);
pub(super) const MODAL_EN: Words =
    Words("can|can't|cannot|could|couldn't|will|won't|would|wouldn't|should|shouldn't|might|must|may");
/// Past forms, which do not change with the person.
pub(super) const PAST_EN: Words = Words(
    "was|wasn't|had|hadn't|did|didn't|got|went|made|lost|met|broke|bought|found|told|felt|left|quit|\
     said|saw|took|won|wrote|began|became|came|gave|grew|kept|knew|ran|thought|taught|built|spent|\
     drove|flew|fell|heard|held|slept|spoke|stood|swam|wore|woke|ate|drank|sang|hurt|cut|put|learnt",
);
/// Words that follow a verb, not a noun.
pub(super) const AFTER_VERB_EN: Words = Words(
    "a|an|the|my|at|in|to|for|with|on|about|from|every|some|two|three|it|him|her|them|that|this|near|alone|together",
);
/// Verbs whose present form is certain.
pub(super) const VERBS_EN: Words = Words(
    "love|like|live|work|go|want|need|feel|think|know|enjoy|hate|play|study|teach|run|drive|own|\
     keep|remember|miss|hope|wish|plan|get|make|take|eat|drink|sleep|cook|bake|read|write|sing|\
     dance|paint|travel|speak|believe|care|dream|prefer|start|try|use|wear|suffer|struggle|dislike|\
     adore|collect|walk|ride|swim|watch|listen|learn|wake|wonder|worry|cry|help|look|see|hear|find|\
     give|come|leave|call|talk|tell|say|understand|train|volunteer|garden|fish|hike|ski|climb|draw|\
     knit|code|grow|raise|buy|sell|promise|swear",
);

/// An explicit change of home or work, and what it replaces.
pub(super) const MOVED_ZH: Words = Words("搬到|搬去|搬来|搬家到|现在住");
pub(super) const MOVED_EN: Words = Words("moved to|now live in|am moving to|i'm moving to");
pub(super) const HOME_ZH: Words = Words("住在|搬到|搬去|搬来|现在住");
pub(super) const HOME_EN: Words = Words("lives in|moved to|is living in|lived in");
pub(super) const NEW_JOB_ZH: Words = Words("跳槽|换工作|新工作|入职");
pub(super) const NEW_JOB_EN: Words = Words("new job|started working at|now work|now work at|switched jobs");
pub(super) const JOB_ZH: Words = Words("工作|上班|就职|入职|跳槽");
pub(super) const JOB_EN: Words = Words("works at|works for|work at|started working at|new job|is working at");

/// Characters that carry no meaning of their own.
pub(super) const FUNCTION_ZH: &str = "我你他她它您们的了吗呢吧啊呀是在有不没就都也还记得什么怎样谁哪几多少会能要想这那个一只养叫名字知道过和跟对说去来很最现今明昨天做上下里次样好事周";
pub(super) const FUNCTION_EN: Words = Words(
    "the|and|you|your|are|was|were|for|with|that|this|what|who|where|when|why|how|which|does|did|\
     have|has|had|remember|know|about|tell|can|could|would|will|not|but|any|some|its|his|her|she|\
     they|them|their|user|said|name|named|called|there|then|than|from|just|like|really|today|\
     still|ever|been|being|our|out|all|i'm|i've|i'll|i'd|you're|we're|they're|don't|doesn't|didn't|can't|isn't|wasn't|won't|haven't",
);

pub(super) const REQUEST_ZH: Words = Words("给我|帮我|请|讲个|讲一|写一|写个|翻译|告诉我|说说");
pub(super) const REQUEST_EN: Words =
    Words("tell me|tell us|write|help me|translate|explain|give me|show me|describe|summarize|remind me");
/// Beginnings of this provider's own lines.
pub(super) const OWN_LINES: Words = Words(
    "我记得：|我记得:|我不太确定。|记下了。|这个我不知道。|I remember:|I'm not sure. I remember|I've noted|I don't know that.|\
     我听见了|听到这个我很难过|真为你高兴|真好！我记下了|我自己不能删掉记忆|I hear you|I'm so sorry. I will|I'm so glad for you!|That's good to hear!|\
     I can't take that out of memory|I'm well, thank you for asking|我挺好的，谢谢你问",
);
pub(super) const REMEMBER_ZH: Words = Words("还记得|记不记得");
