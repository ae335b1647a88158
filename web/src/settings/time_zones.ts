/** Time zones known to the browser, as suggestions. */
export const TIME_ZONES: readonly string[] = Intl.supportedValuesOf?.("timeZone") ?? [];
