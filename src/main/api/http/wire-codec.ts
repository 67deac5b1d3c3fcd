/**
 * How objects stand on the wire. JSON is spoken whatever `contentType` asks for: the API server takes and gives it for every type, and
 * unknown fields survive it. Protobuf or CBOR would be another object of this shape.
 */
import type { ApiCall } from '../api-client.ts';

export interface WireCodec {
  readonly accept: string;
  contentType(patch: ApiCall['patch']): string;
  encode(body: unknown): string | Buffer;
  /** Throws on what can't be read. */
  decode(bytes: Buffer): unknown;
}

const patchTypes = {
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  json: 'application/json-patch+json',
} as const;

export const jsonCodec: WireCodec = {
  accept: 'application/json',
  contentType: (patch) => (patch ? patchTypes[patch] : 'application/json'),
  encode: (body) => JSON.stringify(body),
  decode: (bytes) => JSON.parse(bytes.toString('utf8')),
};
