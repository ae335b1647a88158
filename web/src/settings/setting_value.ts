// Conversion between a setting's value and the text of its field.

export function formatSetting(value: unknown): string {
  if (Array.isArray(value)) return value.map(String).join(", ");
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Parses the text as the type of the default. An invalid number stays text, and the server rejects it. */
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
