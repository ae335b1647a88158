import { expect, test } from "vitest";
import { isSendKey } from "../src/chat/send_key";
import { commonScale, scoreTerms } from "../src/chat/score_terms";
import { candidate } from "./fixtures";

const press = (more: object = {}) => isSendKey({ key: "Enter", shiftKey: false, isComposing: false, keyCode: 13, ...more });

test("Enter sends, Shift+Enter and an input method's Enter do not", () => {
  expect(press()).toBe(true);
  expect(press({ key: "a" })).toBe(false);
  expect(press({ shiftKey: true })).toBe(false);
  expect(press({ isComposing: true })).toBe(false);
  expect(press({ keyCode: 229 })).toBe(false);
});

test("the terms of a score are in the order of the formula, and bars never overflow", () => {
  const shown = scoreTerms(candidate({ entity_anchor: 1, impact: 0.4, recency: 1.2, vector_relevance: -0.1, relevance: null }));
  expect(shown.map((t) => [t.name, t.value, t.share, t.part])).toEqual([
    ["recency", 1.2, 1, false],
    ["vector_relevance", -0.1, 0, true],
    ["impact", 0.4, 0.4 / 1.2, false],
    ["entity_anchor", 1, 1 / 1.2, false],
  ]);
});

test("the bars of all memories of a receipt have one scale", () => {
  const weak = candidate({ recency: 0.2, impact: 0.5, relevance: null, entity_anchor: null });
  const strong = candidate({ recency: 0.9, impact: 2.5, relevance: null, entity_anchor: null });
  const scale = commonScale([weak, strong]);
  const share = (of: typeof weak) => scoreTerms(of, scale).find((t) => t.name === "impact")?.share;
  expect([share(weak), share(strong)]).toEqual([0.2, 1]);
});

test("a message has parts of its own; one without a name for people is left to the trace", () => {
  const parts = { word_relevance: 0.7, recency: 0.5, topic_meaning: 0.3, luck: 0.1 };
  const shown = scoreTerms(candidate({ kind: "message", recency: null, parts }));
  expect(shown.map((t) => [t.name, t.word])).toEqual([
    ["recency", "recency"],
    ["word_relevance", "wordRelevance"],
    ["topic_meaning", "topicMeaning"],
  ]);
});
