/** Resource versions as the API server promises them since 1.35: decimal numbers without leading zeros, which may be compared within one kind. */

/** False also when one of them is no such number: then nothing is known. */
export function isOlder(version: string, than: string): boolean {
  if (!/^[1-9]\d*$/.test(version) || !/^[1-9]\d*$/.test(than)) return false;
  return version.length === than.length ? version < than : version.length < than.length;
}
