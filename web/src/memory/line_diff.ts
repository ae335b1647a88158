// Compares two texts side by side by lines.

export interface Line {
  text: string;
  /** Only this side has it. */
  own: boolean;
}

/** With more pairs of lines nothing is marked: the comparison would take too long. */
const PAIRS_MAX = 4_000_000;

/** The lines of both texts, marked by their longest common subsequence. */
export function diffLines(left: string, right: string): [Line[], Line[]] {
  const [a, b] = [left.split("\n"), right.split("\n")];
  const sharedLines = (lines: string[]) => lines.map((text) => ({ text, own: false }));
  if (!comparable(a, b)) return [sharedLines(a), sharedLines(b)];
  const table = commonLengths(a, b);
  const [ofA, ofB] = [a.map((text) => ({ text, own: true })), b.map((text) => ({ text, own: true }))];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i] === b[j]) {
      ofA[i]!.own = ofB[j]!.own = false;
      i += 1;
      j += 1;
    } else if (table[i + 1]![j]! >= table[i]![j + 1]!) i += 1;
    else j += 1;
  }
  return [ofA, ofB];
}

/** All lines of both sides: those that only the right side has keep their place. */
export function mergeLines(left: string, right: string): string {
  if (left === "" || right === "") return left + right;
  if (!comparable(left.split("\n"), right.split("\n"))) return `${left}\n${right}`;
  const [a, b] = diffLines(left, right);
  const merged: string[] = [];
  let j = 0;
  for (const line of a) {
    // Common lines come in the same order on both sides.
    if (!line.own) {
      while (j < b.length && b[j]!.own) merged.push(b[j++]!.text);
      j += 1;
    }
    merged.push(line.text);
  }
  merged.push(...b.slice(j).map((rest) => rest.text));
  return merged.join("\n");
}

const comparable = (a: string[], b: string[]) => a.length * b.length <= PAIRS_MAX;

/** At [i][j]: number of common lines from i and j on. */
function commonLengths(a: string[], b: string[]): Uint32Array[] {
  const table = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      table[i]![j] = a[i] === b[j] ? table[i + 1]![j + 1]! + 1 : Math.max(table[i + 1]![j]!, table[i]![j + 1]!);
    }
  }
  return table;
}
