// The five granularities of what was lived.

import type { MessageKey } from "../i18n";

export interface DiaryTier {
  /** Where it stands in the page's address. */
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
