import { language } from "../language.svelte";
import { toasts } from "../toasts.svelte";

/** Puts a text on the clipboard and says so. Over plain HTTP to another machine there is no clipboard to write to. */
export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    toasts.show(language.t("copied"));
  } catch {
    toasts.show(language.t("copyFailed"), true);
  }
}
