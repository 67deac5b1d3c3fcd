/** As much of ASN.1's DER as certificates, and requests for them, are made of. Node reads certificates and signs, but writes none. */

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
export const nothing = (): Der => element(0x05, Buffer.alloc(0));
export const octets = (content: Buffer): Der => element(0x04, content);
export const utf8 = (text: string): Der => element(0x0c, Buffer.from(text));
/** `[number]` around a value that keeps its own tag. */
export const explicit = (number: number, content: Der): Der => element(0xa0 | number, content);
/** `[number]` in place of the tag of bytes. */
export const implicit = (number: number, content: Buffer): Der => element(0x80 | number, content);

/** Not negative. */
export function integer(value: bigint): Der {
  const bytes = unsignedBytes(value);
  // A leading one would make it negative.
  return element(0x02, bytes[0]! >= 0x80 ? Buffer.concat([Buffer.from([0]), bytes]) : bytes);
}

/** Bits from the most significant of the first byte; `unused` of the last byte don't count. */
export function bits(content: Buffer, unused = 0): Der {
  return element(0x03, Buffer.concat([Buffer.from([unused]), content]));
}

/** `1.2.840.…` */
export function oid(dotted: string): Der {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  return element(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

function base128(arc: number): number[] {
  const bytes = [arc & 0x7f];
  for (let left = Math.floor(arc / 128); left > 0; left = Math.floor(left / 128)) bytes.unshift((left & 0x7f) | 0x80);
  return bytes;
}

/** To the second. UTCTime until 2049, GeneralizedTime after that, as X.509 demands. */
export function time(ms: number): Der {
  const text = new Date(ms).toISOString().replaceAll(/[-:T]|\.\d+/g, '');
  return text < '2050' ? element(0x17, Buffer.from(text.slice(2))) : element(0x18, Buffer.from(text));
}
