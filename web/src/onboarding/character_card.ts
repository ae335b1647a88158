// Character cards (V1, V2 and V3), as JSON or inside a PNG image.

export interface CharacterCard {
  name: string;
  description: string;
  personality: string;
  scenario: string;
  firstMessage: string;
  examples: string;
  /** Entries of the card's lorebook, which is not read. */
  bookEntries: number;
}

/** What a card fills in. */
export interface CardBlocks {
  persona: string;
  style: string;
  /** A text was longer than a block may be. */
  shortened: boolean;
}

/** Most characters of a core block. */
const BLOCK_LENGTH_MAX = 5_000;
const PNG_SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
/** V3 first: a V3 card repeats itself as V2 for older programs. */
const CARD_KEYWORDS = ["ccv3", "chara"] as const;

/** Null for text that is not a card. */
export function parseCard(text: string): CharacterCard | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  const card = asObject(value);
  const isTagged = typeof card.spec === "string" && card.spec.startsWith("chara_card");
  const fields = isTagged || "data" in card ? asObject(card.data) : card;
  const isCard = isTagged || ["first_mes", "mes_example", "personality"].some((field) => typeof fields[field] === "string");
  if (!isCard || typeof fields.name !== "string") return null;
  const string = (name: string) => (typeof fields[name] === "string" ? (fields[name] as string).trim() : "");
  const entries = asObject(fields.character_book).entries;
  return {
    name: string("name"),
    description: string("description"),
    personality: string("personality"),
    scenario: string("scenario"),
    firstMessage: string("first_mes"),
    examples: string("mes_example"),
    bookEntries: Array.isArray(entries) ? entries.length : 0,
  };
}

/** Whether a text is JSON or JSON lines: data of a program, from which no character can be drafted. */
export function isData(text: string): boolean {
  const first = text.trim().split("\n", 1)[0]!;
  return [text, first].some((part) => {
    try {
      const value: unknown = JSON.parse(part);
      return typeof value === "object" && value !== null;
    } catch {
      return false;
    }
  });
}

export const isPng = (bytes: Uint8Array) => PNG_SIGNATURE.every((byte, index) => bytes[index] === byte);

/** The card in a PNG's text chunks; null when there is none. */
export function cardInPng(bytes: Uint8Array): CharacterCard | null {
  const texts = textChunks(bytes);
  for (const keyword of CARD_KEYWORDS) {
    const card = parseCard(decodeBase64(texts.get(keyword) ?? "") ?? "");
    if (card) return card;
  }
  return null;
}

/** `labels` name the parts that a card keeps apart; `userName` stands for `{{user}}`. */
export function blocksOf(
  card: CharacterCard,
  labels: { personality: string; scenario: string },
  userName: string,
): CardBlocks {
  const filled = (text: string) =>
    text
      .replace(/\{\{char\}\}|<bot>/gi, card.name)
      .replace(/\{\{user\}\}|<user>/gi, userName)
      .replace(/^\s*<START>\s*$/gim, "")
      .replace(/\n{3,}/g, "\n\n")
      .trim();
  const parts = [
    card.description,
    card.personality && `${labels.personality}${card.personality}`,
    card.scenario && `${labels.scenario}${card.scenario}`,
  ];
  const persona = filled(parts.filter(Boolean).join("\n\n"));
  const style = filled(card.examples || card.firstMessage);
  const clipped = (text: string) => [...text].slice(0, BLOCK_LENGTH_MAX).join("");
  const [shortPersona, shortStyle] = [clipped(persona), clipped(style)];
  return { persona: shortPersona, style: shortStyle, shortened: shortPersona !== persona || shortStyle !== style };
}

/** Uncompressed text chunks (tEXt, iTXt) by keyword. A damaged file gives those before the damage. */
function textChunks(bytes: Uint8Array): Map<string, string> {
  const found = new Map<string, string>();
  if (!isPng(bytes)) return found;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = PNG_SIGNATURE.length;
  while (at + 12 <= bytes.length) {
    const length = view.getUint32(at);
    const type = latin1(bytes.subarray(at + 4, at + 8));
    const data = bytes.subarray(at + 8, at + 8 + length);
    if (data.length < length) break;
    const end = data.indexOf(0);
    if (end > 0 && type === "tEXt") found.set(latin1(data.subarray(0, end)), latin1(data.subarray(end + 1)));
    if (end > 0 && type === "iTXt" && data[end + 1] === 0) {
      const language = data.indexOf(0, end + 3);
      const translated = data.indexOf(0, language + 1);
      if (language > 0 && translated > 0) {
        found.set(latin1(data.subarray(0, end)), latin1(data.subarray(translated + 1)));
      }
    }
    at += 12 + length;
  }
  return found;
}

function decodeBase64(text: string): string | null {
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(text.trim()), (sign) => sign.charCodeAt(0)));
  } catch {
    return null;
  }
}

const latin1 = (bytes: Uint8Array) => new TextDecoder("latin1").decode(bytes);

function asObject(value: unknown): Record<string, unknown> {
  return value !== null && typeof value === "object" && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}
