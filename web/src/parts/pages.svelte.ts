// A list that the daemon gives page by page.

import { untrack } from "svelte";
import { isNotAvailable } from "../api";
import { explain } from "../trouble";
import type { Id } from "../wire";

export type Loading = "loading" | "ready" | "missing" | "trouble";

interface Page<Item> {
  items: Item[];
  next: Id | null | undefined;
}

export class Pages<Item> {
  items: Item[] = $state.raw([]);
  state: Loading = $state("loading");
  trouble = $state("");
  more = $state(false);
  #next: Id | null = null;
  #asked = 0;
  #fetch: (cursor: Id | null) => Promise<Page<Item>>;

  constructor(fetch: (cursor: Id | null) => Promise<Page<Item>>) {
    this.#fetch = fetch;
  }

  /** What is shown stays until the new page is there. */
  async reload(): Promise<void> {
    await this.#load(null, []);
  }

  async loadMore(): Promise<void> {
    if (this.#next !== null) await this.#load(this.#next, this.items);
  }

  /** An item that changed here, before the daemon is asked again. */
  replace(items: Item[]): void {
    this.items = items;
  }

  async #load(cursor: Id | null, before: Item[]): Promise<void> {
    const asked = ++this.#asked;
    // Whoever asks for the list anew when something changes must not be asked by the list itself.
    if (untrack(() => this.items.length) === 0) this.state = "loading";
    try {
      const page = await this.#fetch(cursor);
      if (asked !== this.#asked) return;
      this.items = [...before, ...page.items];
      this.#next = page.next ?? null;
      this.more = this.#next !== null;
      this.state = "ready";
    } catch (error) {
      if (asked !== this.#asked) return;
      this.state = isNotAvailable(error) ? "missing" : "trouble";
      this.trouble = explain(error);
    }
  }
}
