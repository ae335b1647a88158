// Changes that saving would make to a persona that is stored already.

import type { MessageKey } from "../i18n";
import { CORE_BLOCKS, type CoreBlock, type PersonaResponse } from "../wire";

export interface Difference {
  word: MessageKey;
  stored: string;
  wanted: string;
}

export type Texts = Record<CoreBlock, string> & { name: string };

const FIELD_LABELS: Record<keyof Texts, MessageKey> = {
  name: "personaName",
  persona: "blockPersona",
  user: "blockUser",
  style: "blockStyle",
};

export const storedTexts = (found: PersonaResponse): Texts => ({
  name: found.display_name,
  persona: found.core_blocks?.persona ?? "",
  user: found.core_blocks?.user ?? "",
  style: found.core_blocks?.style ?? "",
});

/** True if a text of the persona was written. A name alone does not count, because the program sets one. */
export const isWritten = (texts: Texts) => CORE_BLOCKS.some((block) => texts[block].trim() !== "");

export function differencesOf(stored: Texts, wanted: Texts): Difference[] {
  const fields = Object.keys(FIELD_LABELS) as (keyof Texts)[];
  return fields
    .filter((field) => stored[field].trim() !== wanted[field].trim())
    .map((field) => ({ word: FIELD_LABELS[field], stored: stored[field], wanted: wanted[field] }));
}
