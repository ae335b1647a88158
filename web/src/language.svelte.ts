// The language of the interface: the browser's wish, or what the reader chose.

import { phrase, preferredLanguage, type Language, type Word } from "./words";

const REMEMBERED_AS = "echovessel.language";

class InterfaceLanguage {
  current: Language = $state(remembered() ?? preferredLanguage(navigator.languages));
  /** For dates: the reader's own regional form where it is this language. */
  locale = $derived(
    navigator.languages.find((tag) => tag.startsWith(this.current)) ?? (this.current === "zh" ? "zh-CN" : "en"),
  );

  say(word: Word, values?: Record<string, string | number>): string {
    return phrase(this.current, word, values);
  }

  toggle(): void {
    this.current = this.current === "en" ? "zh" : "en";
    try {
      localStorage.setItem(REMEMBERED_AS, this.current);
    } catch {
      // Storage may be forbidden; then the choice lasts as long as the page.
    }
  }
}

function remembered(): Language | null {
  try {
    const value = localStorage.getItem(REMEMBERED_AS);
    return value === "en" || value === "zh" ? value : null;
  } catch {
    return null;
  }
}

export const language = new InterfaceLanguage();
