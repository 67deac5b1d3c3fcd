/** Makes the files of a Secret or ConfigMap: all keys, or those listed in `items` (upstream MakePayload in pkg/volume/{secret,configmap}). Pure. */
import type { ConfigMapObject, SecretObject } from '../../../shared/contracts/pod-objects.ts';
import type { Volume } from '../../../shared/kubernetes/api.ts';
import type { FileProjection, Payload } from './atomic-writer.ts';
import type { ResolveFileUser } from './file-user.ts';

export type KeyToPath = NonNullable<NonNullable<Volume['secret']>['items']>[number];

export interface PayloadOptions {
  readonly items: readonly KeyToPath[] | undefined;
  readonly mode: number;
  readonly defaultUser: number | undefined;
  readonly resolveFileUser: ResolveFileUser;
  /** Skips missing keys. */
  readonly optional: boolean;
}

/** Throws an Error that names the missing key. */
export function makeObjectPayload(
  object: SecretObject | ConfigMapObject,
  { items = [], mode, optional, defaultUser, resolveFileUser }: PayloadOptions,
): Payload {
  const content = contentOf(object);
  if (items.length === 0) {
    const user = resolveFileUser(undefined, defaultUser);
    return new Map([...content].map(([key, bytes]) => [key, { content: bytes, mode, user }]));
  }
  return new Map(
    items.flatMap(({ key, path, mode: own, user }): [string, FileProjection][] => {
      const bytes = content.get(key);
      if (bytes !== undefined) return [[path, { content: bytes, mode: own ?? mode, user: resolveFileUser(user, defaultUser) }]];
      if (optional) return [];
      throw new Error(
        object.kind === 'Secret' ? `references non-existent secret key: ${key}` : `configmap references non-existent config key: ${key}`,
      );
    }),
  );
}

function contentOf(object: SecretObject | ConfigMapObject): ReadonlyMap<string, string | Uint8Array> {
  if (object.kind === 'Secret') return decodeValues(object.data);
  return new Map<string, string | Uint8Array>([...Object.entries(object.data), ...decodeValues(object.binaryData)]);
}

function decodeValues(base64: Readonly<Record<string, string>>): ReadonlyMap<string, Uint8Array> {
  return new Map(Object.entries(base64).map(([key, text]) => [key, Buffer.from(text, 'base64')]));
}
