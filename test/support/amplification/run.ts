/**
 * The amplification test: for each field of a pod, the largest value of the worst characters that the real API server admits, on the shipped kubelet. A
 * batch is ten pods, each with another field; a batch that misses a bound is bisected; the ten worst fields run again as ten pods of one.
 *
 *   npm run test:amplification [-- PART-OF-A-FIELD'S-NAME...]
 *
 * Prints the table of the worst fields, and exits with 1 when a bound is missed.
 */
import { TestClusterNode } from '../cluster/cluster-node.ts';
import { protobufPod } from '../cluster/protobuf-pod.ts';
import { missedBounds, renderCosts, worstFields, type FieldCost } from './bounds.ts';
import { growingFields, nameOf, worstCharacters, type GrowingField } from './fields.ts';
import { measureBatch, type LargePod } from './measure-batch.ts';
import { podWithLargeField } from './pods.ts';
import { bisect, largestAdmitted, toBatches } from './search.ts';

/** etcd takes 1.5 MiB with the request around it. */
const maxBytes = 1_400_000;
/** A field that takes no more has a limit of its own. */
const minBytes = 4096;
const batchSize = 10;
const wholeMs = 45 * 60_000;
const times = { stayMs: 8_000, settleMs: 20_000 };
/** Of the worst fields, whose memory must be back after two minutes. */
const finalTimes = { stayMs: 15_000, settleMs: 120_000 };

interface LargeField {
  readonly field: GrowingField;
  readonly bytes: number;
  readonly character: string;
}

const endMs = performance.now() + wholeMs;
const node = await TestClusterNode.start('amplification');
try {
  process.exitCode = (await runWhole(process.argv.slice(2))) ? 0 : 1;
} finally {
  await node.destroy();
}

async function runWhole(wanted: readonly string[]): Promise<boolean> {
  const fields = growingFields().filter((field) => wanted.length === 0 || wanted.some((part) => nameOf(field).includes(part)));
  const large: LargeField[] = [];
  for (const field of fields) {
    const found = await findLargest(field);
    if (found) large.push(found);
  }
  console.log(`${large.length} of ${fields.length} fields take more than ${minBytes} bytes`);
  const costs: FieldCost[] = [];
  const failures: FieldCost[] = [];
  const measure = async (batch: readonly LargeField[]) => {
    const sample = await measureBatch(node, toPods(batch), times);
    const cost = { field: batch.map(({ field }) => nameOf(field)).join(', '), sample };
    const missed = missedBounds(sample);
    if (batch.length === 1 || missed.length === 0) costs.push(cost);
    if (missed.length > 0 && batch.length === 1) failures.push(cost);
    console.log(`${missed.join('; ') || 'kept'}: ${cost.field}`);
    return missed;
  };
  let misses = 0;
  for (const batch of toBatches(large, batchSize)) {
    if (performance.now() > endMs) throw new Error('the time is over');
    misses += (await bisect(batch, measure)).length;
  }
  const alone = large.filter(({ field }) => worstFields(costs, batchSize).some((cost) => cost.field.split(', ').includes(nameOf(field))));
  for (const one of alone.slice(0, batchSize)) {
    if (performance.now() > endMs) throw new Error('the time is over');
    const sample = await measureBatch(node, toPods(Array.from({ length: batchSize }, () => one)), finalTimes);
    costs.push({ field: `${nameOf(one.field)}, ten pods`, sample });
    misses += missedBounds(sample).length;
  }
  console.log(renderCosts([...failures, ...worstFields(costs, 2 * batchSize)]));
  return misses === 0;
}

/** Returns the field with the costliest character of which the API server admits much. */
async function findLargest(field: GrowingField): Promise<LargeField | undefined> {
  for (const character of field.growth === 'many' ? ['a'] : worstCharacters) {
    const bytes = await largestAdmitted(maxBytes, minBytes, async (size) => {
      const body = protobufPod(podWithLargeField('tried', node.nodeName, field, size, character));
      return node.api.createProtobuf(`${node.podsPath}?dryRun=All`, body).then(
        () => true,
        () => false,
      );
    });
    if (bytes > 0) return { field, bytes, character };
  }
  return undefined;
}

function toPods(fields: readonly LargeField[]): readonly LargePod[] {
  return fields.map(({ field, bytes, character }, index) => {
    const name = `large-${index}`;
    return { name, manifest: podWithLargeField(name, node.nodeName, field, bytes, character) };
  });
}
