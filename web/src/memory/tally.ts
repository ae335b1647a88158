import { language } from "../language.svelte";
import type { Counted } from "../words";
import type { ErasureReceipt } from "./shapes";

const COUNTED: [string, Counted][] = [
  ["messages", "messageCount"],
  ["events", "eventCount"],
  ["thoughts", "thoughtCount"],
  ["intentions", "intentionCount"],
  ["expectations", "expectationCount"],
  ["entities", "entityCount"],
  ["sessions", "sessionCount"],
  ["rejected", "rejectedCount"],
];

/** `2 events, 1 thought`: what a receipt says went, without the kinds in `but`. */
export function tally(receipt: Pick<ErasureReceipt, "erased">, but: readonly string[] = []): string {
  const parts = COUNTED.flatMap(([kind, word]) => {
    const n = receipt.erased[kind]?.length ?? 0;
    return n > 0 && !but.includes(kind) ? [language.count(word, n)] : [];
  });
  return parts.length ? parts.join(language.say("and")) : language.say("nothingElse");
}
