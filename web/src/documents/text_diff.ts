// Two texts as one, with what was taken away and what was added.

import { diffLines, diffWordsWithSpace, type ChangeObject } from "diff";

export interface DiffPart {
  text: string;
  change: "same" | "added" | "removed";
}

/** Longer texts are diffText by lines: words would take too long to look at, and to find. */
const BY_WORDS_MAX = 40_000;
const TIMEOUT_MS = 1_000;
/** What is left standing of long stretches that did not change, at each end. */
const CONTEXT = 160;

export function diffText(before: string, after: string, words = new Intl.Segmenter(undefined, { granularity: "word" })): DiffPart[] {
  const short = before.length + after.length <= BY_WORDS_MAX;
  const changes: ChangeObject<string>[] | undefined = short
    ? diffWordsWithSpace(before, after, { intlSegmenter: words, timeout: TIMEOUT_MS })
    : diffLines(before, after, { timeout: TIMEOUT_MS });
  if (changes) return changes.map(({ value, added, removed }) => ({ text: value, change: changeOf(added, removed) }));
  // Nothing in common that could be found in time.
  const whole: DiffPart[] = [
    { text: before, change: "removed" },
    { text: after, change: "added" },
  ];
  return whole.filter(({ text }) => text !== "");
}

function changeOf(added: boolean, removed: boolean): DiffPart["change"] {
  if (added) return "added";
  return removed ? "removed" : "same";
}

/** The pieces with the middle of long unchanged stretches left out. */
export function shortenDiff(pieces: DiffPart[]): DiffPart[] {
  return pieces.map((piece, index) => {
    if (piece.change !== "same" || piece.text.length <= CONTEXT * 3) return piece;
    const head = index === 0 ? "" : piece.text.slice(0, CONTEXT);
    const tail = index === pieces.length - 1 ? "" : piece.text.slice(-CONTEXT);
    return { ...piece, text: `${head}…${tail}` };
  });
}
