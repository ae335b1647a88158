// The language of the interface: the browser's wish, or what the reader chose.

import { keep, recalled } from "./kept";
import { counted, phrase, preferredLanguage, type Counted, type Language, type Word } from "./words";

class InterfaceLanguage {
  current: Language = $state(remembered() ?? preferredLanguage(navigator.languages));
  /** For dates: the reader's own regional form where it is this language. */
  locale = $derived(
    navigator.languages.find((tag) => tag.startsWith(this.current)) ?? (this.current === "zh" ? "zh-CN" : "en"),
  );

  say(word: Word, values?: Record<string, string | number>): string {
    return phrase(this.current, word, values);
  }

  /** `3 events`, `1 event`: the form that the number asks for. */
  count(word: Counted, n: number): string {
    return counted(this.current, word, n, this.number(n));
  }

  number(value: number, options?: Intl.NumberFormatOptions): string {
    return new Intl.NumberFormat(this.locale, options).format(value);
  }

  toggle(): void {
    this.choose(this.current === "en" ? "zh" : "en");
  }

  choose(language: Language): void {
    this.current = language;
    keep("language", language);
  }
}

function remembered(): Language | null {
  const value = recalled("language");
  return value === "en" || value === "zh" ? value : null;
}

export const language = new InterfaceLanguage();
