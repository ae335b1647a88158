import type { MessageKey } from "../i18n";

const NODE_KINDS: Record<string, MessageKey> = {
  event: "kindEvent",
  thought: "kindThought",
  intention: "kindIntention",
  expectation: "kindExpectation",
};

const ENTITY_KINDS: Record<string, MessageKey> = {
  person: "kindPerson",
  place: "kindPlace",
  org: "kindOrg",
  pet: "kindPet",
};

export const nodeLabel = (type: string | null | undefined): MessageKey => NODE_KINDS[type ?? ""] ?? "kindEvent";
export const entityLabel = (kind: string | null | undefined): MessageKey => ENTITY_KINDS[kind ?? ""] ?? "kindOther";

/** With a real minus sign, as wide as the plus. */
export function formatImpact(impact: number): string {
  if (impact === 0) return "0";
  return impact > 0 ? `+${impact}` : `−${-impact}`;
}
