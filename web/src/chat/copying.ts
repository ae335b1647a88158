import { language } from "../language.svelte";
import { notices } from "../notices.svelte";

/** Puts a text on the clipboard and says so. Over plain HTTP to another machine there is no clipboard to write to. */
export async function copied(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    notices.say(language.say("copied"));
  } catch {
    notices.say(language.say("copyFailed"), true);
  }
}
