// One thing at a time that may fail: while it runs nothing else is begun, and what went wrong is said.

import { errorMessage } from "../errors";

export class Attempt {
  busy = $state(false);
  errorText: string | null = $state(null);

  /** True when it went well. */
  async run(act: () => Promise<unknown>): Promise<boolean> {
    this.busy = true;
    this.errorText = null;
    try {
      await act();
      return true;
    } catch (error) {
      this.errorText = errorMessage(error);
      return false;
    } finally {
      this.busy = false;
    }
  }
}
