// The language of the page: the browser's preference, or the reader's choice.

import { readItem, writeItem } from "./storage";
import { preferredLanguage, translate, translateCount, type Language, type MessageKey, type PluralKey } from "./i18n";
import { closeTriggerLabel, moodLabel, reasonLabel, tagLabel } from "./i18n/vocabulary";

class InterfaceLanguage {
  current: Language = $state(storedLanguage() ?? preferredLanguage(navigator.languages));
  /** The locale of dates and numbers: the reader's regional variant of the language, if the browser reports one. */
  locale = $derived(
    navigator.languages.find((tag) => tag.startsWith(this.current)) ?? (this.current === "zh" ? "zh-CN" : "en"),
  );

  t(key: MessageKey, values?: Record<string, string | number>): string {
    return translate(this.current, key, values);
  }

  /** `3 events`, `1 event`: the plural form of the number. */
  count(key: PluralKey, n: number): string {
    return translateCount(this.current, key, n, this.number(n));
  }

  number(value: number, options?: Intl.NumberFormatOptions): string {
    return new Intl.NumberFormat(this.locale, options).format(value);
  }

  mood(mood: string): string {
    return moodLabel(this.current, mood);
  }

  tag(tag: string): string {
    return tagLabel(this.current, tag);
  }

  reason(reason: string): string {
    return reasonLabel(this.current, reason);
  }

  closeTrigger(trigger: string): string | null {
    return closeTriggerLabel(this.current, trigger);
  }

  toggle(): void {
    this.choose(this.current === "en" ? "zh" : "en");
  }

  choose(language: Language): void {
    this.current = language;
    writeItem("language", language);
  }
}

function storedLanguage(): Language | null {
  const value = readItem("language");
  return value === "en" || value === "zh" ? value : null;
}

export const language = new InterfaceLanguage();
