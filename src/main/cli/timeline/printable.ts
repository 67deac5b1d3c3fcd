/**
 * Makes a text safe for a terminal: control characters, and characters that change the direction or are invisible, become `?`. Names come from pods.
 */
export function printable(text: string): string {
  return text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, '?');
}
