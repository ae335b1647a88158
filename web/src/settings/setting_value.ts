// How a setting's value is formatSetting in a field, and parseSetting from it.

export function formatSetting(value: unknown): string {
  if (Array.isArray(value)) return value.map(String).join(", ");
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** The field's text as the kind of value that the default is. What is no number stays text, and the daemon says so. */
export function parseSetting(text: string, like: unknown): unknown {
  const trimmed = text.trim();
  if (Array.isArray(like)) {
    const parts = trimmed.split(/[,，、]/).map((part) => part.trim());
    return parts.filter((part) => part !== "");
  }
  if (typeof like === "number") {
    const number = Number(trimmed);
    return trimmed !== "" && Number.isFinite(number) ? number : trimmed;
  }
  return trimmed;
}
