/**
 * Makes a text safe for a terminal: control characters, and characters that change the direction or are invisible, become `?`. Names come from pods.
 */
export function printable(text: string): string {
  return text.replaceAll(unprintable, '?');
}

/** Formats JSON with escapes for the same characters: JSON needs none for most of them. */
export function printableJSON(value: unknown): string {
  const escape = (char: string) =>
    char === '\n' ? char : [...Array(char.length).keys()].map((i) => `\\u${char.charCodeAt(i).toString(16).padStart(4, '0')}`).join('');
  return JSON.stringify(value, null, 2).replaceAll(unprintable, escape);
}

const unprintable = /[\p{C}\p{Zl}\p{Zp}]/gu;
