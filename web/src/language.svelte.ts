// The language of the interface: the browser's wish, or what the reader chose.

import { readItem, writeItem } from "./storage";
import { translateCount, translate, preferredLanguage, type PluralKey, type Language, type MessageKey } from "./i18n";

class InterfaceLanguage {
  current: Language = $state(remembered() ?? preferredLanguage(navigator.languages));
  /** For dates: the reader's own regional form where it is this language. */
  locale = $derived(
    navigator.languages.find((tag) => tag.startsWith(this.current)) ?? (this.current === "zh" ? "zh-CN" : "en"),
  );

  t(key: MessageKey, values?: Record<string, string | number>): string {
    return translate(this.current, key, values);
  }

  /** `3 events`, `1 event`: the form that the number asks for. */
  count(word: PluralKey, n: number): string {
    return translateCount(this.current, word, n, this.number(n));
  }

  number(value: number, options?: Intl.NumberFormatOptions): string {
    return new Intl.NumberFormat(this.locale, options).format(value);
  }

  toggle(): void {
    this.choose(this.current === "en" ? "zh" : "en");
  }

  choose(language: Language): void {
    this.current = language;
    writeItem("language", language);
  }
}

function remembered(): Language | null {
  const value = readItem("language");
  return value === "en" || value === "zh" ? value : null;
}

export const language = new InterfaceLanguage();
