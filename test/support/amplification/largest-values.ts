/** Asks the API server for the largest value that it admits of a field. */
import type { TestClusterNode } from '../cluster/cluster-node.ts';
import { protobufPod } from '../cluster/protobuf-pod.ts';
import { worstCharacters, type GrowingField } from './fields.ts';
import type { LargePod } from './measure-batch.ts';
import { podWithLargeField } from './pods.ts';
import { largestAdmitted } from './search.ts';

const maxBytes = 1_400_000;
/** etcd takes 1.5 MiB with the request around it. A dry run does not reach it, and the API server adds defaults. */
const maxStoredBytes = 1_500_000;
/** A field that takes no more has a limit of its own. */
export const minBytes = 4096;
/** The API server compares some elements with all others; its clients wait 15 s, and the pod itself takes longer than the dry run. */
const maxAdmissionMs = 4000;
const maxReasonLength = 200;

export interface LargeField {
  readonly field: GrowingField;
  readonly bytes: number;
  readonly character: string;
}

/** Returns the field with the costliest character of which the API server admits much, or undefined when it admits little, or why it admits no value at all. */
export async function findLargest(node: TestClusterNode, field: GrowingField): Promise<LargeField | undefined | string> {
  /** Resolves with the pod's bytes in etcd, or with the refusal. */
  const tryValue = (bytes: number, character: string): Promise<number | Error> =>
    node.api
      .createProtobuf(`${node.podsPath}?dryRun=All`, protobufPod(podWithLargeField('tried', node.nodeName, field, bytes, character)))
      .catch((err: Error) => err);
  for (const character of field.growth === 'many' ? ['a'] : worstCharacters) {
    const bytes = await largestAdmitted(maxBytes, minBytes, async (size) => {
      const startedAtMs = performance.now();
      const stored = await tryValue(size, character);
      return typeof stored === 'number' && stored <= maxStoredBytes && performance.now() - startedAtMs < maxAdmissionMs;
    });
    if (bytes > 0) return { field, bytes, character };
  }
  const refusal = await tryValue(1, 'a');
  return typeof refusal === 'number' ? undefined : refusal.message.slice(0, maxReasonLength);
}

export function toPods(nodeName: string, fields: readonly LargeField[]): readonly LargePod[] {
  return fields.map(({ field, bytes, character }, index) => {
    const name = `large-${index}`;
    return { name, manifest: podWithLargeField(name, nodeName, field, bytes, character) };
  });
}
