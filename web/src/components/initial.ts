// The letter that stands for a name, and its colour.

export const TINTS = ["event", "thought", "entity", "mood"] as const;

/** The first sign of a name as its reader sees it: an emoji of several parts is one. */
export function initialOf(name: string): string {
  const [first] = new Intl.Segmenter().segment(name.trim());
  return first?.segment.toLocaleUpperCase() ?? "?";
}

/** The same for the same persona, wherever it is shown. */
export function tintOf(id: string): (typeof TINTS)[number] {
  let sum = 0;
  for (const sign of id) sum = (sum * 31 + (sign.codePointAt(0) ?? 0)) >>> 0;
  return TINTS[sum % TINTS.length] ?? "event";
}
