import { language } from "../language.svelte";
import type { PluralKey } from "../i18n";
import type { ErasureReceipt } from "./types";

const COUNTED: [string, PluralKey][] = [
  ["messages", "messageCount"],
  ["events", "eventCount"],
  ["thoughts", "thoughtCount"],
  ["intentions", "intentionCount"],
  ["expectations", "expectationCount"],
  ["entities", "entityCount"],
  ["sessions", "sessionCount"],
  ["rejected", "rejectedCount"],
];

/** `2 events, 1 thought`: the counts of a receipt, without the kinds in `but`. */
export function formatErased(receipt: Pick<ErasureReceipt, "erased">, but: readonly string[] = []): string {
  const erased: Record<string, string[] | undefined> = receipt.erased;
  const parts = COUNTED.flatMap(([kind, word]) => {
    const n = erased[kind]?.length ?? 0;
    return n > 0 && !but.includes(kind) ? [language.count(word, n)] : [];
  });
  return parts.length ? parts.join(language.t("and")) : language.t("nothingElse");
}
