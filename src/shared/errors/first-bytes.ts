/** The longest start of the text that has at most `bytes` bytes in UTF-8. All bytes of a character but the first have the bits 10xxxxxx there. */
export function firstBytes(text: string, bytes: number): string {
  const buffer = Buffer.from(text);
  if (buffer.length <= bytes) return text;
  let end = bytes;
  while (end > 0 && (buffer[end]! & 0xc0) === 0x80) end -= 1;
  return buffer.toString('utf8', 0, end);
}
