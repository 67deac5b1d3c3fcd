/**
 * The amplification test: for each field of a pod, the largest value of the worst characters that the real API server admits, on the shipped kubelet. A
 * batch is ten pods, each with another field; a batch that misses a bound is bisected; the ten worst fields run again as ten pods of one.
 *
 *   npm run test:amplification [-- [--each] [--part=1/8] [--sample | PART-OF-A-FIELD'S-NAME...]]
 *
 * With --each, a batch is one pod. With --part=1/8, only each eighth field runs. With --sample, ten fields run without a search. Prints the table of the worst fields, and exits with 1 when a bound is missed.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { ensureControlPlane } from '../../../lab/programs/control-plane.ts';
import { TestClusterNode } from '../cluster/cluster-node.ts';
import { missedBounds, renderCosts, worstFields, type FieldCost } from './bounds.ts';
import { growingFields, nameOf } from './fields.ts';
import { findLargest, minBytes, toPods, type LargeField } from './largest-values.ts';
import { measureBatch, smallPod } from './measure-batch.ts';
import { sampleFields } from './sample.ts';
import { bisect, toBatches } from './search.ts';
import { forEachParallel } from '../../../src/shared/concurrency/for-each-parallel.ts';

const isEach = process.argv.includes('--each');
const isSample = process.argv.includes('--sample');
const [part = 1, parts = 1] = (process.argv.find((arg) => arg.startsWith('--part=')) ?? '')
  .slice('--part='.length)
  .split('/')
  .filter(Boolean)
  .map(Number);
const batchSize = isEach ? 1 : 10;
/** Of the table, and of the fields that run as ten pods. */
const worstCount = 10;
const wholeMs = 45 * 60_000;
const warmUpPods = 10;
/** In which the threads return the memory of their start. */
const quietMs = 40_000;
const parallelTries = 4;

// Programs that are missing take minutes to build.
await ensureControlPlane(console.log);
const startedAtMs = performance.now();
const node = await TestClusterNode.start('amplification');
process.once('SIGTERM', () => void node.destroy().finally(() => process.exit(1)));
try {
  process.exitCode = (await runWhole(process.argv.slice(2).filter((arg) => !arg.startsWith('--')))) ? 0 : 1;
} finally {
  await node.destroy();
}

async function runWhole(wanted: readonly string[]): Promise<boolean> {
  await warmUp();
  const large = isSample ? sampleFields() : await largeFields(wanted);
  const costs: FieldCost[] = [];
  const measure = async (batch: readonly LargeField[], name: string) => {
    if (performance.now() - startedAtMs > wholeMs) throw new Error('the time is over');
    const sample = await measureBatch(node, toPods(node.nodeName, batch));
    const missed = missedBounds(sample);
    costs.push({ field: name, sample });
    print(
      `${renderCosts([{ field: name, sample }])
        .split('\n')
        .at(-1)}`,
    );
    return missed;
  };
  const misses: string[] = [];
  for (const batch of toBatches(large, batchSize)) {
    const parts = await bisect(batch, (items) => measure(items, items.map(({ field }) => nameOf(field)).join(', ')));
    for (const { items, missed } of parts) misses.push(`${items.map(({ field }) => nameOf(field)).join(', ')}: ${missed.join('; ')}`);
  }
  const worstNames = new Set(worstFields(costs, worstCount).flatMap(({ field }) => field.split(', ')));
  const alone = isEach || isSample ? [] : large.filter(({ field }) => worstNames.has(nameOf(field))).slice(0, worstCount);
  for (const one of alone) {
    const name = `${nameOf(one.field)}, ten pods`;
    const missed = await measure(
      Array.from({ length: worstCount }, () => one),
      name,
    );
    if (missed.length > 0) misses.push(`${name}: ${missed.join('; ')}`);
  }
  console.log(renderCosts(worstFields(costs, worstCount)));
  console.log(misses.length === 0 ? 'all bounds are kept' : `missed:\n${misses.join('\n')}`);
  return misses.length === 0;
}

/** A new kubelet grows with its first pods, whatever they are. */
async function warmUp(): Promise<void> {
  const startMs: number[] = [];
  for (let index = 0; index < warmUpPods; index += 1) {
    startMs.push(await smallPod(node, `warm-${index}`));
    await node.api.remove(`${node.podsPath}/warm-${index}`, { gracePeriodSeconds: 0 });
  }
  print(`a small pod alone starts in ${startMs.map(Math.round).join(', ')} ms`);
  await sleep(quietMs);
}

async function largeFields(wanted: readonly string[]): Promise<readonly LargeField[]> {
  const fields = growingFields()
    .filter((field) => wanted.length === 0 || wanted.some((text) => nameOf(field).includes(text)))
    .filter((_, index) => index % parts === part - 1);
  const found = new Map<string, LargeField>();
  const impossible: string[] = [];
  await forEachParallel(fields, parallelTries, async (field) => {
    const largest = await findLargest(node, field);
    if (typeof largest === 'string') impossible.push(`${nameOf(field)}: ${largest}`);
    else if (largest) found.set(nameOf(field), largest);
  });
  print(`${found.size} of ${fields.length} fields take more than ${minBytes} bytes`);
  if (impossible.length > 0) print(`the API server takes no value of ${impossible.length}:\n${impossible.toSorted().join('\n')}`);
  return fields.flatMap((field) => found.get(nameOf(field)) ?? []);
}

function print(text: string): void {
  console.log(`${Math.round((performance.now() - startedAtMs) / 1000)} s: ${text}`);
}
