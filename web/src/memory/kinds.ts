import type { Word } from "../words";

const NODE_KINDS: Record<string, Word> = {
  event: "kindEvent",
  thought: "kindThought",
  intention: "kindIntention",
  expectation: "kindExpectation",
};

const ENTITY_KINDS: Record<string, Word> = {
  person: "kindPerson",
  place: "kindPlace",
  org: "kindOrg",
  pet: "kindPet",
};

export const nodeKind = (type: string | null | undefined): Word => NODE_KINDS[type ?? ""] ?? "kindEvent";
export const entityKind = (kind: string | null | undefined): Word => ENTITY_KINDS[kind ?? ""] ?? "kindOther";

/** A true minus, as wide as the plus. */
export function signed(impact: number): string {
  if (impact === 0) return "0";
  return impact > 0 ? `+${impact}` : `−${-impact}`;
}
