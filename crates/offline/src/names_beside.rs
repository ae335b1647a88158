//! Chinese names directly after a word for someone, without 叫: 我的猫糯米, 我妹妹小琳, 我同事陈静.
//!
//! Chinese writes no capitals, so a name must tell itself by its form (小琳, 豆豆, 陈静), by being one that pets often
//! have, or, for a pet, by what follows. When in doubt there is no name.

use super::lexicon::{self, Words};
use text::is_han;

/// Characters before which the word for someone is the user's own, at most this many apart: 我最好的朋友.
const OWN_WITHIN: usize = 5;

const PREFIXES: &str = "小阿老";
const SURNAMES: &str = "王李张刘陈杨赵黄周吴徐孙胡朱林何郭罗梁宋郑谢韩唐冯董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘杜戴夏钟汪田任姜范方石姚谭廖邹熊金陆郝孔崔康毛邱秦史顾侯邵孟龙段雷钱汤尹黎乔贺赖龚";
/// Names that pets often have and that no form gives away.
const PET_NAMES: Words = Words::new(
    "糯米|汤圆|豆包|布丁|可乐|奶茶|旺财|来福|花花|雪球|煤球|年糕|奶糖|馒头|包子|饺子|饭团|丸子|芝麻|花生|土豆|地瓜|红豆|绿豆|芋圆|芋头|\
     团子|麻薯|麻团|豆腐|豆沙|巧克力|拿铁|摩卡|咖啡|奶酪|曲奇|饼干|薯条|栗子|橘子|柚子|桃子|柠檬|西瓜|南瓜|冬瓜|元宝|福宝|招财|大黄|大白|大黑|二黄|\
     富贵|平安|幸运|皮皮虾|泡芙|蛋挞|果冻|棉花糖|大福|黑豆|咪咪|将军|虎子|点点",
);
/// Words behind a word for someone that are no names, nor begin one.
const NO_NAMES: Words = Words::new(
    "小学|小时|小心|小区|小说|小孩|小姐|小朋友|小气|小声|小名|小两|小时候|小产|小儿|小三|小腿|小手|小脸|小狗|小猫|老是|老师|老家|老说|老爱|老想|老在|老公|老婆|老了|老板|老喜|老年|老要|老不|\
     老跟|老叫|老咬|老掉|老跑|老往|老把|老盯|老被|老早|老远|老人|阿姨|常常|天天|刚刚|偷偷|慢慢|渐渐|经常|往往|仅仅|明明|好好|早早|每每|看看|说说|聊聊|玩玩|试试|哈哈|嘻嘻|整整|\
     多多|乖乖地|乖乖的|统统|纷纷|悄悄|默默|轻轻|处处|时时|人人|个个|家家|妈妈|爸爸|爷爷|奶奶|哥哥|姐姐|弟弟|妹妹|叔叔|舅舅|姑姑|宝宝|任何|任务|方便|方面|石头|金融|金毛|黄金|何时|何必|\
     许多|许久|顾不|余下|曾经|曾在|康复|毛病|毛色|毛茸|毛很|毛都|龙年|雷雨|钱包|钱都|钱不|史上|田里|林业|唐突|程序|谢谢|张罗|张口|张嘴|张牙|胡说|胡闹|胡乱|胡子|周一|周二|周三|周四|周五|周六|周日|周末|周围|夏天|夏季|\
     秦腔|汤药|任性|任教|任职|方才|陆续|贺卡|赖床|赖在|赖着|丁克|叶子|石化|成绩|杜绝|彭湃|苏醒|许可|戴眼|戴着|戴口|黄昏|方言|姜汤",
);
/// Characters that continue a sentence after a pet's name.
const GOES_ON: &str = "很太是在也都就又总会要能最特非超真可不没有把被给跟和爱喜今昨前每已正刚从对每一两三得病生死丢走跑吃喝睡咬抓叫";

/// Characters that continue a sentence after any name.
const DOES: &str = "搬想问找送带请帮拿做教写打买卖住读学开考回发变成嫁娶离结怀分工上下出进让";

/// The names in a stating clause, each with its place in bytes.
pub(super) fn names_beside(clause: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    for (words, is_pet) in
        [(lexicon::FAMILY_ZH, false), (lexicon::ACQUAINTANCE_ZH, false), (lexicon::PET_ZH, true)]
    {
        for word in words.iter() {
            for (at, _) in clause.match_indices(word) {
                let behind = at + word.len();
                if !is_the_users(&clause[..at], word) {
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

fn is_the_users(before: &str, word: &str) -> bool {
    let near = before.char_indices().rev().nth(OWN_WITHIN - 1).map_or(0, |(at, _)| at);
    word.starts_with(['我', '咱']) || before[near..].contains(['我', '咱'])
}

fn name_at(text: &str, is_pet: bool) -> Option<String> {
    if NO_NAMES.iter().any(|word| text.starts_with(word)) {
        return None;
    }
    let listed =
        PET_NAMES.iter().filter(|name| is_pet && text.starts_with(name)).max_by_key(|name| name.len());
    if let Some(name) = listed {
        return Some(name.to_owned());
    }
    let letters: Vec<char> = text.chars().take_while(|letter| is_han(*letter)).take(4).collect();
    let (&first, &second) = (letters.first()?, letters.get(1)?);
    let short = || Some(format!("{first}{second}"));
    let goes_on = |next: &char| [GOES_ON, DOES, "的说了"].iter().any(|letters| letters.contains(*next));
    let ends = |length: usize| letters.get(length).is_none_or(goes_on);
    if GOES_ON.contains(second) || "的了着过们".contains(second) {
        return None;
    }
    if PREFIXES.contains(first) {
        return ends(2).then(short).flatten();
    }
    if first == second {
        return (!GOES_ON.contains(first) && ends(2)).then(short).flatten();
    }
    // 陈静, 陈小静: a family name, and one or two characters before the sentence ends or goes on.
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
    fn what_only_follows_is_no_name() {
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
