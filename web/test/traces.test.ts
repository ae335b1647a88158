// @vitest-environment happy-dom
import { expect, test } from "vitest";
import { language } from "../src/language.svelte";
import type { Step } from "../src/traces/requests";
import { stepDetails, formatDuration, stepName } from "../src/traces/trace_steps";

const step = (stage: string, detail: Record<string, unknown> = {}): Step => ({ stage, t_ms: 0, duration_ms: 1, detail });
const recall = step("vector_retrieve", { candidates: 1_200, chosen: 3, embed_ms: 0.56, fetch_ms: 12.4, score_ms: 0, words_only: "no model" });

test("a step describes its work in the reader's language", () => {
  language.choose("en");
  expect(stepName(recall)).toBe("Recall");
  expect(stepDetails(recall)).toEqual([
    "1,200 considered, 3 used",
    "embedding 0.6 ms, loading 12 ms, scoring 0 ms",
    "by words only",
  ]);
  expect(stepDetails(step("pinned_thoughts", { user: 1, persona: 1, intentions: 0 }))).toEqual(["2 thoughts"]);
  expect(stepDetails(step("build_user_prompt", { characters: 814, tokens: 816 }))).toEqual(["814 characters", "about 816 tokens"]);
  language.choose("zh");
  expect(stepName(recall)).toBe("回忆");
  expect(stepDetails(recall)[0]).toBe("考虑了 1,200 条，用了 3 条");
});

test("an unknown step keeps its name and has no details", () => {
  expect(stepName(step("warm_up"))).toBe("warm_up");
  expect(stepDetails(step("warm_up", { messages: 3 }))).toEqual([]);
  expect(stepDetails(step("debounce"))).toEqual([]);
  expect(stepDetails(step("llm_stream", { first_token_ms: null, cut_off: "the model broke off" }))).toEqual(["the model broke off"]);
});

test("a duration is shown in a fitting unit", () => {
  language.choose("en");
  expect([0, 0.56, 9.94, 41, 999].map(formatDuration)).toEqual(["0 ms", "0.6 ms", "9.9 ms", "41 ms", "999 ms"]);
  expect(formatDuration(1_540)).toMatch(/^1\.5 s/);
});
