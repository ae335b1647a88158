// What was just done, for as long as it can be taken back.

import { errorMessage } from "./errors";

/** How long a thing can be taken back before it is done, or is said to be done. */
export const UNDO_MS = 7_000;
/** How long a toast stands that only says something. */
const SAID_MS = 4_000;
/** More would hide the page; the oldest gives way. */
const TOASTS_MAX = 3;

export interface Toast {
  key: number;
  text: string;
  isError: boolean;
  /** Null where there is nothing to take back. */
  undo: (() => void) | null;
}

interface Waiting {
  toast: Toast;
  /** What happens once it can't be taken back any more. */
  settle: () => void;
}

class Toasts {
  list: Toast[] = $state([]);
  /** Grows when a dialog opens or closes: the toasts go where they can be reached. */
  dialogVersion = $state(0);
  #waiting = new Map<number, Waiting>();
  #next = 1;

  constructor() {
    // Leaving the page is no way to take something back.
    addEventListener("pagehide", () => {
      for (const key of [...this.#waiting.keys()]) this.#settle(key);
    });
  }

  show(text: string, isError = false): void {
    this.#add(text, isError, null, () => undefined);
  }

  showError(error: unknown): void {
    this.show(errorMessage(error), true);
  }

  /** It is done already; `undo` does the opposite. */
  withUndo(text: string, undo: () => Promise<unknown>): void {
    this.#add(text, false, () => void undo().catch((error: unknown) => this.showError(error)), () => undefined);
  }

  /** It is done when the time to take it back is over. `back` restores what the page has hidden meanwhile. */
  delayed(text: string, act: () => Promise<unknown>, back: () => void): void {
    const run = () =>
      void act().catch((error: unknown) => {
        back();
        this.showError(error);
      });
    this.#add(text, false, back, run);
  }

  undo(key: number): void {
    const waiting = this.#take(key);
    waiting?.toast.undo?.();
  }

  dismiss(key: number): void {
    this.#settle(key);
  }

  #add(text: string, isError: boolean, undo: (() => void) | null, settle: () => void): void {
    const toast = { key: this.#next++, text, isError, undo };
    this.#waiting.set(toast.key, { toast, settle });
    this.list = [...this.list, toast];
    const [oldest] = this.list;
    if (oldest && this.list.length > TOASTS_MAX) this.#settle(oldest.key);
    setTimeout(() => this.#settle(toast.key), undo || isError ? UNDO_MS : SAID_MS);
  }

  #settle(key: number): void {
    this.#take(key)?.settle();
  }

  #take(key: number): Waiting | undefined {
    const waiting = this.#waiting.get(key);
    this.#waiting.delete(key);
    this.list = this.list.filter((toast) => toast.key !== key);
    return waiting;
  }
}

export const toasts = new Toasts();
