/** Resizes that are open when a node changes over between kubelets: one waits for room, one for its container to use less memory. The next kubelet ends them. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Container, Pod, PodSpec } from '../../../src/shared/kubernetes/api.ts';
import { aBusybox, aManifest } from '../kubelet/test-node.ts';
import { waitUntil } from '../runtime/simulated-runtime.ts';
import type { WorkloadHost } from './change-over-workloads.ts';
import { appOf, condition, guaranteed, hasNoResize, pendingReason } from './resizes.ts';

const startTimeoutMs = 120_000;
/** The Go kubelet tries a resize again with the next sync of its pod, and reads usages that are up to 10 s old. */
const endTimeoutMs = 90_000;
const before = { deferred: guaranteed('10m', '16Mi'), shrinking: guaranteed('10m', '128Mi') };
const after = { deferred: guaranteed('800m', '16Mi'), shrinking: guaranteed('10m', '48Mi') };
type OpenResize = keyof typeof before;
const resizedPods = ['deferred', 'shrinking'] as const satisfies readonly OpenResize[];

export interface OpenResizes {
  /** Checks that both are still open, frees the room and the memory, and waits until both are in force. */
  end(): Promise<void>;
}

/** Returns when both wait under the running kubelet. `prefix` is in all names. */
export async function openResizes(host: WorkloadHost, prefix: string): Promise<OpenResizes> {
  const { cluster, nodeName, namespace, pods, shared, node } = host;
  const volumes = [
    { name: 'shared', hostPath: { path: shared } },
    { name: 'memory', emptyDir: { medium: 'Memory' } },
  ];
  const volumeMounts = [
    { name: 'shared', mountPath: '/shared' },
    { name: 'memory', mountPath: '/m' },
  ];
  const nameOf = (which: OpenResize | 'filler') => `${which}-${prefix}`;
  const create = (which: OpenResize | 'filler', container: Parameters<typeof aBusybox>[0], spec: Partial<PodSpec> = {}) =>
    pods.create(
      aManifest(nameOf(which), { nodeName, volumes, containers: [aBusybox({ volumeMounts, ...container })], ...spec }, { namespace }),
    );
  const untilFile = (file: string) => `until test -e /shared/${prefix}-${file}; do sleep 0.2; done`;
  const allocatable = await allocatableMilliCPU(host);

  await create('filler', { sh: untilFile('room'), resources: { requests: { cpu: `${allocatable - 600}m` } } }, { restartPolicy: 'Never' });
  await create('deferred', { resources: before.deferred });
  const full = `dd if=/dev/zero of=/m/file bs=1M count=80; touch /m/full; ${untilFile('free')}; rm /m/file; exec sleep 10000`;
  const probe = { exec: { command: ['test', '-e', '/m/full'] }, periodSeconds: 1 };
  await create('shrinking', { sh: full, resources: before.shrinking, readinessProbe: probe });
  const isRunning = (pod: Pod) => appOf(pod)?.ready === true;
  await pods.until(nameOf('filler'), 'runs', isRunning, startTimeoutMs);
  const identities = new Map<OpenResize, string | undefined>();
  for (const which of resizedPods)
    identities.set(which, appOf(await pods.until(nameOf(which), 'is ready', isRunning, startTimeoutMs))?.containerID);
  for (const which of resizedPods)
    await cluster.api.patch(
      `/api/v1/namespaces/${namespace}/pods/${nameOf(which)}/resize`,
      { spec: { containers: [{ name: 'app', resources: after[which] }] } },
      'strategic-merge',
    );
  const isOpen = {
    deferred: (pod: Pod) => pendingReason(pod) === 'Deferred',
    shrinking: (pod: Pod) => /below current usage \(\d+\)/.test(condition(pod, 'PodResizeInProgress')?.message ?? ''),
  };
  for (const which of resizedPods) await pods.until(nameOf(which), 'has an open resize', isOpen[which], startTimeoutMs);

  return {
    end: async () => {
      for (const which of resizedPods) {
        const pod = await pods.until(nameOf(which), 'has an open resize', isOpen[which], endTimeoutMs);
        assert.deepEqual(appOf(pod)?.resources, before[which]);
      }
      for (const file of ['room', 'free']) writeFileSync(join(shared, `${prefix}-${file}`), '');
      for (const which of resizedPods) {
        const { limits } = after[which];
        const isResized = (pod: Pod) =>
          hasNoResize(pod) &&
          appOf(pod)?.resources?.limits?.['cpu'] === limits.cpu &&
          appOf(pod)?.resources?.limits?.['memory'] === limits.memory;
        const pod = await pods.until(nameOf(which), 'is resized', isResized, endTimeoutMs);
        const app = appOf(pod)!;
        assert.deepEqual([app.containerID, app.restartCount, app.resources], [identities.get(which), 0, after[which]]);
        for (const file of ['allocated_pods_state', 'actuated_pods_state'])
          await waitUntil(`${file} has what ${which} got`, () => isDeepStrictEqual(recordOf(join(node.rootDir, file), pod), after[which]));
      }
      for (const which of [...resizedPods, 'filler'] as const) await pods.delete(nameOf(which));
    },
  };
}

async function allocatableMilliCPU({ cluster, nodeName }: WorkloadHost): Promise<number> {
  const { status } = await cluster.api.get<{ status: { allocatable: { cpu: string } } }>(`/api/v1/nodes/${nodeName}`);
  return Number(status.allocatable.cpu) * 1000;
}

function recordOf(path: string, { metadata }: Pod): Container['resources'] {
  const { data } = JSON.parse(readFileSync(path, 'utf8')) as { data: string };
  const { entries } = JSON.parse(data) as {
    entries: Record<string, { ContainerResources: Record<string, Container['resources']> }>;
  };
  return entries[metadata.uid]?.ContainerResources['app'];
}
