// Data that this browser stores for its reader: language, theme, drafts and unsent messages. Never the conversation.

const PREFIX = "echovessel.";

export function readItem(name: string): string | null {
  try {
    return localStorage.getItem(PREFIX + name);
  } catch {
    return null;
  }
}

/** Stores a value; null removes it. */
export function writeItem(name: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, value);
  } catch {
    // Storage may be blocked or full; then the value lasts as long as the page.
  }
}
