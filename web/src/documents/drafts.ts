// Unsaved text: closing a sheet by mistake does not lose it.

import type { DocumentName } from "./types";

interface Draft {
  content: string;
  label: string;
  /** The version that was edited. */
  version: number;
}

const drafts = new Map<string, Draft>();
const draftKey = (personaId: string | null, { kind, filename }: DocumentName) => JSON.stringify([personaId, kind, filename]);

export const draftOf = (personaId: string | null, name: DocumentName): Draft | null =>
  drafts.get(draftKey(personaId, name)) ?? null;

/** Stores a draft until the page is closed; null removes it. */
export function keepDraft(personaId: string | null, name: DocumentName, draft: Draft | null): void {
  if (draft === null) drafts.delete(draftKey(personaId, name));
  else drafts.set(draftKey(personaId, name), draft);
}
