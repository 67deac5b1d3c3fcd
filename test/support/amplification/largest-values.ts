/** Asks the API server for the largest value that it admits of a field. */
import type { TestClusterNode } from '../cluster/cluster-node.ts';
import { protobufPod } from '../cluster/protobuf-pod.ts';
import { worstCharacters, type GrowingField } from './fields.ts';
import type { LargePod } from './measure-batch.ts';
import { podWithLargeField } from './pods.ts';
import { largestAdmitted } from './search.ts';

/** etcd takes 1.5 MiB with the request around it. */
const maxBytes = 1_400_000;
/** A field that takes no more has a limit of its own. */
export const minBytes = 4096;
const maxReasonLength = 200;

export interface LargeField {
  readonly field: GrowingField;
  readonly bytes: number;
  readonly character: string;
}

/** Returns the field with the costliest character of which the API server admits much, or undefined when it admits little, or why it admits no value at all. */
export async function findLargest(node: TestClusterNode, field: GrowingField): Promise<LargeField | undefined | string> {
  const refusal = (bytes: number, character: string): Promise<Error | null> =>
    node.api
      .createProtobuf(`${node.podsPath}?dryRun=All`, protobufPod(podWithLargeField('tried', node.nodeName, field, bytes, character)))
      .then(
        () => null,
        (err: Error) => err,
      );
  for (const character of field.growth === 'many' ? ['a'] : worstCharacters) {
    const bytes = await largestAdmitted(maxBytes, minBytes, async (size) => (await refusal(size, character)) === null);
    if (bytes > 0) return { field, bytes, character };
  }
  return (await refusal(1, 'a'))?.message.slice(0, maxReasonLength);
}

export function toPods(nodeName: string, fields: readonly LargeField[]): readonly LargePod[] {
  return fields.map(({ field, bytes, character }, index) => {
    const name = `large-${index}`;
    return { name, manifest: podWithLargeField(name, nodeName, field, bytes, character) };
  });
}
