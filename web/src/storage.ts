// What this browser remembers for its reader: language, theme, drafts. Never anything that was said.

const PREFIX = "echovessel.";

export function readItem(name: string): string | null {
  try {
    return localStorage.getItem(PREFIX + name);
  } catch {
    return null;
  }
}

/** Null forgets it. */
export function writeItem(name: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, value);
  } catch {
    // Storage may be forbidden or full; then it lasts as long as the page.
  }
}
