/**
 * Field selectors, with their values escaped (apimachinery pkg/fields: EscapeValue). A name with a comma would otherwise add a condition of
 * its own. A reflector takes no selector made in another way.
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
