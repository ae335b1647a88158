import { expect, test } from "vitest";
import { TRANSLATIONS, detectLanguage, translate, preferredLanguage, type MessageKey } from "../src/i18n";

const marks = (text: string) => (text.match(/\{\w+\}/g) ?? []).sort();
const codes = (text: string) => text.match(/`[^`]+`/g) ?? [];

test("both languages have every word, with the same marks and commands", () => {
  const { en, zh } = TRANSLATIONS;
  expect(Object.keys(zh).sort()).toEqual(Object.keys(en).sort());
  for (const word of Object.keys(en) as MessageKey[]) {
    expect(en[word].trim(), word).not.toBe("");
    expect(zh[word].trim(), word).not.toBe("");
    expect(marks(zh[word]), word).toEqual(marks(en[word]));
    expect(codes(zh[word]), word).toEqual(codes(en[word]));
  }
});

test("Chinese is written in Chinese", () => {
  const latin = new Set<MessageKey>(["otherLanguage"]);
  for (const [word, text] of Object.entries(TRANSLATIONS.zh)) {
    if (latin.has(word as MessageKey) || word === "and" || word === "said") continue;
    expect(text, word).toMatch(/\p{Script=Han}/u);
  }
});

test("marks are filled in, unknown ones stay visible", () => {
  expect(translate("en", "energy", { n: 6 })).toBe("energy 6/10");
  expect(translate("zh", "writeTo", { name: "Echo" })).toBe("写给 Echo");
  expect(translate("en", "energy")).toBe("energy {n}/10");
});

test("the first language we speak wins, else English", () => {
  expect(preferredLanguage(["fr", "zh-TW", "en"])).toBe("zh");
  expect(preferredLanguage(["en-GB", "zh"])).toBe("en");
  expect(preferredLanguage(["fr"])).toBe("en");
  expect(preferredLanguage([])).toBe("en");
});

test("a text tells which script it is in", () => {
  expect(detectLanguage("我养了只白猫")).toBe("zh-Hans");
  expect(detectLanguage("猫がいる")).toBe("ja");
  expect(detectLanguage("고양이")).toBe("ko");
  expect(detectLanguage("a cat")).toBeUndefined();
});
