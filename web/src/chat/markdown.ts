// Parses a reply's Markdown into tokens. The page creates elements from them, so that model output is never parsed as
// HTML.

import { Lexer, type Token } from "marked";

/** Longer texts are shown as plain text: parsing them again with every token would take too long. */
const LENGTH_MAX = 40_000;

export function blocksOf(text: string): Token[] {
  if (text.length > LENGTH_MAX) return [textToken(text)];
  try {
    // `breaks`: a line break in a message is intended.
    return new Lexer({ gfm: true, breaks: true }).lex(text);
  } catch {
    return [textToken(text)];
  }
}

const textToken = (text: string): Token => ({ type: "text", raw: text, text });

/** A safe link target; null for scripts, data and invalid URLs. */
export function safeAddress(href: string): string | null {
  try {
    const url = new URL(href);
    return ["https:", "http:", "mailto:"].includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

const ENTITIES: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'", nbsp: "\u00a0" };

/** Decodes the few character entities that people and models write. */
export function unescapeEntities(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|#39|nbsp);/g, (mark, name: string) => ENTITIES[name] ?? mark);
}
