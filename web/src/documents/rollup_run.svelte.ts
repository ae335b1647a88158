// Writes roll-ups one after another until all are written, one fails, or it is stopped.

import { errorMessage } from "../errors";
import { writeRollup } from "./requests";
import type { DocumentName } from "./types";

export class RollupRun {
  /** The roll-up being written; null when idle. */
  current: DocumentName | null = $state.raw(null);
  done = $state(0);
  all = $state(0);
  /** Seconds since the current one was started. */
  seconds = $state(0);
  errorText: string | null = $state(null);
  #stopped = false;

  /** Returns how many were written. Calls `written` after each. */
  async run(names: readonly DocumentName[], written: () => Promise<unknown>): Promise<number> {
    this.errorText = null;
    this.#stopped = false;
    this.done = 0;
    this.all = names.length;
    const clock = setInterval(() => (this.seconds += 1), 1_000);
    try {
      for (const name of names) {
        if (this.#stopped) break;
        this.current = name;
        this.seconds = 0;
        await writeRollup(name);
        this.done += 1;
        await written();
      }
    } catch (error) {
      this.errorText = errorMessage(error);
    } finally {
      clearInterval(clock);
      this.current = null;
    }
    return this.done;
  }

  /** The current one is still finished. */
  stop(): void {
    this.#stopped = true;
  }
}
