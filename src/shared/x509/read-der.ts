/** Reads ASN.1 DER. Pure. Throws for bytes that are not DER. */

export interface Element {
  readonly tag: number;
  readonly content: Buffer;
}

/** Returns the elements that follow each other in the bytes. */
export function elements(bytes: Buffer): Element[] {
  const elementList: Element[] = [];
  for (let elementStart = 0; elementStart < bytes.length;) {
    const tag = bytes[elementStart]!;
    let length = bytes[elementStart + 1] ?? 0x80;
    let start = elementStart + 2;
    if (length >= 0x80) {
      const octets = length & 0x7f;
      // DER has definite lengths only (an indefinite one has 0 octets). No certificate in a handshake has a length of four octets.
      if (octets === 0 || octets > 3 || start + octets > bytes.length) throw new Error('this is not DER');
      length = bytes.readUIntBE(start, octets);
      start += octets;
    }
    if (start + length > bytes.length) throw new Error('this is not DER');
    elementList.push({ tag, content: bytes.subarray(start, start + length) });
    elementStart = start + length;
  }
  return elementList;
}
