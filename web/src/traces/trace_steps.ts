// Names and details of a turn's steps.

import { language } from "../language.svelte";
import type { MessageKey } from "../i18n";
import type { Step } from "./requests";

const NAMES: Record<string, MessageKey> = {
  debounce: "stepDebounce",
  ingest_user: "stepIngestUser",
  recent_window: "stepWindow",
  vector_retrieve: "stepRecall",
  l5_alias_scan: "stepNames",
  pinned_thoughts: "stepPinned",
  l1_load: "stepBlocks",
  l6_decay_check: "stepMood",
  build_system_prompt: "stepSystemPrompt",
  build_user_prompt: "stepUserPrompt",
  llm_stream: "stepModel",
  ingest_persona: "stepIngestReply",
  on_turn_done: "stepDone",
};

/** A step without a translation keeps its own name. */
export function stepName(step: Step): string {
  const nameKey = NAMES[step.stage];
  return nameKey ? language.t(nameKey) : step.stage;
}

/** Formats milliseconds as seconds or milliseconds. */
export function formatDuration(ms: number): string {
  if (ms >= 1_000) return language.number(ms / 1_000, { style: "unit", unit: "second", maximumFractionDigits: 1 });
  const decimals = ms > 0 && ms < 10 ? 1 : 0;
  return language.number(ms, { style: "unit", unit: "millisecond", maximumFractionDigits: decimals });
}

/** The step's numbers and names, in a few phrases. */
export function stepDetails({ stage, detail }: Step): string[] {
  const number = (name: string) => (typeof detail[name] === "number" ? (detail[name] as number) : 0);
  const formatNumber = (name: string) => language.number(number(name));
  const words: string[] = [];
  const addCount = (word: Parameters<typeof language.count>[0], n: number) => n > 0 && words.push(language.count(word, n));
  switch (stage) {
    case "debounce":
    case "recent_window":
      addCount("messageCount", number("messages"));
      break;
    case "vector_retrieve":
      words.push(language.t("traceLookedAt", { n: formatNumber("candidates"), chosen: formatNumber("chosen") }));
      words.push(language.t("traceRecallTimes", {
        embed: formatDuration(number("embed_ms")),
        fetch: formatDuration(number("fetch_ms")),
        score: formatDuration(number("score_ms")),
      }));
      if (detail.words_only) words.push(language.t("traceByWords"));
      break;
    case "l5_alias_scan":
      addCount("entityCount", number("hits"));
      break;
    case "pinned_thoughts":
      addCount("thoughtCount", number("user") + number("persona"));
      addCount("intentionCount", number("intentions"));
      addCount("expectationCount", number("expectations"));
      addCount("sessionCount", number("sessions"));
      break;
    case "build_system_prompt":
    case "build_user_prompt":
      words.push(language.t("traceCharacters", { n: formatNumber("characters") }));
      if (number("tokens")) words.push(language.t("traceAboutTokens", { n: formatNumber("tokens") }));
      break;
    case "llm_stream":
      if (number("first_token_ms")) words.push(language.t("traceFirstWord", { time: formatDuration(number("first_token_ms")) }));
      if (number("cached_tokens")) words.push(language.t("traceCached", { n: formatNumber("cached_tokens") }));
      if (typeof detail.cut_off === "string") words.push(detail.cut_off);
      break;
  }
  return words;
}
