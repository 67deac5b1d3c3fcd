/**
 * Builds field selectors with escaped values (apimachinery pkg/fields: EscapeValue). An unescaped comma in a name would add a condition. The
 * branded type keeps a reflector from taking an unescaped selector.
 */
export type FieldSelector = string & { readonly __brand: 'FieldSelector' };

export function fieldEquals(field: string, value: string): FieldSelector {
  return `${field}=${escapeValue(value)}` as FieldSelector;
}

export function fieldNotEquals(field: string, value: string): FieldSelector {
  return `${field}!=${escapeValue(value)}` as FieldSelector;
}

function escapeValue(value: string): string {
  return value.replaceAll(/[\\,=]/g, String.raw`\$&`);
}
