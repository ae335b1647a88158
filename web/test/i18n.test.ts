import * as audit from "../src/i18n/audit";
import { closeTriggerLabel, moodLabel, reasonLabel, tagLabel } from "../src/i18n/vocabulary";
import { expect, test } from "vitest";
import { TRANSLATIONS, detectLanguage, translate, preferredLanguage, type MessageKey } from "../src/i18n";

const marks = (text: string) => (text.match(/\{\w+\}/g) ?? []).sort();
const codes = (text: string) => text.match(/`[^`]+`/g) ?? [];

test("both languages have every message, with the same placeholders and commands", () => {
  const { en, zh } = TRANSLATIONS;
  expect(Object.keys(zh).sort()).toEqual(Object.keys(en).sort());
  for (const word of Object.keys(en) as MessageKey[]) {
    expect(en[word].trim(), word).not.toBe("");
    expect(zh[word].trim(), word).not.toBe("");
    expect(marks(zh[word]), word).toEqual(marks(en[word]));
    expect(codes(zh[word]), word).toEqual(codes(en[word]));
  }
});

test("every Chinese message is written in Chinese", () => {
  const exempt = new Set<MessageKey>(["otherLanguage", "and", "said", "colon", "quote", "vectorsDone"]);
  for (const [word, text] of Object.entries(TRANSLATIONS.zh)) {
    if (exempt.has(word as MessageKey)) continue;
    expect(text, word).toMatch(/\p{Script=Han}/u);
  }
});

test("placeholders are filled in, unknown ones stay visible", () => {
  expect(translate("en", "energy", { n: 6 })).toBe("energy 6/10");
  expect(translate("zh", "writeTo", { name: "Echo" })).toBe("发消息给 Echo");
  expect(translate("en", "energy")).toBe("energy {n}/10");
});

test("the first supported language is used, else English", () => {
  expect(preferredLanguage(["fr", "zh-TW", "en"])).toBe("zh");
  expect(preferredLanguage(["en-GB", "zh"])).toBe("en");
  expect(preferredLanguage(["fr"])).toBe("en");
  expect(preferredLanguage([])).toBe("en");
});

test("the language of a text is detected by its script", () => {
  expect(detectLanguage("我养了只白猫")).toBe("zh-Hans");
  expect(detectLanguage("猫がいる")).toBe("ja");
  expect(detectLanguage("고양이")).toBe("ko");
  expect(detectLanguage("a cat")).toBeUndefined();
  expect(detectLanguage("My friend 林月 opened a café in Shanghai")).toBeUndefined();
  expect(detectLanguage("我拿到 offer 了")).toBe("zh-Hans");
});

test("Chinese messages use full-width punctuation between Chinese characters", () => {
  for (const [key, text] of Object.entries(TRANSLATIONS.zh)) {
    expect(text, key).not.toMatch(/\p{Script=Han}[,:;!?()]|[,:;!?(]\p{Script=Han}/u);
    expect(text, key).not.toMatch(/\p{Script=Han}\.$/u);
  }
});

/** Words that the page's texts avoid: metaphors, archaisms and words of the implementation. */
const AVOIDED =
  /\b(anew|whoever|whatever|somebody|nobody|for ever|stands? (?:in|for|there)|rests? on|hangs? on|goes by|at hand|for want of|meanwhile|mend|take up|taken up|fall silent|went quiet|is there\.|stand-in|door|shut out|told|is no (?!longer))/i;

test("English messages are plain and contemporary", () => {
  for (const [key, text] of Object.entries({ ...TRANSLATIONS.en, ...audit.en })) expect(text, key).not.toMatch(AVOIDED);
  for (const [key, text] of Object.entries(TRANSLATIONS.zh)) expect(text, key).not.toMatch(/人格|钉住|图景|凭据|替身|安静下来/u);
});

test("the audit log has a label for the same requests in both languages", () => {
  expect(Object.keys(audit.zh)).toEqual(Object.keys(audit.en));
});

test("moods, tags, reasons and close triggers are shown in the reader's language", () => {
  expect(moodLabel("zh", "happy")).toBe("开心");
  expect(moodLabel("zh", "warm and curious")).toBe("温暖、好奇");
  expect(moodLabel("en", "温暖")).toBe("warm");
  expect([moodLabel("zh", "heavy-hearted"), moodLabel("en", "心里不好受")]).toEqual(["很难过", "having a hard time"]);
  expect([moodLabel("zh", "neutral"), moodLabel("en", "平静"), moodLabel("en", "")]).toEqual(["平静", "calm", "calm"]);
  expect(moodLabel("zh", "wistfully amused")).toBe("wistfully amused");
  expect([tagLabel("zh", "turning-point"), tagLabel("en", "identity-bearing"), tagLabel("zh", "joy")]).toEqual(["转折点", "who they are", "喜悦"]);
  expect(reasonLabel("zh", "has the same words, is about a name in the text")).toBe("用词相同，与提到的名字有关");
  expect(reasonLabel("zh", "12 better ones were found")).toBe("有 12 条更合适的");
  expect(reasonLabel("zh", "score 0.41 is below 0.55, a share of the best one")).toBe("得分 0.41 低于 0.55（按最高分的比例）");
  expect(reasonLabel("zh", "the words do not stand in the conversation")).toBe("对话中没有这句话");
  expect(reasonLabel("zh", "relevance 0.31 is below 0.4")).toBe("相关度 0.31 低于 0.4");
  expect(reasonLabel("zh", "no quote was given")).toBe("没有给出原话");
  expect(reasonLabel("zh", "a reason of a newer server")).toBe("a reason of a newer server");
  expect([closeTriggerLabel("zh", "idle"), closeTriggerLabel("en", "unknown")]).toEqual(["长时间没有消息后结束", null]);
});
