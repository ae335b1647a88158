// Corrects, pins and forgets memories, each with an undo.

import { language } from "../language.svelte";
import { live } from "../live/live.svelte";
import { toasts } from "../toasts.svelte";
import type { Id } from "../wire";
import { correct, deleteNode, pin, undoCorrection } from "./requests";

/** True once the new text is stored. Calls `changed` again after an undo. */
export async function correctWithUndo(id: Id, text: string, changed: (text: string | null) => void): Promise<boolean> {
  try {
    await correct(id, text);
  } catch (error) {
    toasts.showError(error);
    return false;
  }
  changed(text);
  live.memoryVersion += 1;
  toasts.withUndo(language.t("corrected"), async () => {
    const answer = await undoCorrection(id);
    changed(answer.node.description);
    live.memoryVersion += 1;
  });
  return true;
}

export async function pinWithUndo(id: Id, pinned: boolean, changed: (pinned: boolean) => void): Promise<void> {
  const setPinned = async (value: boolean) => {
    await pin(id, value);
    changed(value);
    live.memoryVersion += 1;
  };
  try {
    await setPinned(pinned);
    toasts.withUndo(language.t(pinned ? "pinned" : "unpinned"), () => setPinned(!pinned));
  } catch (error) {
    toasts.showError(error);
  }
}

/** Deletion is permanent, so it waits until the undo has expired. Thoughts that cite the memory stay, marked. */
export function forgetWithUndo(id: Id, type: string, changed: (gone: boolean) => void): void {
  changed(true);
  toasts.delayed(
    language.t("forgotten"),
    async () => {
      await deleteNode(id, type, "orphan");
      live.memoryVersion += 1;
    },
    () => changed(false),
  );
}
