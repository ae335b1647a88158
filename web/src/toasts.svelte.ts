// Short messages about finished actions, with an undo.

import { errorMessage } from "./errors";

/** Time in which an action can be undone. */
export const UNDO_MS = 7_000;
/** Time for which a toast without an undo is shown. */
const TOAST_MS = 4_000;
/** More toasts would cover the page; the oldest is dismissed. */
const TOASTS_MAX = 3;

export interface Toast {
  key: number;
  text: string;
  isError: boolean;
  /** Null when there is nothing to undo. */
  undo: (() => void) | null;
}

interface Waiting {
  toast: Toast;
  /** Called once the action can't be undone any more. */
  settle: () => void;
}

class Toasts {
  list: Toast[] = $state([]);
  /** Incremented when a dialog opens or closes: the toasts move into the topmost one. */
  dialogVersion = $state(0);
  #waiting = new Map<number, Waiting>();
  #next = 1;

  constructor() {
    // Closing the page does not undo anything.
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

  /** For an action that was carried out; `undo` reverts it. */
  withUndo(text: string, undo: () => Promise<unknown>): void {
    this.#add(text, false, () => void undo().catch((error: unknown) => this.showError(error)), () => undefined);
  }

  /** Runs `act` when the time for undo is over. `back` restores what the page has hidden. */
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
    setTimeout(() => this.#settle(toast.key), undo || isError ? UNDO_MS : TOAST_MS);
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
