// One thing at a time that may fail: while it runs nothing else is begun, and what went wrong is said.

import { explain } from "../trouble";

export class Attempt {
  busy = $state(false);
  trouble: string | null = $state(null);

  /** True when it went well. */
  async run(act: () => Promise<unknown>): Promise<boolean> {
    this.busy = true;
    this.trouble = null;
    try {
      await act();
      return true;
    } catch (error) {
      this.trouble = explain(error);
      return false;
    } finally {
      this.busy = false;
    }
  }
}
