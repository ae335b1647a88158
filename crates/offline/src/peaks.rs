//! Emotional peaks, with their impact.
//!
//! The impact is signed, on the contract's scale: −10 is catastrophic, −7 a severe turn, −4 a meaningful stress, +4 a
//! meaningful joy, +7 a major milestone.

use super::sentences::Clause;
use text::lexicon::{WordList, life, names, speech, verbs};

/// The most important statement of a clause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Peak {
    pub(super) impact: i32,
    pub(super) emotion: &'static str,
    /// True if the user is unusually open or exposed here.
    pub(super) vulnerable: bool,
}

impl Peak {
    const fn new(impact: i32, emotion: &'static str) -> Peak {
        Peak { impact, emotion, vulnerable: false }
    }

    /// True if it may be a cry for help, which is answered however it is worded.
    pub(super) fn cries_for_help(&self) -> bool {
        matches!(self.emotion, "despair" | "overwhelm")
    }

    const fn vulnerable(self) -> Peak {
        Peak { vulnerable: true, ..self }
    }
}

/// The statement of the clause with the highest |impact|; of two equal ones the sad one. `names` are people and pets
/// known from this conversation.
pub(super) fn heaviest_peak(clause: &Clause<'_>, names: &[&str]) -> Option<Peak> {
    if clause.fiction {
        return None;
    }
    if let Some(despair) = despair_peak(clause) {
        // A question or a hypothetical sentence may be a cry for help.
        let voiced = if clause.is_statement() { despair.impact } else { despair.impact.max(-8) };
        return Some(Peak { impact: voiced, ..despair });
    }
    if !clause.is_statement() {
        return None;
    }
    [
        crisis_peak(clause),
        loss_peak(clause, names),
        hardship_peak(clause, names),
        injury_peak(clause, names),
        milestone(clause),
        secret_peak(clause),
        feeling_peak(clause),
    ]
    .into_iter()
    .flatten()
    .max_by_key(|peak| (peak.impact.abs(), peak.impact < 0))
}

fn despair_peak(clause: &Clause<'_>) -> Option<Peak> {
    let hits = find_words(clause, life::DESPAIR);
    let other = clause.says_any(life::NOT_DESPAIR);
    if hits.is_empty() || other {
        return None;
    }
    // Even if it is denied, the user was thinking about it.
    let denied = hits.iter().all(|hit| hit.is_denied());
    Some(Peak::new(if denied { -4 } else { -10 }, "despair").vulnerable())
}

fn crisis_peak(clause: &Clause<'_>) -> Option<Peak> {
    let other = clause.says_any(life::NOT_CRISIS);
    let hit = is_said_undenied(clause, life::CRISIS);
    (hit && !other).then(|| Peak::new(-9, "overwhelm").vulnerable())
}

fn loss_peak(clause: &Clause<'_>, names: &[&str]) -> Option<Peak> {
    let named = names.iter().any(|name| clause.text.contains(name));
    let close = named || clause.says_any(names::FAMILY) || clause.says_any(names::PET);
    let acquaintance = clause.says_any(names::ACQUAINTANCE);
    let dead = find_words(clause, life::LOSS).into_iter().any(|hit| {
        let intensified = hit.phrase == "死了"
            && (life::INTENSIFIED.chinese.is_end_of(hit.before)
                || hit.after.starts_with(['我', '心'])
                || hit.before.trim().is_empty());
        !hit.is_denied() && !intensified && !hit.is_about_thing()
    });
    let gone = find_words(clause, life::LOSS_OF_SOMEONE).into_iter().any(|hit| {
        let walked = life::WALKED.chinese.begin(hit.after);
        !hit.is_denied()
            && !walked
            && !hit.is_about_thing()
            && (close || (acquaintance && hit.phrase != "走了"))
    });
    let lost = ["lost my ", "lost our "].iter().any(|verb| {
        clause.said.spaced_words().split_once(verb).is_some_and(|(_, after)| {
            let next: Vec<&str> = after.split_whitespace().take(2).collect();
            next.iter().any(|word| is_someone_en(word))
        })
    });
    (dead || gone || lost).then_some(Peak::new(-9, "grief"))
}

fn hardship_peak(clause: &Clause<'_>, names: &[&str]) -> Option<Peak> {
    let other = life::NOT_HARDSHIP.english.occurs_in_words(clause.said.spaced_words());
    let hard = !other && is_said_undenied(clause, life::HARDSHIP);
    (hard || is_grave_illness(clause, names)).then(|| Peak::new(impact_for_user(clause, -7), "hardship"))
}

/// An accident or an operation of a relative or friend.
fn injury_peak(clause: &Clause<'_>, names: &[&str]) -> Option<Peak> {
    let is_work = life::NOT_INJURY.chinese.occur_in(clause.text)
        || life::NOT_LOW.english.occurs_in_words(clause.said.spaced_words());
    let is_hurt = is_said_undenied(clause, life::INJURY) || injures_body_part(clause.said.spaced_words());
    (is_hurt && !is_work && is_about_someone(clause, names)).then(|| Peak::new(-4, "worry"))
}

/// True for "broke her hip", "fractured two ribs", "has a broken wrist".
fn injures_body_part(words: &str) -> bool {
    const WORDS_BETWEEN_MAX: usize = 3;
    let words: Vec<&str> = words.split_whitespace().collect();
    words.iter().enumerate().any(|(place, word)| {
        let mut before = words[..place].iter().rev().take(3);
        let is_denied = before.any(|word| speech::DENIED.english.contains(word) || word.ends_with("n't"));
        // The back of a chair and the foot of a lamp are not parts of a body.
        let is_body = |at: usize| {
            words.get(at).is_some_and(|word| life::BODY.english.contains(word))
                && words.get(at + 1) != Some(&"of")
        };
        let is_of_body = (place + 1..=place + WORDS_BETWEEN_MAX).any(is_body);
        life::INJURES.english.contains(word) && !is_denied && is_of_body
    })
}

/// True for a grave illness that somebody has, rather than a mere mention of the word.
fn is_grave_illness(clause: &Clause<'_>, names: &[&str]) -> bool {
    if clause.says_any(life::NOT_ILLNESS) {
        return false;
    }
    let has_it = |hit: &WordOccurrence<'_>| {
        if hit.chinese {
            return life::HAVING_ILLNESS.chinese.occur_in(clause.text);
        }
        let mut before = hit.before.split_whitespace().rev().take(4);
        before.any(|word| life::HAVING_ILLNESS.english.contains(word) || word.ends_with("'s"))
    };
    let hits = find_words(clause, life::ILLNESS);
    is_about_someone(clause, names) && hits.iter().any(|hit| !hit.is_denied() && has_it(hit))
}

fn is_about_someone(clause: &Clause<'_>, names: &[&str]) -> bool {
    names.iter().any(|name| clause.text.contains(name))
        || [names::FAMILY, names::ACQUAINTANCE, names::PET].into_iter().any(|words| clause.says_any(words))
        || clause.text.contains(['我', '他', '她', '它'])
        || speech::FIRST_PERSON.english.occurs_in_words(clause.said.spaced_words())
        || verbs::OTHER_SUBJECT.english.occurs_in_words(clause.said.spaced_words())
}

fn milestone(clause: &Clause<'_>) -> Option<Peak> {
    let born = life::BIRTH.chinese.occur_in(clause.text) && !life::NOT_BIRTH.chinese.occur_in(clause.text);
    let other = life::NOT_MILESTONE.english.occurs_in_words(clause.said.spaced_words());
    let hits = find_words(clause, life::MILESTONE);
    let failed = clause.says_any(life::FAILED);
    let missed =
        |hit: &WordOccurrence<'_>| (failed || hit.is_denied()) && life::ACHIEVEMENT.occur_in(hit.phrase);
    if hits.iter().any(missed) {
        return Some(Peak::new(impact_for_user(clause, -4), "disappointment"));
    }
    let reached = born || (!other && hits.iter().any(|hit| !hit.is_denied()));
    (reached && !failed).then(|| Peak::new(impact_for_user(clause, 7), "joy"))
}

fn secret_peak(clause: &Clause<'_>) -> Option<Peak> {
    clause.says_any(speech::UNTOLD).then_some(Peak::new(-2, "trust").vulnerable())
}

/// A feeling; it counts if it is the user's own.
fn feeling_peak(clause: &Clause<'_>) -> Option<Peak> {
    let others = clause.text.contains(['你', '他', '她', '祝']) && !clause.text.contains('我');
    let first_person = speech::FIRST_PERSON.english.occurs_in_words(clause.said.spaced_words());
    let wish = life::GOOD_WISHES.english.occurs_in_words(clause.said.spaced_words());
    let at_work = life::NOT_LOW.english.occurs_in_words(clause.said.spaced_words());
    let own = |hit: &WordOccurrence<'_>| {
        let patient = !(at_work && hit.phrase.contains("hospital"));
        let is_work = hit.phrase == "住院" && life::NOT_INJURY.chinese.occur_in(clause.text);
        (if hit.chinese { !others && !is_work } else { first_person && !wish && patient }) && !hit.is_denied()
    };
    if find_words(clause, life::LOW).iter().any(own) {
        return Some(Peak::new(-4, "sadness"));
    }
    find_words(clause, life::HIGH).iter().any(own).then_some(Peak::new(4, "joy"))
}

/// The impact for the user: reduced if it happened to an acquaintance.
fn impact_for_user(clause: &Clause<'_>, impact: i32) -> i32 {
    let acquaintance = clause.says_any(names::ACQUAINTANCE) && !clause.says_any(names::FAMILY);
    if acquaintance && impact.abs() > 4 { impact.signum() * 4 } else { impact }
}

pub(super) fn is_someone_en(word: &str) -> bool {
    [names::FAMILY.english, names::ACQUAINTANCE.english, names::PET.english]
        .iter()
        .any(|words| words.contains(word))
}

/// True if the clause contains one of the words without a negation.
fn is_said_undenied(clause: &Clause<'_>, words: WordList) -> bool {
    find_words(clause, words).iter().any(|hit| !hit.is_denied())
}

/// One occurrence of a listed word.
struct WordOccurrence<'a> {
    phrase: &'static str,
    before: &'a str,
    after: &'a str,
    chinese: bool,
}

impl WordOccurrence<'_> {
    /// True if a negation precedes it directly (in English, among the three words before it).
    fn is_denied(&self) -> bool {
        if self.chinese {
            return speech::DENIED.chinese.is_end_of(self.before);
        }
        let mut before = self.before.split_whitespace().rev().take(3);
        before.any(|word| speech::DENIED.english.contains(word) || word.ends_with("n't"))
    }

    /// True if it is said of a thing, as the word beside it shows, which is not mourned.
    fn is_about_thing(&self) -> bool {
        if self.chinese {
            let subject = self.before.trim_end_matches(['又', '都', '也', '刚', '全', '快', ' ']);
            return life::THINGS.chinese.is_end_of(subject);
        }
        let before = self.before.split_whitespace().rev().take(2);
        before.chain(self.after.split_whitespace().take(1)).any(|word| life::THINGS.english.contains(word))
    }
}

fn find_words<'a>(clause: &'a Clause<'_>, words: WordList) -> Vec<WordOccurrence<'a>> {
    let mut found = Vec::new();
    for phrase in words.chinese.iter() {
        if let Some((before, after)) = clause.text.split_once(phrase) {
            found.push(WordOccurrence { phrase, before, after, chinese: true });
        }
    }
    for phrase in words.english.iter() {
        if let Some((before, after)) = clause.said.spaced_words().split_once(&format!(" {phrase} ")) {
            found.push(WordOccurrence { phrase, before, after, chinese: false });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::sentences::split_clauses;
    use super::*;

    fn heaviest_impact(text: &str) -> i32 {
        split_clauses(text)
            .iter()
            .filter_map(|clause| heaviest_peak(clause, &["小黑", "Luna"]))
            .map(|peak| peak.impact)
            .max_by_key(|impact| impact.abs())
            .unwrap_or(0)
    }

    fn check(cases: &[(&str, i32)]) {
        for (text, expected) in cases {
            assert_eq!(heaviest_impact(text), *expected, "{text}");
        }
    }

    #[test]
    fn loss_is_never_missed() {
        check(&[
            ("我妈妈去世了", -9),
            ("我奶奶昨天走了。", -9),
            ("外公没了", -9),
            ("小黑死了", -9),
            ("昨天是我爸的葬礼", -9),
            ("他上个月离世了", -9),
            ("我妈去世了,你知道吗?", -9),
            ("My mom passed away last night.", -9),
            ("Luna died.", -9),
            ("I was at my grandfather's funeral today", -9),
            ("I lost my best friend last year", -9),
        ]);
    }

    #[test]
    fn figures_of_speech_are_no_loss() {
        check(&[
            ("我先走了,拜拜", 0),
            ("我们走了很久", 0),
            ("他走了过来", 0),
            ("老师走了以后大家都笑了", 0),
            ("累死了", 0),
            ("笑死我了", 0),
            ("我的手机死了", 0),
            ("钱没了", 0),
            ("他没死", 0),
            ("我妈妈没有去世", 0),
            ("My phone died.", 0),
            ("I almost died laughing", 0),
            ("I lost my keys", 0),
            ("My dad didn't die", 0),
            ("电影里的主角死了", 0),
            ("In the movie the hero died", 0),
            ("你的猫死了吗?", 0),
        ]);
    }

    #[test]
    fn crisis_is_never_dropped() {
        check(&[
            ("我撑不住了", -9),
            ("我真的要崩溃了", -9),
            ("我不想活了", -10),
            ("我活不下去了", -10),
            ("我想过自杀", -10),
            ("你觉得活着累吗?", -8),
            ("如果我自杀了会怎样", -8),
            ("我没有想自杀", -4),
            ("I can't go on like this", -9),
            ("I had a breakdown at work", -9),
            ("I've been thinking about suicide", -10),
            ("I don't want to live anymore", -10),
            ("I'm not suicidal", -4),
        ]);
    }

    #[test]
    fn figures_of_speech_are_no_crisis() {
        check(&[
            ("程序又崩溃了", 0),
            ("想死你了", 0),
            ("Here is the breakdown of the costs", 0),
            ("I can't go on vacation this year", 0),
            ("I watched Suicide Squad", 0),
        ]);
    }

    #[test]
    fn milestones_have_the_right_sign() {
        check(&[
            ("我分手了", -7),
            ("我和男朋友分手了", -7),
            ("我们离婚了", -7),
            ("我被裁了", -7),
            ("我同事被裁了", -4),
            ("I got fired today", -7),
            ("We're getting a divorce", -7),
            ("It was a bad breakup", -7),
            ("我升职了!", 7),
            ("我们要结婚了", 7),
            ("我订婚了", 7),
            ("我老婆生了个女儿", 7),
            ("我考上了研究生", 7),
            ("I got promoted!", 7),
            ("btw, I got engaged", 7),
            ("We got married on Sunday", 7),
            ("My sister had a baby", 7),
            ("My friend got promoted", 4),
        ]);
    }

    #[test]
    fn injuries_of_relatives_are_recognised() {
        check(&[
            ("My mother broke her hip yesterday.", -4),
            ("my dad fractured two ribs", -4),
            ("I sprained my ankle", -4),
            ("Luna has a broken paw", -4),
            ("my brother is in the hospital", -4),
            ("My grandma had a bad fall", -4),
            ("我妈妈昨天摔断了髋骨", -4),
            ("小黑被咬了", -4),
            ("我爸爸住院了", -4),
            ("我昨天摔了一跤", -4),
            ("I broke my phone", 0),
            ("my lamp is broken", 0),
            ("She broke the back of the chair", 0),
            ("I didn't break my arm", 0),
            ("My mother works in the hospital", 0),
            ("我妈妈在住院部当护士", 0),
            ("我妈妈没有住院", 0),
            ("My cat burned the back of the sofa", 0),
        ]);
    }

    #[test]
    fn illness_accidents_and_small_joys_are_heard() {
        check(&[
            ("My mother has cancer.", -7),
            ("My dad has stage four lung cancer", -7),
            ("my grandma had a stroke", -7),
            ("My sister was in an accident", -7),
            ("我妈妈得了癌症。", -7),
            ("我爸查出肺癌晚期", -7),
            ("我外公中风了", -7),
            ("我弟弟出了车祸", -7),
            ("小黑走丢了", -7),
            ("My cat was put to sleep", -9),
            ("我奶奶没抢救过来", -9),
            ("I passed my driving test!", 4),
            ("我驾照考过了", 4),
            ("我们今天领证了", 7),
            ("I read a book about cancer", 0),
            ("I work in cancer research", 0),
            ("I'm a Cancer", 0),
            ("我在肿瘤医院工作", 0),
            ("这部电影讲癌症", 0),
            ("医生说不是癌", 0),
            ("What a stroke of luck", 0),
        ]);
    }

    #[test]
    fn a_milestone_denied_or_failed_is_none_or_a_disappointment() {
        check(&[
            ("我没离婚", 0),
            ("我不想结婚", 0),
            ("我没考上", -4),
            ("求婚被拒了", -4),
            ("婚礼取消了,没结婚", 0),
            ("昨天发生了很多事", 0),
            ("我生了病", 0),
            ("I didn't get fired", 0),
            ("I wasn't promoted", -4),
            ("She is engaged in the project", 0),
            ("I'm fired up for the game", 0),
            ("I got fired for one dead line", -7),
        ]);
    }

    #[test]
    fn feelings_count_when_they_are_the_users_own() {
        check(&[
            ("我最近很焦虑", -4),
            ("今天很开心", 4),
            ("我不开心", -4),
            ("祝你开心", 0),
            ("I'm so stressed", -4),
            ("I feel happy today", 4),
            ("I'm not happy", -4),
            ("I work at the children's hospital", 0),
            ("I'm in the hospital again", -4),
            ("Happy birthday", 0),
            ("我从来没告诉过别人这件事", -2),
        ]);
    }
}
