// The five granularities of what was lived.

import type { Word } from "../words";

export interface DiaryTier {
  /** Where it stands in the page's address. */
  part: string;
  /** Its name on the wire. */
  kind: string;
  word: Word;
  empty: Word;
}

/** Finest first. */
export const DIARY: readonly [DiaryTier, ...DiaryTier[]] = [
  { part: "diary", kind: "daily", word: "tierDays", empty: "diaryEmpty" },
  { part: "weeks", kind: "weekly", word: "tierWeeks", empty: "tierWeeksEmpty" },
  { part: "months", kind: "monthly", word: "tierMonths", empty: "tierMonthsEmpty" },
  { part: "years", kind: "yearly", word: "tierYears", empty: "tierYearsEmpty" },
  { part: "moments", kind: "significant", word: "tierMoments", empty: "tierMomentsEmpty" },
];
