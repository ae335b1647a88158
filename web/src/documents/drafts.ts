// Words that were typed and not saved: closing a sheet by mistake does not lose them.

import type { DocumentName } from "./types";

interface Draft {
  content: string;
  label: string;
  /** The version that it began from. */
  version: number;
}

const drafts = new Map<string, Draft>();
const key = (personaId: string | null, { kind, filename }: DocumentName) => JSON.stringify([personaId, kind, filename]);

export const draftOf = (personaId: string | null, name: DocumentName): Draft | null =>
  drafts.get(key(personaId, name)) ?? null;

/** Null forgets it. They last as long as the page. */
export function keepDraft(personaId: string | null, name: DocumentName, draft: Draft | null): void {
  if (draft === null) drafts.delete(key(personaId, name));
  else drafts.set(key(personaId, name), draft);
}
