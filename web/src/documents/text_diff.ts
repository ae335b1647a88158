// The difference between two texts.

import { diffLines, diffWordsWithSpace, type ChangeObject } from "diff";

export interface DiffPart {
  text: string;
  change: "same" | "added" | "removed";
}

/** Longer texts are compared by lines: a comparison by words would take too long. */
const BY_WORDS_MAX = 40_000;
const TIMEOUT_MS = 1_000;
/** Characters to show at each end of a long unchanged part. */
const CONTEXT = 160;

export function diffText(before: string, after: string, words = new Intl.Segmenter(undefined, { granularity: "word" })): DiffPart[] {
  const isShort = before.length + after.length <= BY_WORDS_MAX;
  const changes: ChangeObject<string>[] | undefined = isShort
    ? diffWordsWithSpace(before, after, { intlSegmenter: words, timeout: TIMEOUT_MS })
    : diffLines(before, after, { timeout: TIMEOUT_MS });
  if (changes) return changes.map(({ value, added, removed }) => ({ text: value, change: changeOf(added, removed) }));
  // The comparison timed out: show the texts as completely different.
  const replacedWhole: DiffPart[] = [
    { text: before, change: "removed" },
    { text: after, change: "added" },
  ];
  return replacedWhole.filter(({ text }) => text !== "");
}

function changeOf(added: boolean, removed: boolean): DiffPart["change"] {
  if (added) return "added";
  return removed ? "removed" : "same";
}

/** Leaves out the middle of long unchanged parts. */
export function shortenDiff(pieces: DiffPart[]): DiffPart[] {
  return pieces.map((piece, index) => {
    if (piece.change !== "same" || piece.text.length <= CONTEXT * 3) return piece;
    const head = index === 0 ? "" : piece.text.slice(0, CONTEXT);
    const tail = index === pieces.length - 1 ? "" : piece.text.slice(-CONTEXT);
    return { ...piece, text: `${head}…${tail}` };
  });
}
