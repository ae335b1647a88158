// Words that the server or a language model writes into data: moods, tags and reasons, in the reader's language.

import type { Language } from "../i18n";

/** Moods and emotion tags, English and Chinese. The first Chinese word of a pair is the one that is shown. */
const FEELINGS: [en: string, ...zh: string[]][] = [
  ["calm", "平静"],
  ["peaceful", "安宁"],
  ["relaxed", "放松"],
  ["happy", "开心", "高兴", "快乐"],
  ["joyful", "喜悦"],
  ["joy", "喜悦"],
  ["happiness", "快乐"],
  ["cheerful", "愉快"],
  ["delighted", "欣喜"],
  ["excited", "兴奋"],
  ["excitement", "兴奋"],
  ["warm", "温暖"],
  ["warmth", "温暖"],
  ["tender", "温柔"],
  ["tenderness", "温柔"],
  ["loving", "充满爱意"],
  ["love", "爱"],
  ["fond", "喜爱"],
  ["fondness", "喜爱"],
  ["affection", "喜爱"],
  ["affectionate", "亲切"],
  ["caring", "关怀"],
  ["grateful", "感激"],
  ["gratitude", "感激"],
  ["proud", "自豪", "骄傲"],
  ["pride", "自豪"],
  ["hopeful", "充满希望"],
  ["hope", "希望"],
  ["optimistic", "乐观"],
  ["curious", "好奇"],
  ["curiosity", "好奇"],
  ["playful", "俏皮"],
  ["amused", "觉得有趣"],
  ["amusement", "有趣"],
  ["content", "满足"],
  ["contentment", "满足"],
  ["satisfied", "满意"],
  ["satisfaction", "满意"],
  ["relieved", "松了口气"],
  ["relief", "松了口气"],
  ["surprised", "惊讶"],
  ["surprise", "惊讶"],
  ["trust", "信任"],
  ["closeness", "亲近"],
  ["nostalgic", "怀念"],
  ["nostalgia", "怀念"],
  ["longing", "思念"],
  ["thoughtful", "若有所思"],
  ["reflective", "沉思"],
  ["attentive", "专注"],
  ["concerned", "关切"],
  ["concern", "关切"],
  ["worried", "担心"],
  ["worry", "担心"],
  ["anxious", "焦虑"],
  ["anxiety", "焦虑"],
  ["nervous", "紧张"],
  ["nervousness", "紧张"],
  ["tense", "紧绷"],
  ["stressed", "有压力"],
  ["stress", "压力"],
  ["afraid", "害怕"],
  ["scared", "害怕"],
  ["fear", "恐惧"],
  ["sad", "难过", "悲伤", "伤心"],
  ["sadness", "难过"],
  ["sorrowful", "悲伤"],
  ["sorrow", "悲伤"],
  ["grief", "哀伤"],
  ["heartbroken", "心碎"],
  ["despair", "绝望"],
  ["lonely", "孤独"],
  ["loneliness", "孤独"],
  ["tired", "疲惫"],
  ["exhausted", "精疲力尽"],
  ["exhaustion", "精疲力尽"],
  ["overwhelm", "不堪重负"],
  ["overwhelmed", "不堪重负"],
  ["frustrated", "沮丧"],
  ["frustration", "沮丧"],
  ["angry", "生气"],
  ["anger", "愤怒"],
  ["annoyed", "恼火"],
  ["annoyance", "恼火"],
  ["disappointed", "失望"],
  ["disappointment", "失望"],
  ["hurt", "受伤"],
  ["ashamed", "羞愧"],
  ["shame", "羞愧"],
  ["embarrassed", "尴尬"],
  ["embarrassment", "尴尬"],
  ["guilty", "内疚"],
  ["guilt", "内疚"],
  ["regret", "后悔"],
  ["jealous", "嫉妒"],
  ["jealousy", "嫉妒"],
  ["confused", "困惑"],
  ["confusion", "困惑"],
  ["hardship", "艰难"],
  ["hospital", "住院"],
  ["loss", "失去"],
  ["vulnerable", "脆弱"],
  ["quiet", "安静"],
  ["focused", "专注"],
  ["energetic", "精力充沛"],
  ["compassionate", "体贴"],
  ["sympathetic", "同情"],
  ["empathetic", "感同身受"],
  ["heavy-hearted", "很难过"],
  ["having a hard time", "心里不好受"],
  ["a little low", "有点低落"],
  ["in good spirits", "心情不错"],
  ["glad", "很高兴"],
  ["overjoyed", "高兴极了"],
];

/** The fixed tags that say what a memory means for the relationship. */
const RELATIONAL_TAGS: [wire: string, en: string, zh: string][] = [
  ["identity-bearing", "who they are", "身份"],
  ["unresolved", "unresolved", "未了之事"],
  ["vulnerability", "openness", "敞开心扉"],
  ["turning-point", "turning point", "转折点"],
  ["correction", "correction", "纠正"],
  ["commitment", "promise", "约定"],
];

/**
 * Why memory was used or left out, and why a memory was rejected. `$1` is what the pattern captured. The texts are in
 * `recall/select.rs`, `recall/passages.rs`, `consolidate/evidence.rs` and `consolidate/assent.rs` of `crates/memory`; the
 * second alternatives are of rows that earlier versions have written.
 */
const REASONS: [pattern: RegExp, zh: string][] = [
  [/^(?:has the same words|shares its words)$/, "用词相同"],
  [/^(?:has a similar meaning|is near in meaning)$/, "意思相近"],
  [/^is about (?:a name in the text|somebody named)$/, "与提到的名字有关"],
  [/^happened at (?:a time in the text|the named time)$/, "发生在提到的时间"],
  [/^(?:has the same evidence as another one|rests on the same evidence)$/, "与另一条依据相同"],
  [/^(?:matches the text|says what is asked for)$/, "正是所问的内容"],
  [/^relevance ([\d.]+) is below ([\d.]+)$/, "相关度 $1 低于 $2"],
  [/^score ([\d.]+) is below ([\d.]+), a share of the best one$/, "得分 $1 低于 $2（按最高分的比例）"],
  [/^is part of a better passage$/, "已包含在更合适的片段中"],
  [/^(\d+) better ones were found$/, "有 $1 条更合适的"],
  [/^(?:repeats|says the same as) a better one$/, "与更合适的一条重复"],
  [/^(?:exceeds|no room in) the token budget$/, "超出词元预算"],
  [/^no quote was given$/, "没有给出原话"],
  [/^the quote is too short to (?:prove|show) anything$/, "原话太短，不能作为依据"],
  [/^(?:the quote was said by someone else|the words are there, but .* said them)$/, "这句话是别人说的"],
  [/^the (?:quote does not appear|words do not stand) in the conversation$/, "对话中没有这句话"],
  [/^the quote is about someone else \((.+)\), .*$/, "原话说的是 $1，描述却写成了用户"],
  [/^the quote only repeats the persona or an old memory.*$/, "原话只是重复角色的话或旧的记忆"],
  [/^a yes or no is not evidence by itself.*$/, "单独一句“是”或“否”不能作为依据"],
  [/^the message says more than yes or no.*$/, "这条消息不只是“是”或“否”，需要引用包含事实的原话"],
  [/^this yes or no answers no question.*$/, "这句“是”或“否”没有对应的问题"],
  [/^the question offered a choice.*$/, "问题是选择题，“是”或“否”没有作出选择"],
  [/^the answer was no, but the description says yes$/, "回答是“否”，描述却写成了“是”"],
  [/^the description differs from the question.*$/, "描述与所回答的问题不一致"],
  [/^an intention needs a commitment.*$/, "承诺需要角色亲口说过的原话"],
  [/^an intention needs a time.*$/, "承诺的原话中没有时间"],
  [/^the persona refused in the same conversation$/, "角色在同一段对话中拒绝了"],
];

const CLOSE_TRIGGERS: Record<string, [en: string, zh: string]> = {
  idle: ["ended after silence", "长时间没有消息后结束"],
  max_length: ["ended at the length limit", "达到长度上限后结束"],
  explicit: ["ended by hand", "手动结束"],
  lifecycle: ["ended when the program stopped", "程序停止时结束"],
  catchup: ["ended at the next start", "下次启动时结束"],
};

const toChinese = new Map(FEELINGS.map(([en, zh = en]) => [en, zh]));
const toEnglish = new Map(FEELINGS.toReversed().flatMap(([en, ...zh]) => zh.map((word) => [word, en] as const)));
const NEUTRAL = new Set(["", "neutral", "平静", "中性", "calm"]);
const BETWEEN_FEELINGS = /\s*(?:[,，、;；/]|\band\b|和|又)\s*/iu;

/** A mood as the server names it; a word that is in no list stays as it is. */
export function moodLabel(language: Language, mood: string): string {
  const written = mood.trim();
  if (NEUTRAL.has(written.toLowerCase())) return language === "zh" ? "平静" : "calm";
  return feelingLabel(language, written);
}

/** An emotion tag or a relational tag. */
export function tagLabel(language: Language, tag: string): string {
  const relational = RELATIONAL_TAGS.find(([wire]) => wire === tag);
  if (relational) return relational[language === "zh" ? 2 : 1];
  return feelingLabel(language, tag);
}

function feelingLabel(language: Language, feeling: string): string {
  const dictionary = language === "zh" ? toChinese : toEnglish;
  const lookUp = (part: string) => dictionary.get(part.toLowerCase());
  const whole = lookUp(feeling);
  if (whole !== undefined) return whole;
  const parts = feeling.split(BETWEEN_FEELINGS).filter(Boolean).map(lookUp);
  const isKnown = parts.length > 1 && parts.every((part) => part !== undefined);
  return isKnown ? parts.join(language === "zh" ? "、" : ", ") : feeling;
}

/** Reasons are English on the wire, several joined by commas. */
export function reasonLabel(language: Language, reason: string): string {
  if (language === "en") return reason;
  const whole = translatedReason(reason);
  if (whole !== null) return whole;
  const parts = reason.split(", ").map(translatedReason);
  return parts.every((part) => part !== null) ? parts.join("，") : reason;
}

function translatedReason(reason: string): string | null {
  const match = REASONS.find(([pattern]) => pattern.test(reason));
  return match ? reason.replace(match[0], match[1]) : null;
}

/** Why a conversation ended; null for a trigger that is unknown here. */
export function closeTriggerLabel(language: Language, trigger: string): string | null {
  const match = CLOSE_TRIGGERS[trigger];
  return match ? match[language === "zh" ? 1 : 0] : null;
}
