// All texts of the page in both languages. `{name}` is a placeholder.

import * as chat from "./i18n/chat";
import * as conflicts from "./i18n/conflicts";
import * as documents from "./i18n/documents";
import * as model from "./i18n/model";
import * as memory from "./i18n/memory";
import * as users from "./i18n/users";
import * as insights from "./i18n/insights";
import * as settings from "./i18n/settings";
import * as traces from "./i18n/traces";
import * as onboarding from "./i18n/onboarding";
import * as voice from "./i18n/voice";
import * as proactive from "./i18n/proactive";
import * as imports from "./i18n/imports";

export type Language = "en" | "zh";

const en = {
  ...chat.en,
  ...conflicts.en,
  ...documents.en,
  ...memory.en,
  ...model.en,
  ...users.en,
  ...insights.en,
  ...settings.en,
  ...traces.en,
  ...onboarding.en,
  ...voice.en,
  ...proactive.en,
  ...imports.en,
};
const zh: Messages = {
  ...chat.zh,
  ...conflicts.zh,
  ...documents.zh,
  ...memory.zh,
  ...model.zh,
  ...users.zh,
  ...insights.zh,
  ...settings.zh,
  ...traces.zh,
  ...onboarding.zh,
  ...voice.zh,
  ...proactive.zh,
  ...imports.zh,
};

export type Messages = typeof en;
export type MessageKey = keyof Messages;
/** Messages with a singular form. */
export type PluralKey = { [W in MessageKey]: `${W}One` extends MessageKey ? W : never }[MessageKey];

export const TRANSLATIONS: Record<Language, Messages> = { en, zh };

export function translate(language: Language, word: MessageKey, values: Record<string, string | number> = {}): string {
  return TRANSLATIONS[language][word].replace(/\{(\w+)\}/g, (mark, name: string) => String(values[name] ?? mark));
}

const plurals: Record<Language, Intl.PluralRules> = { en: new Intl.PluralRules("en"), zh: new Intl.PluralRules("zh") };

/** `shown` is the number formatted for the reader. */
export function translateCount(language: Language, word: PluralKey, n: number, shown = String(n)): string {
  const form = plurals[language].select(n) === "one" ? (`${word}One` as MessageKey) : word;
  return translate(language, form, { n: shown });
}

const count = (text: string, pattern: RegExp) => text.match(pattern)?.length ?? 0;

/** The page's language for the browser's preferred languages, in order. */
export function preferredLanguage(wanted: readonly string[]): Language {
  const first = wanted.find((tag) => /^(en|zh)\b/i.test(tag));
  return first && /^zh\b/i.test(first) ? "zh" : "en";
}

/** The `lang` of a text, for its glyphs and its voice; undefined if it is the page's own language. */
export function detectLanguage(text: string): string | undefined {
  if (/[\p{Script=Hiragana}\p{Script=Katakana}]/u.test(text)) return "ja";
  if (/\p{Script=Hangul}/u.test(text)) return "ko";
  const [han, latin] = [count(text, /\p{Script=Han}/gu), count(text, /\p{Script=Latin}+/gu)];
  // A Chinese name in an English sentence does not make the sentence Chinese.
  return han > latin ? "zh-Hans" : undefined;
}
