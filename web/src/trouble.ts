// What went wrong, in a sentence for the reader.

import { Refused, Unreachable } from "./api";
import { language } from "./language.svelte";

export function explain(error: unknown): string {
  if (error instanceof Unreachable) return language.say("unreachable");
  if (!(error instanceof Refused)) return String(error);
  if (error.status === 429) return language.say("tooMany", { n: error.retryAfterSeconds ?? 1 });
  return error.detail;
}
