// The terms of a recalled memory's score.

import type { Candidate } from "../wire";
import type { MessageKey } from "../i18n";

export interface ScoreTerm {
  name: string;
  word: MessageKey;
  value: number;
  /** The length of its bar, in [0, 1]. */
  share: number;
  /** True if it is a part of the term above it. */
  part: boolean;
}

const TERM_LABELS: Record<string, MessageKey> = {
  recency: "recency",
  relevance: "relevance",
  vector_relevance: "vectorRelevance",
  word_relevance: "wordRelevance",
  impact: "impactTerm",
  relational_bonus: "relationalBonus",
  entity_anchor: "entityAnchor",
  words: "wordRelevance",
  meaning: "vectorRelevance",
  topic_words: "topicWords",
  topic_meaning: "topicMeaning",
  speaker: "speakerTerm",
  time: "timeTerm",
  tells_when: "tellsWhen",
  asks: "asksTerm",
  answers: "answersTerm",
};

const PARTS_OF_RELEVANCE = new Set(["vector_relevance", "word_relevance"]);

/** Terms in the order of the formula; messages have other terms. A term without a label is only in the trace. */
function valuesOf(candidate: Candidate): [string, number][] {
  const parts = candidate.parts ?? {};
  return Object.keys(TERM_LABELS).flatMap((name): [string, number][] => {
    const value = candidate[name as keyof Candidate] ?? parts[name];
    return typeof value === "number" && Number.isFinite(value) ? [[name, value]] : [];
  });
}

/** The value that fills a bar: the largest term of these candidates, at least 1, so that their bars can be compared. */
export function commonScale(candidates: readonly Candidate[]): number {
  return Math.max(1, ...candidates.flatMap(valuesOf).map(([, value]) => value));
}

export function scoreTerms(candidate: Candidate, scale = commonScale([candidate])): ScoreTerm[] {
  return valuesOf(candidate).map(([name, value]) => ({
    name,
    word: TERM_LABELS[name]!,
    value,
    share: Math.max(0, value) / scale,
    part: PARTS_OF_RELEVANCE.has(name),
  }));
}
