/** Makes the files of a Secret or ConfigMap: all keys, or those listed in `items` (upstream MakePayload in pkg/volume/{secret,configmap}). Pure. */
import type { ConfigMapObject, SecretObject } from '../../../../shared/contracts/pod-objects.ts';
import type { Volume } from '../../../../shared/kubernetes/api.ts';
import type { FileProjection, Payload } from './atomic-writer.ts';
import { collectFiles } from './check-payload.ts';
import type { ResolveFileUser } from './file-user.ts';

export type KeyToPath = NonNullable<NonNullable<Volume['secret']>['items']>[number];

export interface PayloadOptions {
  readonly items: readonly KeyToPath[] | undefined;
  readonly mode: number;
  readonly defaultUser: number | undefined;
  readonly resolveFileUser: ResolveFileUser;
  /** True: missing keys are skipped. */
  readonly optional: boolean;
  readonly maxBytes: number;
}

/** Throws an Error that names the missing key. */
export function makeObjectPayload(
  object: SecretObject | ConfigMapObject,
  { items = [], mode, optional, defaultUser, resolveFileUser, maxBytes }: PayloadOptions,
): Payload {
  const content = contentOf(object);
  function* files(): Generator<[string, FileProjection]> {
    if (items.length === 0) {
      const user = resolveFileUser(undefined, defaultUser);
      for (const [key, bytes] of content) yield [key, { content: bytes, mode, user }];
    }
    for (const { key, path, mode: own, user } of items) {
      const bytes = content.get(key);
      if (bytes !== undefined) yield [path, { content: bytes, mode: own ?? mode, user: resolveFileUser(user, defaultUser) }];
      else if (!optional)
        throw new Error(
          object.kind === 'Secret' ? `references non-existent secret key: ${key}` : `configmap references non-existent config key: ${key}`,
        );
    }
  }
  return collectFiles(files(), maxBytes);
}

function contentOf(object: SecretObject | ConfigMapObject): ReadonlyMap<string, string | Uint8Array> {
  if (object.kind === 'Secret') return decodeValues(object.data);
  return new Map<string, string | Uint8Array>([...Object.entries(object.data), ...decodeValues(object.binaryData)]);
}

function decodeValues(base64: Readonly<Record<string, string>>): ReadonlyMap<string, Uint8Array> {
  return new Map(Object.entries(base64).map(([key, text]) => [key, Buffer.from(text, 'base64')]));
}
