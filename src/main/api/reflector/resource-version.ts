/** Compares resource versions. Since 1.35 they are decimal numbers without leading zeros, comparable within one kind. */

/** Returns false if one of the versions is not such a number. */
export function isOlder(version: string, than: string): boolean {
  if (!/^[1-9]\d*$/.test(version) || !/^[1-9]\d*$/.test(than)) return false;
  return version.length === than.length ? version < than : version.length < than.length;
}
