// The terms of a recalled memory's score.

import type { Candidate } from "../wire";
import type { MessageKey } from "../i18n";

export interface ScoreTerm {
  name: string;
  /** Null for an unknown term; then its name is shown. */
  word: MessageKey | null;
  value: number;
  /** The length of its bar, in [0, 1]. */
  share: number;
  /** Whether it is a part of the term above it. */
  part: boolean;
}

const WORDS: Record<string, MessageKey> = {
  recency: "recency",
  relevance: "relevance",
  vector_relevance: "vectorRelevance",
  word_relevance: "wordRelevance",
  impact: "impactTerm",
  relational_bonus: "relationalBonus",
  entity_anchor: "entityAnchor",
};

const PARTS_OF_RELEVANCE = new Set(["vector_relevance", "word_relevance"]);

/** Terms in the order of the formula; a message has parts of its own. */
export function scoreTerms(candidate: Candidate): ScoreTerm[] {
  const all: [string, unknown][] = Object.keys(WORDS).map((name) => [name, candidate[name as keyof Candidate]]);
  for (const [name, value] of Object.entries(candidate.parts ?? {})) {
    if (!all.some(([known, held]) => known === name && typeof held === "number")) all.push([name, value]);
  }
  return all.flatMap(([name, raw]) => {
    if (typeof raw !== "number" || !Number.isFinite(raw)) return [];
    const value = raw;
    const share = Math.min(1, Math.max(0, value));
    return [{ name, word: WORDS[name] ?? null, value, share, part: PARTS_OF_RELEVANCE.has(name) }];
  });
}
