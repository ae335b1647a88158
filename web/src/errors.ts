// Error messages for the reader.

import { ApiError, NetworkError } from "./api";
import { language } from "./language.svelte";

export function errorMessage(error: unknown): string {
  if (error instanceof NetworkError) return language.t("unreachable");
  if (!(error instanceof ApiError)) return String(error);
  if (error.status === 429) return language.t("tooMany", { n: error.retryAfterSeconds ?? 1 });
  return error.detail;
}
