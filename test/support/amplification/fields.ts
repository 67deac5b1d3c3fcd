/** The fields of a pod that may be large, from the schema, each with a pod that has one large value in it. Pure. */
import { podSpec } from '../../../src/shared/kubernetes/schema/pod-spec.ts';
import { objectMeta } from '../../../src/shared/kubernetes/schema/metadata.ts';
import type { Schema } from '../../../src/shared/kubernetes/schema/types.ts';
import { sizedFields, type SizedField } from '../bounds/schema-fields.ts';

/** `long`: one text of the size. `many`: as many short elements as have the size. */
export type Growth = 'long' | 'many';

export interface GrowingField {
  /** Below the pod: `spec`, `containers`, `[]`, `args`, `[]`. */
  readonly path: readonly string[];
  readonly growth: Growth;
  /** Of a field with many elements. */
  readonly elements?: { readonly of: 'list' | 'map'; readonly kind: Schema['kind'] };
}

export function nameOf({ path, growth }: GrowingField): string {
  return `${path.join('.').replaceAll('.[]', '[]').replaceAll('.{}', '{}')} ${growth}`;
}

/** What the API server sets, or the kubelet. */
const notOfUsers: ReadonlySet<string> = new Set(['selfLink', 'uid', 'resourceVersion', 'name', 'generateName', 'namespace', 'nodeName']);

/** Returns the fields of metadata and spec. Which of them have a limit is found out by trying: the API server knows it. */
export function growingFields(): readonly GrowingField[] {
  const below = (part: string, fields: readonly SizedField[]) => fields.map((field) => ({ ...field, path: [part, ...field.path] }));
  const all = [...below('metadata', sizedFields(objectMeta)), ...below('spec', sizedFields(podSpec))];
  return all
    .filter(({ path }) => path.length > 2 || !notOfUsers.has(path[1]!))
    .flatMap(({ path, kind, element }): GrowingField[] => {
      if (kind === 'quantity') return [];
      if (kind === 'list' || kind === 'map') return [{ path, growth: 'many', elements: { of: kind, kind: element ?? 'text' } }];
      return [{ path, growth: 'long' }];
    });
}

/** Of each kind that costs more than itself: JSON escapes of six bytes, three bytes of UTF-8, and a letter, where a format admits no other. */
export const worstCharacters = ['\u0001', '<', '\u2028', 'a'] as const;

/** Returns values of the field's size in bytes of UTF-8, and at least one. */
export function largeText(bytes: number, character: string): string {
  return character.repeat(Math.max(1, Math.floor(bytes / Buffer.byteLength(character))));
}
