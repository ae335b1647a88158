// Positions of the rows of a long list, of which only those near the window are rendered and measured.

export interface Window {
  /** The first row to show, and the one after the last. */
  from: number;
  to: number;
}

export class RowHeights {
  #keys: readonly string[] = [];
  #measured = new Map<string, number>();
  /** `#tops[i]` is the top of row `i`; valid up to and including `#valid`. */
  #tops = new Float64Array(1);
  #valid = 0;

  /** `estimate`: height in pixels of a row that was not measured yet. */
  constructor(readonly estimate: number) {}

  get count(): number {
    return this.#keys.length;
  }

  /** Sets the rows. Measured heights are kept. */
  arrange(keys: readonly string[]): void {
    const before = this.#keys;
    const shared = Math.min(before.length, keys.length);
    let same = 0;
    while (same < shared && before[same] === keys[same]) same += 1;
    this.#keys = keys;
    this.#valid = Math.min(this.#valid, same);
    if (this.#tops.length < keys.length + 1) {
      const largerArray = new Float64Array(Math.ceil((keys.length + 1) * 1.5));
      largerArray.set(this.#tops.subarray(0, this.#valid + 1));
      this.#tops = largerArray;
    }
    if (this.#measured.size > keys.length * 2 + 1_000) this.#forgetOthers();
  }

  /** True when the height changed. */
  measure(index: number, height: number): boolean {
    const key = this.#keys[index];
    if (key === undefined || this.#measured.get(key) === height) return false;
    this.#measured.set(key, height);
    this.#valid = Math.min(this.#valid, index);
    return true;
  }

  /** Pixels above row `index`; for the index after the last row, the total height. */
  top(index: number): number {
    const clampedIndex = Math.max(0, Math.min(index, this.count));
    for (let row = this.#valid; row < clampedIndex; row++) {
      const height = this.#measured.get(this.#keys[row] ?? "") ?? this.estimate;
      this.#tops[row + 1] = (this.#tops[row] ?? 0) + height;
    }
    this.#valid = Math.max(this.#valid, clampedIndex);
    return this.#tops[clampedIndex] ?? 0;
  }

  get total(): number {
    return this.top(this.count);
  }

  indexOf(key: string): number {
    return this.#keys.indexOf(key);
  }

  keyAt(index: number): string | undefined {
    return this.#keys[index];
  }

  /** The row at `offset`; the last one beyond the end. */
  at(offset: number): number {
    void this.total;
    let low = 0;
    let high = Math.max(0, this.count - 1);
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#tops[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** The rows between two offsets, with `spare` more on each side. */
  window(start: number, end: number, spare: number): Window {
    if (this.count === 0) return { from: 0, to: 0 };
    return {
      from: Math.max(0, this.at(start) - spare),
      to: Math.min(this.count, this.at(end) + 1 + spare),
    };
  }

  #forgetOthers(): void {
    const keys = new Set(this.#keys);
    for (const key of this.#measured.keys()) if (!keys.has(key)) this.#measured.delete(key);
  }
}
