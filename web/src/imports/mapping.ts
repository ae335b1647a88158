// Assigns speakers of imported files to the user and the persona.

import type { ImportPreview, Mapping } from "./requests";

export type Side = "user" | "persona" | "other";

/** The format's suggestion, which the reader can change. */
export function suggestedSides(preview: ImportPreview): Record<string, Side> {
  return Object.fromEntries(preview.speakers.map((speaker) => [speaker.name, speaker.role as Side]));
}

export interface Choices {
  sides: Record<string, Side>;
  zone: string;
  since: string;
  /** Conversations that are left out. */
  without: ReadonlySet<string>;
}

export function mappingOf(preview: ImportPreview, { sides, zone, since, without }: Choices): Mapping {
  const speakersOn = (side: Side) => preview.speakers.map((speaker) => speaker.name).filter((name) => sides[name] === side);
  // A preview lists at most a thousand speakers; the format determines the roles of the others.
  const listsAll = preview.speaker_count === preview.speakers.length;
  const conversationIds = preview.conversations.map((conversation) => conversation.id).filter((id) => !without.has(id));
  return {
    user: speakersOn("user"),
    persona: speakersOn("persona"),
    use_roles: listsAll ? false : null,
    zone: zone.trim() || null,
    since: since || null,
    conversations: without.size > 0 ? conversationIds : null,
  };
}

/** Conversations to leave out, so that only starred ones are imported. */
export const withoutUnstarred = (preview: ImportPreview): ReadonlySet<string> =>
  new Set(preview.conversations.filter((conversation) => !conversation.starred).map((conversation) => conversation.id));

/** True if a speaker is mapped to the user or the persona. */
export const isMapped = (sides: Record<string, Side>): boolean => Object.values(sides).some((side) => side !== "other");
