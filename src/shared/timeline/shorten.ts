/** Shortens texts to a number of bytes. Pure. */

/** Cuts a text between two characters. */
export function truncateBytes(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  let end = maxBytes;
  // The next byte must not continue a character of UTF-8.
  while (end > 0 && (bytes[end]! & 0xc0) === 0x80) end -= 1;
  return bytes.toString('utf8', 0, end);
}

/** Shortens a name. The result ends with a hash of the whole name (half of FNV-1a's 32 bits), so that different names stay different. */
export function shortenName(name: string, maxBytes: number): string {
  if (Buffer.byteLength(name) <= maxBytes) return name;
  let hash = 0x811c9dc5;
  for (let i = 0; i < name.length; i += 1) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193);
  const suffix = `~${(hash >>> 16).toString(16).padStart(4, '0')}`;
  return `${truncateBytes(name, maxBytes - suffix.length)}${suffix}`;
}
