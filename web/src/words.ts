// Every word of the interface, in both languages. `{name}` marks what is filled in.

import * as chat from "./words/chat";
import * as conflicts from "./words/conflicts";
import * as documents from "./words/documents";
import * as memory from "./words/memory";
import * as people from "./words/people";
import * as pictures from "./words/pictures";
import * as settings from "./words/settings";
import * as traces from "./words/traces";
import * as welcome from "./words/welcome";

export type Language = "en" | "zh";

const en = {
  ...chat.en,
  ...conflicts.en,
  ...documents.en,
  ...memory.en,
  ...people.en,
  ...pictures.en,
  ...settings.en,
  ...traces.en,
  ...welcome.en,
};
const zh: Words = {
  ...chat.zh,
  ...conflicts.zh,
  ...documents.zh,
  ...memory.zh,
  ...people.zh,
  ...pictures.zh,
  ...settings.zh,
  ...traces.zh,
  ...welcome.zh,
};

export type Words = typeof en;
export type Word = keyof Words;
/** Words with a form of their own for one. */
export type Counted = { [W in Word]: `${W}One` extends Word ? W : never }[Word];

export const DICTIONARY: Record<Language, Words> = { en, zh };

export function phrase(language: Language, word: Word, values: Record<string, string | number> = {}): string {
  return DICTIONARY[language][word].replace(/\{(\w+)\}/g, (mark, name: string) => String(values[name] ?? mark));
}

const plurals: Record<Language, Intl.PluralRules> = { en: new Intl.PluralRules("en"), zh: new Intl.PluralRules("zh") };

/** `shown` is the number as the reader writes it. */
export function counted(language: Language, word: Counted, n: number, shown = String(n)): string {
  const form = plurals[language].select(n) === "one" ? (`${word}One` as Word) : word;
  return phrase(language, form, { n: shown });
}

/** The interface language of someone whose browser asks for these, in order. */
export function preferredLanguage(wanted: readonly string[]): Language {
  const first = wanted.find((tag) => /^(en|zh)\b/i.test(tag));
  return first && /^zh\b/i.test(first) ? "zh" : "en";
}

/** The `lang` of a text, so that its glyphs and its voice are right; undefined = the page's own. */
export function languageOf(text: string): string | undefined {
  if (/[\p{Script=Hiragana}\p{Script=Katakana}]/u.test(text)) return "ja";
  if (/\p{Script=Hangul}/u.test(text)) return "ko";
  if (/\p{Script=Han}/u.test(text)) return "zh-Hans";
  return undefined;
}
