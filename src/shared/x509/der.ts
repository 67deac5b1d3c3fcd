/**
 * Encodes the parts of ASN.1 DER that certificates and certificate requests need. Node can parse certificates and sign, but
 * cannot encode DER.
 */

export type Der = Buffer;

function element(tag: number, content: Buffer): Der {
  return Buffer.concat([Buffer.from([tag]), lengthOf(content), content]);
}

function lengthOf({ length }: Buffer): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const bytes = unsignedBytes(BigInt(length));
  return Buffer.concat([Buffer.from([0x80 | bytes.length]), bytes]);
}

function unsignedBytes(value: bigint): Buffer {
  const hex = value.toString(16);
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex');
}

export const sequence = (...items: readonly Der[]): Der => element(0x30, Buffer.concat(items));
export const set = (...items: readonly Der[]): Der => element(0x31, Buffer.concat(items));
export const boolean = (value: boolean): Der => element(0x01, Buffer.from([value ? 0xff : 0]));
/** ASN.1's NULL. */
export const nullValue = (): Der => element(0x05, Buffer.alloc(0));
export const octets = (content: Buffer): Der => element(0x04, content);
export const printableString = (text: string): Der => element(0x13, Buffer.from(text, 'ascii'));
export const utf8 = (text: string): Der => element(0x0c, Buffer.from(text));
/** A context-specific tag `[number]` around a value that keeps its own tag. */
export const explicit = (number: number, content: Der): Der => element(0xa0 | number, content);
/** A context-specific tag `[number]` that replaces the tag of the content. */
export const implicit = (number: number, content: Buffer): Der => element(0x80 | number, content);

/** `value` must not be negative. */
export function integer(value: bigint): Der {
  const bytes = unsignedBytes(value);
  // A leading 1 bit would make the number negative.
  return element(0x02, bytes[0]! >= 0x80 ? Buffer.concat([Buffer.from([0]), bytes]) : bytes);
}

/** Bits start at the most significant bit of the first byte. The last `unused` bits of the last byte do not count. */
export function bits(content: Buffer, unused = 0): Der {
  return element(0x03, Buffer.concat([Buffer.from([unused]), content]));
}

/** `dotted` has the form `1.2.840.…`. */
export function oid(dotted: string): Der {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  // The first two arcs share a byte.
  return element(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

function base128(arc: number): number[] {
  const bytes = [arc & 0x7f];
  for (let remaining = Math.floor(arc / 128); remaining > 0; remaining = Math.floor(remaining / 128))
    bytes.unshift((remaining & 0x7f) | 0x80);
  return bytes;
}

/** Precision is one second. X.509 requires UTCTime until 2049 and GeneralizedTime from 2050. */
export function asn1Time(ms: number): Der {
  const text = new Date(ms).toISOString().replaceAll(/[-:T]|\.\d+/g, '');
  return text < '2050' ? element(0x17, Buffer.from(text.slice(2))) : element(0x18, Buffer.from(text));
}
