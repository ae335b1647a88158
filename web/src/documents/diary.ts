// The five granularities of the diary.

import type { Language, MessageKey } from "../i18n";
import { periodLabel, slugOf } from "./periods";
import type { DocumentName } from "./types";

export interface DiaryTier {
  /** The tab in the page's address. */
  tab: string;
  /** Its name on the wire. */
  kind: string;
  word: MessageKey;
  empty: MessageKey;
}

/** Finest first. */
export const DIARY: readonly [DiaryTier, ...DiaryTier[]] = [
  { tab: "diary", kind: "daily", word: "tierDays", empty: "diaryEmpty" },
  { tab: "weeks", kind: "weekly", word: "tierWeeks", empty: "tierWeeksEmpty" },
  { tab: "months", kind: "monthly", word: "tierMonths", empty: "tierMonthsEmpty" },
  { tab: "years", kind: "yearly", word: "tierYears", empty: "tierYearsEmpty" },
  { tab: "moments", kind: "significant", word: "tierMoments", empty: "tierMomentsEmpty" },
];

/** Tags with the conversation and the instance of a diary entry. They are for programs and hidden from readers. */
const ORIGIN_MARKS = / *\[(?:chat|via):[^\]\n]*\]/g;

export const isDiary = (kind: string) => DIARY.some((tier) => tier.kind === kind);

/** The text of a diary document without tags. */
export const withoutOriginMarks = (text: string) => text.replace(ORIGIN_MARKS, "");

/** Its period, followed by the name of a significant moment; the file's name for a document without a period. */
export function documentTitle({ kind, filename }: DocumentName, language: Language, locale: string): string {
  const period = periodLabel(filename, language, locale) ?? filename;
  return kind === "significant" ? `${slugOf(filename)} · ${period}` : period;
}
