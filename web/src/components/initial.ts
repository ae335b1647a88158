// The initial that is drawn in place of a picture, and its colour.

export const TINTS = ["event", "thought", "entity", "mood"] as const;

/** The first grapheme of a name: an emoji of several code points counts as one. */
export function initialOf(name: string): string {
  const [first] = new Intl.Segmenter().segment(name.trim());
  return first?.segment.toLocaleUpperCase() ?? "?";
}

/** The same colour for the same persona everywhere. */
export function tintOf(id: string): (typeof TINTS)[number] {
  let sum = 0;
  for (const sign of id) sum = (sum * 31 + (sign.codePointAt(0) ?? 0)) >>> 0;
  return TINTS[sum % TINTS.length] ?? "event";
}
