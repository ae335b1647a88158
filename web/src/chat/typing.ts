// Reports if the reader is typing: the server answers messages that follow each other together, and at once when no
// more are being typed.

/** Pause after a message without typing, after which no further message is expected. */
const PAUSE_MS = 800;
/** Minimum interval between reports of keystrokes. */
const REPORT_MS = 1_000;

export class TypingReporter {
  #pause: ReturnType<typeof setTimeout> | undefined;
  #reportedAt = -Infinity;
  readonly #report: (isTyping: boolean) => void;

  constructor(report: (isTyping: boolean) => void) {
    this.#report = report;
  }

  /** A message was sent and no other is being typed. */
  sent(): void {
    clearTimeout(this.#pause);
    this.#pause = setTimeout(() => this.#report(false), PAUSE_MS);
  }

  /** `text` is the content of the field; `isAwaited` is true if sent messages wait for a reply that has not started. */
  typed(text: string, isAwaited: boolean): void {
    clearTimeout(this.#pause);
    if (!isAwaited) return;
    if (text.trim() === "") return this.sent();
    if (performance.now() - this.#reportedAt < REPORT_MS) return;
    this.#reportedAt = performance.now();
    this.#report(true);
  }
}
