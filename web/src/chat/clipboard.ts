import { language } from "../language.svelte";
import { toasts } from "../toasts.svelte";

/** Copies a text and shows a toast. Over plain HTTP from another machine there is no clipboard access. */
export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    toasts.show(language.t("copied"));
  } catch {
    toasts.show(language.t("copyFailed"), true);
  }
}
