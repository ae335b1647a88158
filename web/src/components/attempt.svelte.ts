// One request at a time, with its progress and its error message.

import { errorMessage } from "../errors";

export class Attempt {
  busy = $state(false);
  errorText: string | null = $state(null);

  /** True on success. */
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
