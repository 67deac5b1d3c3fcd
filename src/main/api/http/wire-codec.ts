/**
 * Encodes and decodes objects on the wire. The kubelet uses JSON whatever the setting `contentType` asks for: the API server supports JSON
 * for every type, and JSON keeps unknown fields. Protobuf or CBOR would be another implementation of WireCodec.
 */
import { largeGarbage } from '../../../shared/heap/large-garbage.ts';
import type { ApiCall } from '../api-client.ts';

export interface WireCodec {
  readonly accept: string;
  /** For calls whose answer is only the metadata. */
  readonly acceptMetadata: string;
  contentType(patch: ApiCall['patch']): string;
  encode(body: unknown): string | Buffer;
  /** Throws on malformed input. */
  decode(bytes: Buffer): unknown;
}

const patchTypes = {
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  json: 'application/json-patch+json',
} as const;

export const jsonCodec: WireCodec = {
  accept: 'application/json',
  acceptMetadata: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json',
  contentType: (patch) => (patch ? patchTypes[patch] : 'application/json'),
  encode: (body) => JSON.stringify(body),
  decode: (bytes) => {
    // Three copies become garbage: the text, the buffer, and the chunks that the buffer was joined from.
    largeGarbage.add(3 * bytes.length);
    return JSON.parse(bytes.toString('utf8'));
  },
};
