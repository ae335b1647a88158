// What a turn's step says of itself, in the reader's words.

import { language } from "../language.svelte";
import type { Word } from "../words";
import type { Step } from "./requests";

const NAMES: Record<string, Word> = {
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

/** A step this page has no word for keeps the daemon's. */
export function nameOf(step: Step): string {
  const word = NAMES[step.stage];
  return word ? language.say(word) : step.stage;
}

/** Milliseconds as a person reads them; a step within the clock's grain took less than one. */
export function duration(ms: number): string {
  if (ms >= 1_000) return language.number(ms / 1_000, { style: "unit", unit: "second", maximumFractionDigits: 1 });
  const digits = ms > 0 && ms < 10 ? 1 : 0;
  return language.number(ms, { style: "unit", unit: "millisecond", maximumFractionDigits: digits });
}

/** What it worked on, in a few phrases. */
export function detailsOf({ stage, detail }: Step): string[] {
  const number = (name: string) => (typeof detail[name] === "number" ? (detail[name] as number) : 0);
  const shown = (name: string) => language.number(number(name));
  const words: string[] = [];
  const counted = (word: Parameters<typeof language.count>[0], n: number) => n > 0 && words.push(language.count(word, n));
  switch (stage) {
    case "debounce":
    case "recent_window":
      counted("messageCount", number("messages"));
      break;
    case "vector_retrieve":
      words.push(language.say("traceLookedAt", { n: shown("candidates"), chosen: shown("chosen") }));
      words.push(language.say("traceRecallTimes", {
        embed: duration(number("embed_ms")),
        fetch: duration(number("fetch_ms")),
        score: duration(number("score_ms")),
      }));
      if (detail.words_only) words.push(language.say("traceByWords"));
      break;
    case "l5_alias_scan":
      counted("entityCount", number("hits"));
      break;
    case "pinned_thoughts":
      counted("thoughtCount", number("user") + number("persona"));
      counted("intentionCount", number("intentions"));
      counted("expectationCount", number("expectations"));
      counted("sessionCount", number("sessions"));
      break;
    case "build_system_prompt":
    case "build_user_prompt":
      words.push(language.say("traceCharacters", { n: shown("characters") }));
      if (number("tokens")) words.push(language.say("traceAboutTokens", { n: shown("tokens") }));
      break;
    case "llm_stream":
      if (number("first_token_ms")) words.push(language.say("traceFirstWord", { time: duration(number("first_token_ms")) }));
      if (number("cached_tokens")) words.push(language.say("traceCached", { n: shown("cached_tokens") }));
      if (typeof detail.cut_off === "string") words.push(detail.cut_off);
      break;
  }
  return words;
}
