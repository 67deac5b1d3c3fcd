/** Random operations on a modelled node. Waits cost nothing here, so they are long enough for back-offs and grace periods. */
import * as fc from 'fast-check';
import type { RestartPolicy } from '../pod-histories/operations.ts';
import { faultyCalls, record } from '../pod-histories/operation-parts.ts';
import type { ResizeOperation } from './resize-operation.ts';

/** Names of pods of the API server; as many names of static pods follow. */
export const apiSlots = 3;
export const staticSlots = 2;

/** `pick` selects one of what there is at that moment. */
export type ModelOperation =
  | {
      readonly type: 'create';
      readonly slot: number;
      readonly shape: number;
      readonly policy: RestartPolicy;
      readonly graceSeconds: number;
      /** Other pods end for it when it does not fit. */
      readonly isCritical?: boolean;
    }
  | { readonly type: 'delete'; readonly slot: number; readonly graceSeconds: number }
  | { readonly type: 'deleteByForce' | 'changeImage' | 'changeLabel' | 'addEphemeral'; readonly slot: number }
  | {
      readonly type: 'putStatic';
      readonly slot: number;
      readonly shape: number;
      readonly policy: RestartPolicy;
      readonly graceSeconds: number;
    }
  | { readonly type: 'removeStatic'; readonly slot: number }
  | { readonly type: 'exit'; readonly pick: number; readonly exitCode: number; readonly reason?: string }
  | { readonly type: 'lose' | 'exitSandbox' | 'removeSandbox' | 'staleProbeFailure'; readonly pick: number }
  | { readonly type: 'probes'; readonly slot: number; readonly failing: 'liveness' | 'readiness' | 'startup' | 'hooks' | null }
  | { readonly type: 'fault'; readonly call: string; readonly kind: 'fail' | 'failAfter' | 'delay' | 'hang'; readonly times: number }
  | { readonly type: 'apiFault'; readonly kind: 'fail' | 'failAfter' | 'delay'; readonly times: number }
  | { readonly type: 'runtimeDown' | 'watchDown'; readonly ms: number }
  | { readonly type: 'loseEvents'; readonly lost: boolean }
  | { readonly type: 'loseThreads' }
  | { readonly type: 'restartKubelet'; readonly signal: 'SIGTERM' | 'SIGKILL'; readonly downMs: number }
  | { readonly type: 'wait'; readonly ms: number }
  | ResizeOperation;

/** @param shapes the number of pod shapes */
export function modelOperations(shapes: number, count: number): fc.Arbitrary<readonly ModelOperation[]> {
  const slot = fc.nat(apiSlots - 1);
  const staticSlot = fc.nat(staticSlots - 1);
  const pick = fc.nat(99);
  const pod = {
    shape: fc.nat(shapes - 1),
    policy: fc.constantFrom<RestartPolicy>('Always', 'Always', 'OnFailure', 'Never'),
    graceSeconds: fc.constantFrom(0, 1, 2, 5, 30),
  };
  const times = fc.integer({ min: 1, max: 3 });
  const one: fc.Arbitrary<ModelOperation> = fc.oneof(
    { weight: 10, arbitrary: record('create', { slot, ...pod }) },
    { weight: 4, arbitrary: record('delete', { slot, graceSeconds: fc.constantFrom(1, 2, 4, 10, 30) }) },
    { weight: 1, arbitrary: record('deleteByForce', { slot }) },
    { weight: 2, arbitrary: record('changeImage', { slot }) },
    { weight: 3, arbitrary: record('changeLabel', { slot }) },
    { weight: 2, arbitrary: record('addEphemeral', { slot }) },
    { weight: 3, arbitrary: record('putStatic', { slot: staticSlot, ...pod }) },
    { weight: 1, arbitrary: record('removeStatic', { slot: staticSlot }) },
    { weight: 7, arbitrary: record('exit', { pick, exitCode: fc.constantFrom(0, 1, 137, 42, 0) }) },
    { weight: 1, arbitrary: record('exit', { pick, exitCode: fc.constant(0), reason: fc.constant('OOMKilled') }) },
    { weight: 1, arbitrary: record('lose', { pick }) },
    { weight: 2, arbitrary: record('exitSandbox', { pick }) },
    { weight: 1, arbitrary: record('removeSandbox', { pick }) },
    { weight: 1, arbitrary: record('staleProbeFailure', { pick }) },
    {
      weight: 4,
      arbitrary: record('probes', {
        slot: fc.nat(apiSlots + staticSlots - 1),
        failing: fc.constantFrom<'liveness' | 'readiness' | 'startup' | 'hooks' | null>(
          'liveness',
          'readiness',
          'startup',
          'hooks',
          null,
          null,
        ),
      }),
    },
    {
      weight: 4,
      arbitrary: record('fault', {
        call: fc.constantFrom(...faultyCalls),
        kind: fc.constantFrom<'fail' | 'failAfter' | 'delay' | 'hang'>('fail', 'failAfter', 'delay', 'hang'),
        times,
      }),
    },
    {
      weight: 2,
      arbitrary: record('apiFault', { kind: fc.constantFrom<'fail' | 'failAfter' | 'delay'>('fail', 'failAfter', 'delay'), times }),
    },
    { weight: 1, arbitrary: record('runtimeDown', { ms: fc.constantFrom(50, 400, 5000) }) },
    { weight: 1, arbitrary: record('watchDown', { ms: fc.constantFrom(50, 400, 20_000) }) },
    { weight: 1, arbitrary: record('loseEvents', { lost: fc.boolean() }) },
    { weight: 2, arbitrary: record('loseThreads', {}) },
    {
      weight: 4,
      arbitrary: record('restartKubelet', {
        signal: fc.constantFrom<'SIGTERM' | 'SIGKILL'>('SIGTERM', 'SIGKILL', 'SIGKILL'),
        downMs: fc.constantFrom(0, 10, 3000),
      }),
    },
    { weight: 22, arbitrary: record('wait', { ms: fc.constantFrom(1, 10, 30, 60, 100, 300, 1000, 3000, 12_000, 60_000) }) },
  );
  return fc.array(one, { minLength: 0, maxLength: count, size: 'max' });
}
