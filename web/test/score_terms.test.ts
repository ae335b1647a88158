import { expect, test } from "vitest";
import { isSendKey } from "../src/chat/send_key";
import { scoreTerms } from "../src/chat/score_terms";
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
    ["impact", 0.4, 0.4, false],
    ["entity_anchor", 1, 1, false],
  ]);
});

test("a message has parts of its own, also unknown ones", () => {
  const shown = scoreTerms(candidate({ kind: "message", recency: null, parts: { word_relevance: 0.7, recency: 0.5, luck: 0.1 } }));
  expect(shown.map((t) => [t.name, t.word])).toEqual([
    ["word_relevance", "wordRelevance"],
    ["recency", "recency"],
    ["luck", null],
  ]);
});
