/**
 * Escapes the characters beyond Latin-1 in the bundled code. Each thread keeps the text of its modules in memory, and V8 stores a text with one such
 * character as two bytes for each character.
 */
import type { Plugin } from 'rolldown';
import { parseSync } from 'rolldown/utils';
import { findTaggedTemplates } from './imported-names.ts';
import { rewriteChunks } from './rewrite-chunks.ts';

export const oneByteText = (): Plugin => rewriteChunks('one-byte-text', toOneByteText);

/** An escape means the same in strings, templates, regular expressions and comments. Throws where it does not. */
export function toOneByteText(code: string, fileName: string): string {
  if (!hasWide(code)) return code;
  if (/\\[\u0100-\uffff]/.test(code)) throw new Error(`${fileName}: a backslash before a character beyond Latin-1`);
  const tagged = findTaggedTemplates(parseSync(fileName, code).program).find(({ start, end }) => hasWide(code.slice(start, end)));
  if (tagged) throw new Error(`${fileName}: a tagged template, which may be raw, has a character beyond Latin-1`);
  // By UTF-16 units: an escape has four digits.
  return code.replace(/[\u0100-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function hasWide(text: string): boolean {
  return /[\u0100-\uffff]/.test(text);
}
