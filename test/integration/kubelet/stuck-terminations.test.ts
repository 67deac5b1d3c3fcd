/** What the timeline of a pod says while its runtime does not let it terminate: what is waited for, since when, and what happens next. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { FaultRule } from '../../../lab/simulated-runtime/faults.ts';
import { requestLocal } from '../../../src/main/cli/request-local.ts';
import type { TimelineJson } from '../../../src/shared/contracts/timeline.ts';
import { localSocketPath } from '../../../src/shared/local-socket/socket-path.ts';
import { StandaloneNode } from '../../support/kubelet/standalone-node.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';

interface Case {
  readonly faults: readonly Omit<FaultRule, 'id'>[];
  /** Of the only obstacle, once it is there. */
  readonly waitsFor: RegExp;
  readonly next: RegExp;
}

const cases: Readonly<Record<string, Case>> = {
  'stop-hangs': {
    faults: [{ call: 'StopContainer', kind: 'hang' }],
    waitsFor: /^container app: its exit after SIGTERM$/,
    next: /^the runtime was to send SIGKILL: its answer to StopContainer is awaited; without one until runtimeRequestTimeout/,
  },
  'sandbox-hangs': {
    faults: [{ call: 'StopPodSandbox', kind: 'hang' }],
    waitsFor: /^the runtime: StopPodSandbox$/,
    next: /repeated when it fails, or has no answer until runtimeRequestTimeout$/,
  },
  'sandbox-fails': {
    faults: [{ call: 'StopPodSandbox', kind: 'fail', code: 2, message: 'no such plugin' }],
    waitsFor: /^a retry after: FailedKillPod: .*no such plugin/,
    next: /^StopPodSandbox is retried in \d/,
  },
  'inspection-hangs': {
    faults: [{ call: 'PodSandboxStatus', kind: 'hang' }],
    waitsFor: /^an inspection of the pod in the runtime$/,
    next: /^the next step of the termination$/,
  },
};

test('a pod whose runtime hangs or fails says what it waits for, until the runtime recovers', { timeout: 120_000 }, async (t) => {
  const node = await StandaloneNode.start(t);
  await node.startKubelet();
  const timelineOf = (name: string) =>
    requestLocal(localSocketPath(join(node.folder, 'kubelet')), '/timeline', { pod: `default/${name}-node-1` }) as Promise<TimelineJson>;
  for (const name of Object.keys(cases)) {
    const containers = [{ name: 'app', image: 'sim/run:1' }];
    const spec = { dnsPolicy: 'Default', terminationGracePeriodSeconds: 1, containers };
    node.writeManifest(`${name}.json`, { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec });
  }
  const deletedAtMs = new Map<string, number>();
  for (const [name, { faults }] of Object.entries(cases)) {
    const { metadata } = await node.waitForPod(name, 'runs', ({ status }) => status?.phase === 'Running');
    // A runtime that fails twice delays the pod by two back-offs at most.
    for (const fault of faults) await node.runtime.control.fault({ ...fault, id: metadata.uid });
    deletedAtMs.set(name, performance.now());
    node.removeManifest(`${name}.json`);
  }
  for (const [name, { waitsFor, next }] of Object.entries(cases)) {
    let last: TimelineJson | undefined;
    const found = await waitUntil(
      () => `${name} waits for ${String(waitsFor)}; its ledger is ${JSON.stringify(last?.ledger)}`,
      async () => {
        last = await timelineOf(name);
        const [obstacle, ...others] = last.ledger;
        return obstacle && others.length === 0 && waitsFor.test(obstacle.waitsFor) && next.test(obstacle.next) ? obstacle : undefined;
      },
      30_000,
    );
    assert.ok(found.forMs <= performance.now() - deletedAtMs.get(name)!, `${name}: ${found.forMs} ms`);
  }
  await node.runtime.control.clearFaults();
  for (const name of Object.keys(cases)) {
    const ended = await waitUntil(
      `${name} has finished`,
      () => timelineOf(name).then((timeline) => (timeline.state === 'Finished' ? timeline : undefined)),
      60_000,
    );
    assert.deepEqual([ended.ledger, ended.problem], [[], undefined], name);
  }
});
