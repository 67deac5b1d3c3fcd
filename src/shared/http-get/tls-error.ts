/** Go's texts for a TLS connection that fails (crypto/tls). Pure. OpenSSL's own texts remain for what is not listed here. */
import { firstBytesLength, type ReceivedBytes } from '../dial/watched-connection.ts';

export const plainHttpText = 'http: server gave HTTP response to HTTPS client';

const notTLSText = 'tls: first record does not look like a TLS handshake';
const recordHeaderBytes = 5;
const recordTypes = { alert: 21, handshake: 22 } as const;
/** Go: maxCiphertext. */
const maxRecordBytes = 16 * 1024 + 2048;

/** Go: alertText in crypto/tls/alert.go. */
const alertTexts: Readonly<Record<string, string>> = {
  10: 'unexpected message',
  20: 'bad record MAC',
  21: 'decryption failed',
  22: 'record overflow',
  30: 'decompression failure',
  40: 'handshake failure',
  42: 'bad certificate',
  43: 'unsupported certificate',
  44: 'revoked certificate',
  45: 'expired certificate',
  46: 'unknown certificate',
  47: 'illegal parameter',
  48: 'unknown certificate authority',
  49: 'access denied',
  50: 'error decoding message',
  51: 'error decrypting message',
  60: 'export restriction',
  70: 'protocol version not supported',
  71: 'insufficient security level',
  80: 'internal error',
  86: 'inappropriate fallback',
  90: 'user canceled',
  100: 'no renegotiation',
  109: 'missing extension',
  110: 'unsupported extension',
  111: 'certificate unobtainable',
  112: 'unrecognized name',
  113: 'bad certificate status response',
  114: 'bad certificate hash value',
  115: 'unknown PSK identity',
  116: 'certificate required',
  120: 'no application protocol',
  121: 'encrypted client hello required',
};

/** Returns the text of an error of OpenSSL; undefined for an error of the connection below it. */
export function tlsErrorText(err: unknown, { first }: ReceivedBytes): string | undefined {
  const { code, message } = err as NodeJS.ErrnoException;
  if (!/^(?:ERR_SSL|EPROTO)/.test(code ?? '')) return undefined;
  const [, alert] = /SSL alert number (\d+)/.exec(message) ?? [];
  if (alert !== undefined) return `remote error: tls: ${alertTexts[alert] ?? `alert(${alert})`}`;
  const firstRecord = firstRecordText(first);
  if (firstRecord !== undefined) return firstRecord;
  const [, reason = message] = /SSL routines:[^:]*:([^:]+)/.exec(message) ?? [];
  // The version of a ServerHello follows the headers of the record (5 bytes) and of the handshake message (4).
  if (reason === 'unsupported protocol' && first.length >= firstBytesLength)
    return `tls: server selected unsupported protocol version ${first.readUInt16BE(9).toString(16)}`;
  if (reason === 'unexpected message') return 'local error: tls: unexpected message';
  if (/length|decode|parse/.test(reason)) return 'local error: tls: error decoding message';
  return `tls: ${reason}`;
}

/** Returns Go's text for what is wrong with the header of the first record. Undefined: nothing. */
function firstRecordText(first: Buffer): string | undefined {
  if (first.length < recordHeaderBytes) return undefined;
  if (first.toString('latin1', 0, recordHeaderBytes) === 'HTTP/') return plainHttpText;
  // Like Go, takes a version from 16.0 on for another protocol: TLS 1.3 is 3.4.
  const [type, version, length] = [first[0], first.readUInt16BE(1), first.readUInt16BE(3)];
  if ((type !== recordTypes.alert && type !== recordTypes.handshake) || version >= 0x1000) return notTLSText;
  return length > maxRecordBytes ? `tls: oversized record received with length ${length}` : undefined;
}

/** Returns Go's text when the server has closed the connection in the handshake: `unexpected EOF` within the first record, else `EOF`. */
export function handshakeEndText({ first, count }: ReceivedBytes): string {
  if (count === 0) return 'EOF';
  const isWithinFirstRecord = first.length < recordHeaderBytes || count < recordHeaderBytes + first.readUInt16BE(3);
  return isWithinFirstRecord ? 'unexpected EOF' : 'EOF';
}
