// What was just done, for as long as it can be taken back.

import { explain } from "./trouble";

/** How long a thing can be taken back before it is done, or is said to be done. */
export const UNDO_MS = 7_000;
/** How long a notice stands that only says something. */
const SAID_MS = 4_000;
/** More would hide the page; the oldest gives way. */
const NOTICES_MAX = 3;

export interface Notice {
  key: number;
  text: string;
  trouble: boolean;
  /** Null where there is nothing to take back. */
  undo: (() => void) | null;
}

interface Waiting {
  notice: Notice;
  /** What happens once it can't be taken back any more. */
  settle: () => void;
}

class Notices {
  list: Notice[] = $state([]);
  /** Grows when a dialog opens or closes: the notices go where they can be reached. */
  moved = $state(0);
  #waiting = new Map<number, Waiting>();
  #next = 1;

  constructor() {
    // Leaving the page is no way to take something back.
    addEventListener("pagehide", () => {
      for (const key of [...this.#waiting.keys()]) this.#settle(key);
    });
  }

  say(text: string, trouble = false): void {
    this.#show(text, trouble, null, () => undefined);
  }

  fail(error: unknown): void {
    this.say(explain(error), true);
  }

  /** It is done already; `undo` does the opposite. */
  done(text: string, undo: () => Promise<unknown>): void {
    this.#show(text, false, () => void undo().catch((error: unknown) => this.fail(error)), () => undefined);
  }

  /** It is done when the time to take it back is over. `back` restores what the page has hidden meanwhile. */
  later(text: string, act: () => Promise<unknown>, back: () => void): void {
    const run = () =>
      void act().catch((error: unknown) => {
        back();
        this.fail(error);
      });
    this.#show(text, false, back, run);
  }

  undo(key: number): void {
    const waiting = this.#take(key);
    waiting?.notice.undo?.();
  }

  dismiss(key: number): void {
    this.#settle(key);
  }

  #show(text: string, trouble: boolean, undo: (() => void) | null, settle: () => void): void {
    const notice = { key: this.#next++, text, trouble, undo };
    this.#waiting.set(notice.key, { notice, settle });
    this.list = [...this.list, notice];
    const [oldest] = this.list;
    if (oldest && this.list.length > NOTICES_MAX) this.#settle(oldest.key);
    setTimeout(() => this.#settle(notice.key), undo || trouble ? UNDO_MS : SAID_MS);
  }

  #settle(key: number): void {
    this.#take(key)?.settle();
  }

  #take(key: number): Waiting | undefined {
    const waiting = this.#waiting.get(key);
    this.#waiting.delete(key);
    this.list = this.list.filter((notice) => notice.key !== key);
    return waiting;
  }
}

export const notices = new Notices();
