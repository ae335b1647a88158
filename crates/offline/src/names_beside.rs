//! Chinese names directly after a word for a person or pet, without 叫: 我的猫糯米, 我妹妹小琳, 我同事陈静.
//!
//! Chinese has no capitals, so a name is recognised by its form (小琳, 豆豆, 陈静), as one that pets often have, or for a
//! pet by what follows. In doubt there is no name.

use text::is_han;
use text::lexicon::names;

/// Maximum characters between 我 (my) and a word for a relative or friend that belongs to it: 我最好的朋友.
const OWN_WORD_DISTANCE_MAX: usize = 5;

const NAME_PREFIXES: &str = "小阿老";
const SURNAMES: &str = "王李张刘陈杨赵黄周吴徐孙胡朱林何郭罗梁宋郑谢韩唐冯董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘杜戴夏钟汪田任姜范方石姚谭廖邹熊金陆郝孔崔康毛邱秦史顾侯邵孟龙段雷钱汤尹黎乔贺赖龚";
/// Characters that continue a sentence after a pet's name.
const SENTENCE_CONTINUATIONS: &str = "很太是在也都就又总会要能最特非超真可不没有把被给跟和爱喜今昨前每已正刚从对每一两三得病生死丢走跑吃喝睡咬抓叫";

/// Characters that continue a sentence after any name.
const VERBS_AFTER_NAMES: &str = "搬想问找送带请帮拿做教写打买卖住读学开考回发变成嫁娶离结怀分工上下出进让";

/// The names in a stating clause, each with its position in bytes.
pub(super) fn names_beside(clause: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    for (words, is_pet) in
        [(names::FAMILY.chinese, false), (names::ACQUAINTANCE.chinese, false), (names::PET.chinese, true)]
    {
        for word in words.iter() {
            for (at, _) in clause.match_indices(word) {
                let behind = at + word.len();
                if !is_word_for_users_own(&clause[..at], word) {
                    continue;
                }
                if let Some(name) = name_at(&clause[behind..], is_pet)
                    && found.iter().all(|(place, _)| *place != behind)
                {
                    found.push((behind, name));
                }
            }
        }
    }
    found.sort();
    found
}

fn is_word_for_users_own(before: &str, word: &str) -> bool {
    let near = before.char_indices().rev().nth(OWN_WORD_DISTANCE_MAX - 1).map_or(0, |(at, _)| at);
    word.starts_with(['我', '咱']) || before[near..].contains(['我', '咱'])
}

fn name_at(text: &str, is_pet: bool) -> Option<String> {
    if names::NO_NAMES_BESIDE.begin(text) {
        return None;
    }
    let listed =
        names::PET_NAMES.iter().filter(|name| is_pet && text.starts_with(name)).max_by_key(|name| name.len());
    if let Some(name) = listed {
        return Some(name.to_owned());
    }
    let letters: Vec<char> = text.chars().take_while(|letter| is_han(*letter)).take(4).collect();
    let (&first, &second) = (letters.first()?, letters.get(1)?);
    let short = || Some(format!("{first}{second}"));
    let goes_on = |next: &char| {
        [SENTENCE_CONTINUATIONS, VERBS_AFTER_NAMES, "的说了"].iter().any(|letters| letters.contains(*next))
    };
    let ends = |length: usize| letters.get(length).is_none_or(goes_on);
    if SENTENCE_CONTINUATIONS.contains(second) || "的了着过们".contains(second) {
        return None;
    }
    if NAME_PREFIXES.contains(first) {
        return ends(2).then(short).flatten();
    }
    if first == second {
        return (!SENTENCE_CONTINUATIONS.contains(first) && ends(2)).then(short).flatten();
    }
    // 陈静, 陈小静: a family name, and one or two characters before the sentence ends or continues.
    if is_pet || !SURNAMES.contains(first) {
        return None;
    }
    if ends(2) {
        return short();
    }
    let third = letters.get(2)?;
    ends(3).then(|| format!("{first}{second}{third}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(clause: &str) -> Vec<String> {
        names_beside(clause).into_iter().map(|(_, name)| name).collect()
    }

    #[test]
    fn a_name_behind_a_word_for_someone_is_found() {
        for (clause, name) in [
            ("我的猫糯米很调皮", "糯米"),
            ("我的猫糯米生病了", "糯米"),
            ("我家狗豆豆不吃饭", "豆豆"),
            ("我妹妹小琳在上海读大学", "小琳"),
            ("我弟阿哲今年十岁", "阿哲"),
            ("我同事陈静要结婚了", "陈静"),
            ("我同事郝静要结婚了", "郝静"),
            ("我最好的朋友小雨搬走了", "小雨"),
            ("我和女朋友王小雨在一起了", "王小雨"),
            ("这是我的猫糯米", "糯米"),
        ] {
            assert_eq!(names(clause), [name], "{clause}");
        }
    }

    #[test]
    fn words_after_a_relation_are_no_names() {
        for clause in [
            "我的猫喜欢睡觉",
            "我妹妹怀孕了",
            "我妈妈生病住院了",
            "我弟弟小学三年级",
            "我妈妈老是担心我",
            "我的狗天天掉毛",
            "我爸爸常常出差",
            "我的猫小时候很瘦",
            "我女儿任性得很",
            "我的朋友谢谢你",
            "我老公周末加班",
            "他妹妹小琳来了",
            "我的猫今天不吃饭",
            "我弟弟曾经在北京工作",
            "我妹妹高兴极了",
            "我的狗狗很乖",
            "我妹妹方便的时候会来",
        ] {
            assert_eq!(names(clause), Vec::<String>::new(), "{clause}");
        }
    }
}
