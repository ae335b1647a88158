import { language } from "../language.svelte";
import type { PluralKey } from "../i18n";
import type { ErasureReceipt } from "./types";

/** Kinds of erased rows, in the order of display. */
const COUNT_WORDS: [keyof ErasureReceipt["counts"], PluralKey][] = [
  ["messages", "messageCount"],
  ["events", "eventCount"],
  ["thoughts", "thoughtCount"],
  ["intentions", "intentionCount"],
  ["expectations", "expectationCount"],
  ["entities", "entityCount"],
  ["names", "erasedNameCount"],
  ["descriptions", "erasedDescriptionCount"],
  ["rejected", "rejectedCount"],
  ["documents", "erasedDocumentCount"],
  ["summaries", "erasedSummaryCount"],
  ["moods", "erasedMoodCount"],
  ["receipts", "erasedReceiptCount"],
  ["traces", "erasedTraceCount"],
];

/** `2 events, 1 thought`: the counts of a receipt, without the kinds in `but`. */
export function formatErased(receipt: Pick<ErasureReceipt, "counts">, but: readonly string[] = []): string {
  const parts = COUNT_WORDS.flatMap(([kind, word]) => {
    const n = receipt.counts[kind];
    return n > 0 && !but.includes(kind) ? [language.count(word, n)] : [];
  });
  return parts.length ? parts.join(language.t("and")) : language.t("nothingElse");
}
