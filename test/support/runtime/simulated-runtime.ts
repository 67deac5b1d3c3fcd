/**
 * Starts the simulated CRI runtime for a test: a separate process on a unix socket, which ends with the test.
 *
 *   const runtime = await startSimulatedRuntime(t);                        // instant calls, event stream on
 *   const runtime = await startSimulatedRuntime(t, { events: false, preset: 'containerd' });  // lab/simulated-runtime/options.ts
 *   runtime.endpoint                                                       // 'unix:///…' for containerRuntimeEndpoint
 *   const pods = await runtime.control.seed({ pods: 500, containersPerPod: 2 });  // running, as a kubelet would have made them
 *   await runtime.control.fault({ call: 'ContainerStatus', id: pods[0].containerIDs[0], kind: 'hang' });
 *   await runtime.control.clearFaults();
 *   await runtime.control.exitContainer(id, 1);  exitSandbox(id); loseContainer(id); closeSocket(); openSocket(); eventFaults({ lose: 0.5 })
 *   await runtime.control.state();  counters();  calls('StartContainer')   // what there is, what was called and when (CLOCK_MONOTONIC ms)
 *
 * The image defines the behaviour of a container (lab/simulated-runtime/image-behaviour.ts): `sim/exit:1-after-5s`, `sim/stubborn:x`, `sim/run:x`,
 * `sim/unpullable:not-found`, `sim/pull:after-5s`, …; SIM_… variables override it. All control calls: lab/simulated-runtime/control-api.ts.
 * The runtime uses real time: tests wait for conditions (`waitUntil`), not for fixed times.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { startRuntimeProcess, type SimulatedRuntimeProcess } from '../../../lab/simulated-runtime/client.ts';
import type { RuntimeOptionsInput } from '../../../lab/simulated-runtime/options.ts';

export type { SimulatedRuntimeProcess } from '../../../lab/simulated-runtime/client.ts';
export type { SeededPod } from '../../../lab/simulated-runtime/seed.ts';

/** A test context (`t`), or another object that runs cleanups (`{ after }` of node:test). */
export interface TestHooks {
  after(action: () => Promise<void>): void;
}

export async function startSimulatedRuntime(t: TestHooks, options: RuntimeOptionsInput = {}): Promise<SimulatedRuntimeProcess> {
  const runtime = await startRuntimeProcess(options);
  t.after(() => runtime.stop());
  return runtime;
}

/** Short at first, for what is about to happen; then long enough to cost a test process and a kubelet little while they wait. */
const pollPeriodsMs = { first: 10, later: 100, longest: 1000, firstForMs: 300 };

/** Polls until the result is not null, undefined or false. Rejects after `timeoutMs` with a message that contains `what`. */
export async function waitUntil<T>(what: string | (() => string), poll: () => Promise<T> | T, timeoutMs = 30_000): Promise<NonNullable<T>> {
  const startedMs = performance.now();
  for (;;) {
    const polledMs = performance.now();
    const result = await poll();
    const waitedMs = performance.now() - startedMs;
    if (result !== null && result !== undefined && result !== false) return result;
    if (waitedMs > timeoutMs) throw new Error(`timed out after ${timeoutMs} ms waiting until ${typeof what === 'string' ? what : what()}`);
    const periodMs = waitedMs < pollPeriodsMs.firstForMs ? pollPeriodsMs.first : pollPeriodsMs.later;
    // A poll that starts a program, such as kubectl, must not keep a core busy.
    const restMs = Math.min(2 * (performance.now() - polledMs), pollPeriodsMs.longest);
    await sleep(Math.max(periodMs, restMs));
  }
}
