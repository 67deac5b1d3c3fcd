/** Random operations for resizes on a modelled node: what pods ask for, and what can fail or end in the middle of bringing it into force. */
import * as fc from 'fast-check';
import { record } from '../pod-histories/operation-parts.ts';
import type { RestartPolicy } from '../pod-histories/operations.ts';
import { shapes, sizedShapes } from '../pod-histories/pod-shapes.ts';
import { apiSlots, staticSlots, type ModelOperation } from './model-operations.ts';
import type { SandboxUpdates } from './runtime-calls.ts';
import { mebibytes, milliCPUs, nodeCPUs, nodeMemory } from './resize-operation.ts';

/** Random operations; at most `count`. */
export function resizeOperations(count: number): fc.Arbitrary<readonly ModelOperation[]> {
  const slot = fc.nat(apiSlots - 1);
  const pick = fc.nat(99);
  const times = fc.integer({ min: 1, max: 4 });
  const staticSlot = fc.nat(staticSlots - 1);
  const sizedShape = fc.integer({ min: shapes.length, max: shapes.length + sizedShapes.length - 1 });
  const amounts = {
    cpu: fc.nat(milliCPUs.length - 1),
    memory: fc.nat(mebibytes.length - 1),
    parts: fc.constantFrom<'cpu' | 'memory' | 'both'>('cpu', 'memory', 'both'),
  };
  const create = record('create', {
    slot,
    shape: sizedShape,
    isCritical: fc.constantFrom(false, false, false, true),
    policy: fc.constantFrom<RestartPolicy>('Always', 'Always', 'OnFailure', 'Never'),
    graceSeconds: fc.constantFrom(1, 2),
  });
  const faulty = fc.constantFrom(
    'UpdateContainerResources',
    'UpdateContainerResources',
    'UpdatePodSandboxResources',
    'CreateContainer',
    'StartContainer',
    'StopContainer',
    'ContainerStatus',
  );
  const fault = record('fault', { call: faulty, kind: fc.constantFrom<FaultKind>('fail', 'failAfter', 'delay', 'hang'), times });
  const one: fc.Arbitrary<ModelOperation> = fc.oneof(
    { weight: 6, arbitrary: create },
    {
      weight: 18,
      arbitrary: record('resize', {
        slot,
        pick,
        ...amounts,
      }),
    },
    {
      weight: 2,
      arbitrary: record('putStatic', {
        slot: staticSlot,
        shape: sizedShape,
        policy: fc.constantFrom<RestartPolicy>('Always', 'Always', 'OnFailure'),
        graceSeconds: fc.constant(1),
      }),
    },
    { weight: 4, arbitrary: record('resizeStatic', { slot: staticSlot, pick, ...amounts }) },
    { weight: 1, arbitrary: record('removeStatic', { slot: staticSlot }) },
    { weight: 3, arbitrary: record('resizeVolume', { slot, memory: amounts.memory }) },
    { weight: 2, arbitrary: record('nodeChanges', { cpu: fc.nat(nodeCPUs.length - 1), memory: fc.nat(nodeMemory.length - 1) }) },
    { weight: 3, arbitrary: record('use', { pick, share: fc.constantFrom(0, 0.3, 0.9) }) },
    { weight: 8, arbitrary: record('killAt', { points: fc.integer({ min: 1, max: 12 }), downMs: fc.constantFrom(0, 10, 3000) }) },
    { weight: 2, arbitrary: record('diskFull', { ms: fc.constantFrom(10, 1000, 30_000) }) },
    { weight: 2, arbitrary: record('cgroupFault', { times: fc.integer({ min: 1, max: 3 }) }) },
    {
      weight: 2,
      arbitrary: record('sandboxUpdates', {
        answer: fc.constantFrom<SandboxUpdates>('works', 'unimplemented', 'unknown', 'refuses', 'hangs'),
      }),
    },
    { weight: 5, arbitrary: fault },
    { weight: 2, arbitrary: record('delete', { slot, graceSeconds: fc.constantFrom(1, 4) }) },
    { weight: 5, arbitrary: record('exit', { pick, exitCode: fc.constantFrom(0, 1, 137) }) },
    { weight: 1, arbitrary: record('exitSandbox', { pick }) },
    { weight: 2, arbitrary: record('changeLabel', { slot }) },
    { weight: 1, arbitrary: record('loseThreads', {}) },
    {
      weight: 3,
      arbitrary: record('restartKubelet', {
        signal: fc.constantFrom<'SIGTERM' | 'SIGKILL'>('SIGTERM', 'SIGKILL'),
        downMs: fc.constantFrom(0, 3000),
      }),
    },
    {
      weight: 2,
      arbitrary: record('loseCheckpoint', {
        which: fc.constantFrom<'allocated' | 'actuated' | 'both'>('allocated', 'actuated', 'both'),
        how: fc.constantFrom<'removed' | 'broken'>('removed', 'broken'),
      }),
    },
    { weight: 20, arbitrary: record('wait', { ms: fc.constantFrom(1, 10, 30, 60, 100, 300, 1000, 12_000) }) },
  );
  return fc.array(one, { minLength: 0, maxLength: count, size: 'max' });
}

type FaultKind = 'fail' | 'failAfter' | 'delay' | 'hang';
