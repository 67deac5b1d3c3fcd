/** Reads the frame of a request and its time-out, and encodes messages of statuses (PROTOCOL-HTTP2.md of grpc). Pure. */
import { prefixBytes } from '../../../shared/grpc-client/frame.ts';
import { GrpcError, statusCode } from './status.ts';

/** Returns the only message of a request: a frame of one byte (1: compressed), four bytes of length, and the message. Throws GrpcError. */
export function unframeMessage(body: Buffer): Buffer {
  if (body.length < prefixBytes) throw new GrpcError(statusCode.INTERNAL, 'the request has no message');
  if (body.readUInt8(0) !== 0) throw new GrpcError(statusCode.UNIMPLEMENTED, 'grpc: Decompressor is not installed');
  if (body.readUInt32BE(1) !== body.length - prefixBytes)
    throw new GrpcError(statusCode.INTERNAL, 'the request has not exactly one message');
  return body.subarray(prefixBytes);
}

const unitMs: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 };

/** Returns the value of the `grpc-timeout` header in ms. Null: the call has no limit. */
export function parseTimeout(header: unknown): number | null {
  const [, amount = '', unit = ''] = /^(\d{1,8})([HMSmun])$/.exec(typeof header === 'string' ? header : '') ?? [];
  return amount === '' ? null : Number(amount) * (unitMs[unit] ?? 0);
}

/** The longest message of a status, in characters: the size of headers is limited. */
const maxStatusMessage = 1024;

/** Encodes the text for the `grpc-message` trailer: everything but printable ASCII without `%` is percent-encoded. */
export function encodeStatusMessage(text: string): string {
  const shortened = text.toWellFormed().slice(0, maxStatusMessage).toWellFormed();
  return shortened.replace(/[^ -$&-~]/gu, (character) => encodeURIComponent(character));
}
