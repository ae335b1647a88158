// Whether more is being written: the server answers quick messages together, and at once when there are no more.

/** Pause after a message, with nothing begun, after which no more is expected. */
const PAUSE_MS = 800;
/** Keystrokes are reported at most so often. */
const REPORT_MS = 1_000;

export class TypingReporter {
  #pause: ReturnType<typeof setTimeout> | undefined;
  #reportedAt = -Infinity;
  readonly #report: (isTyping: boolean) => void;

  constructor(report: (isTyping: boolean) => void) {
    this.#report = report;
  }

  /** A message was sent and nothing else is begun. */
  sent(): void {
    clearTimeout(this.#pause);
    this.#pause = setTimeout(() => this.#report(false), PAUSE_MS);
  }

  /** `text` is what the field holds; `isAwaited` is whether sent messages wait for a reply that has not begun. */
  typed(text: string, isAwaited: boolean): void {
    clearTimeout(this.#pause);
    if (!isAwaited) return;
    if (text.trim() === "") return this.sent();
    if (performance.now() - this.#reportedAt < REPORT_MS) return;
    this.#reportedAt = performance.now();
    this.#report(true);
  }
}
