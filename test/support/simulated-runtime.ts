/**
 * The simulated CRI runtime for tests: a process of its own on a unix socket, gone when the test ends.
 *
 *   const runtime = await startSimulatedRuntime(t);                        // instant calls, event stream on
 *   const runtime = await startSimulatedRuntime(t, { events: false, preset: 'containerd' });  // bench/runtime/options.ts
 *   runtime.endpoint                                                       // 'unix:///…' for containerRuntimeEndpoint
 *   const pods = await runtime.control.seed({ pods: 500, containersPerPod: 2 });  // running, as a kubelet would have made them
 *   await runtime.control.fault({ call: 'ContainerStatus', id: pods[0].containerIDs[0], kind: 'hang' });
 *   await runtime.control.clearFaults();
 *   await runtime.control.exitContainer(id, 1);  exitSandbox(id); loseContainer(id); closeSocket(); openSocket(); eventFaults({ lose: 0.5 })
 *   await runtime.control.state();  counters();  calls('StartContainer')   // what there is, what was called and when (CLOCK_MONOTONIC ms)
 *
 * What a container does follows from its image (bench/runtime/image-behaviour.ts): `sim/exit:1-after-5s`, `sim/stubborn:x`, `sim/run:x`,
 * `sim/unpullable:not-found`, `sim/pull:after-5s`, …, or from SIM_… variables. All control calls: bench/runtime/control-api.ts.
 * Times are real in there: tests wait for what happens (`waitUntil`), never for a length of time.
 */
import { startRuntimeProcess, type SimulatedRuntimeProcess } from '../../bench/runtime/client.ts';
import type { RuntimeOptionsInput } from '../../bench/runtime/options.ts';

export type { SimulatedRuntimeProcess } from '../../bench/runtime/client.ts';
export type { SeededPod } from '../../bench/runtime/seed.ts';

/** A test's context (`t`), or anything else that can run something afterwards (`{ after }` of node:test). */
export interface TestHooks {
  after(action: () => Promise<void>): void;
}

export async function startSimulatedRuntime(t: TestHooks, options: RuntimeOptionsInput = {}): Promise<SimulatedRuntimeProcess> {
  const runtime = await startRuntimeProcess(options);
  t.after(() => runtime.stop());
  return runtime;
}

/** Asks again and again until the answer is not null, undefined or false. Rejects after `timeoutMs`, with what it waited for. */
export async function waitUntil<T>(what: string | (() => string), look: () => Promise<T> | T, timeoutMs = 10_000): Promise<NonNullable<T>> {
  const end = performance.now() + timeoutMs;
  for (;;) {
    const seen = await look();
    if (seen !== null && seen !== undefined && seen !== false) return seen;
    if (performance.now() > end) throw new Error(`waited ${timeoutMs} ms in vain until ${typeof what === 'string' ? what : what()}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
