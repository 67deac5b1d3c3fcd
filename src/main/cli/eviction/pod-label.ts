/** A pod's name for a table: printable, and of a bounded width. Pure. */
import { printable } from '../printable.ts';

/** Namespace and name may have 63 and 253 characters: a row of the table would not fit on a terminal. */
const maxLength = 36;
/** How many characters of the beginning a name keeps when it is cut. The ellipsis counts as one of the `maxLength`. */
const headLength = 20;

export function podLabel({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  const full = `${namespace}/${name}`;
  // The pods of a Deployment differ in the ends of their names. A cut may leave half of a character of two units, which printable replaces.
  return printable(full.length <= maxLength ? full : `${full.slice(0, headLength)}…${full.slice(1 + headLength - maxLength)}`);
}
