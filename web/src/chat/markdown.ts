// What a reply's markdown means. Only tokens come from here; the page makes elements of them, so that nothing a model
// writes is ever read as HTML.

import { Lexer, type Token } from "marked";

/** Longer than this is shown as it stands: reading it anew with every token would take too long. */
const LENGTH_MAX = 40_000;

export function blocksOf(text: string): Token[] {
  if (text.length > LENGTH_MAX) return [plain(text)];
  try {
    // `breaks`: who writes a new line in a message means one.
    return new Lexer({ gfm: true, breaks: true }).lex(text);
  } catch {
    return [plain(text)];
  }
}

const plain = (text: string): Token => ({ type: "text", raw: text, text });

/** The address of a link that may be followed; null for scripts, data and what is no address. */
export function safeAddress(href: string): string | null {
  try {
    const url = new URL(href);
    return ["https:", "http:", "mailto:"].includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

const ENTITIES: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'", nbsp: "\u00a0" };

/** The few marks that people and models write for characters. */
export function unescaped(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|#39|nbsp);/g, (mark, name: string) => ENTITIES[name] ?? mark);
}
