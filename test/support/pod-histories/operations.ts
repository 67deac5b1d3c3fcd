/** Random operations on a node: what a cluster, its users, containers and a container runtime can do to it. */
import * as fc from 'fast-check';
import { faultyCalls, record } from './operation-parts.ts';

/** Names of pods. A name gets a new pod when its last one is gone. */
export const slots = 5;

/** `pick` selects one of the containers or sandboxes that there are at that moment. */
export type Operation =
  | {
      readonly type: 'create';
      readonly slot: number;
      readonly shape: number;
      readonly policy: RestartPolicy;
      readonly graceSeconds: number;
    }
  | { readonly type: 'delete'; readonly slot: number; readonly graceSeconds: number }
  | { readonly type: 'deleteByForce'; readonly slot: number }
  /** An update of a label wakes the pod, as every update does, and ends back-offs of its syncs. */
  | { readonly type: 'changeImage' | 'changeLabel'; readonly slot: number }
  | { readonly type: 'exit'; readonly pick: number; readonly exitCode: number }
  | { readonly type: 'lose' | 'remove' | 'exitSandbox' | 'removeSandbox'; readonly pick: number }
  | { readonly type: 'probes'; readonly slot: number; readonly exitCode: number }
  | { readonly type: 'fault'; readonly call: string; readonly kind: 'fail' | 'failAfter' | 'delay'; readonly times: number }
  | { readonly type: 'loseEvents'; readonly share: number }
  | { readonly type: 'runtimeDown'; readonly ms: number }
  | { readonly type: 'restartKubelet'; readonly signal: 'SIGTERM' | 'SIGKILL' }
  | { readonly type: 'wait'; readonly ms: number };

export type RestartPolicy = 'Always' | 'OnFailure' | 'Never';

const slot = fc.nat(slots - 1);
const pick = fc.nat(99);
/** @param shapes the number of pod shapes */
export function operations(shapes: number, count: number): fc.Arbitrary<readonly Operation[]> {
  const create = record('create', {
    slot,
    shape: fc.nat(shapes - 1),
    policy: fc.constantFrom<RestartPolicy>('Always', 'Always', 'OnFailure', 'Never'),
    graceSeconds: fc.constantFrom(0, 1, 2, 5),
  });
  const remove = record('delete', { slot, graceSeconds: fc.constantFrom(1, 2, 4) });
  const one: fc.Arbitrary<Operation> = fc.oneof(
    { weight: 8, arbitrary: create },
    { weight: 5, arbitrary: remove },
    { weight: 1, arbitrary: record('deleteByForce', { slot }) },
    { weight: 1, arbitrary: record('changeImage', { slot }) },
    { weight: 4, arbitrary: record('changeLabel', { slot }) },
    { weight: 6, arbitrary: record('exit', { pick, exitCode: fc.constantFrom(0, 1, 137, 42) }) },
    { weight: 1, arbitrary: record('lose', { pick }) },
    { weight: 1, arbitrary: record('remove', { pick }) },
    { weight: 2, arbitrary: record('exitSandbox', { pick }) },
    { weight: 1, arbitrary: record('removeSandbox', { pick }) },
    { weight: 3, arbitrary: record('probes', { slot, exitCode: fc.constantFrom(0, 0, 1) }) },
    {
      weight: 2,
      arbitrary: record('fault', {
        call: fc.constantFrom(...faultyCalls),
        kind: fc.constantFrom<'fail' | 'failAfter' | 'delay'>('fail', 'failAfter', 'delay'),
        times: fc.integer({ min: 1, max: 2 }),
      }),
    },
    { weight: 1, arbitrary: record('loseEvents', { share: fc.constantFrom(0, 0.5, 1) }) },
    { weight: 1, arbitrary: record('runtimeDown', { ms: fc.constantFrom(50, 400) }) },
    { weight: 1, arbitrary: record('restartKubelet', { signal: fc.constantFrom<'SIGTERM' | 'SIGKILL'>('SIGTERM', 'SIGKILL') }) },
    { weight: 8, arbitrary: record('wait', { ms: fc.constantFrom(10, 100, 300, 1000) }) },
  );
  return fc.array(one, { minLength: count, maxLength: count });
}
