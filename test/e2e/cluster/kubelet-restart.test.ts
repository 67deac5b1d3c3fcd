/**
 * The kubelet restarts while everything that it keeps running is in use: probes, sidecars, a crash loop, user namespaces, an ephemeral container, rotated
 * logs. No container is touched, no pod becomes unready, no count falls.
 */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { grpcCode } from '../../../src/shared/cri/cri-error.ts';
import { ContainerState } from '../../../src/shared/cri/generated/cri-v1.ts';
import type { Container, ContainerStatus, Pod, PodSpec } from '../../../src/shared/kubernetes/api.ts';
import { conditionOf, TestClusterNode } from '../../support/cluster/cluster-node.ts';
import { PodWatch } from '../../support/cluster/pod-watch.ts';
import { aBusybox, aManifest } from '../../support/kubelet/test-node.ts';
import { startHostileRuntime } from '../../support/runtime/hostile-runtime.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';

const nodeName = 'kubelet-restart';
const backOffSeconds = 60;
const check = { exec: { command: ['true'] }, periodSeconds: 1, failureThreshold: 1 };

const stablePods: Readonly<Record<string, Partial<PodSpec>>> = {
  probed: { containers: [aBusybox({ startupProbe: check, readinessProbe: check, livenessProbe: check })] },
  // The next run of its probe is minutes away.
  'rarely-probed': { containers: [aBusybox({ readinessProbe: { ...check, periodSeconds: 300 } })] },
  sidecar: {
    initContainers: [aBusybox({ name: 'sidecar', restartPolicy: 'Always', startupProbe: check }), aBusybox({ name: 'init', sh: 'exit 0' })],
    containers: [aBusybox()],
  },
  mapped: { hostUsers: false, containers: [aBusybox({ readinessProbe: check })] },
  noisy: { containers: [aBusybox({ sh: 'i=0; while :; do i=$((i+1)); echo "line $i of a log that is rotated"; sleep 0.02; done' })] },
};
/** Restarts at its back-off only, which is longer than the test. */
const crashing: Partial<PodSpec> = { containers: [aBusybox({ sh: 'exit 3' })] };

describe('a restarted kubelet', () => {
  let node: TestClusterNode;
  before(async () => {
    node = await TestClusterNode.start(nodeName, {
      containerd: '2.1',
      config: {
        containerLogMaxSize: '10Ki',
        containerLogMonitorInterval: '3s',
        crashLoopBackOff: { maxContainerRestartPeriod: `${backOffSeconds}s` },
      },
    });
  });
  after(() => node?.destroy());

  const isReady = ({ status }: Pod) => conditionOf(status, 'Ready') === 'True';
  const statusesOf = ({ status }: Pod): readonly ContainerStatus[] => [
    ...(status?.initContainerStatuses ?? []),
    ...(status?.containerStatuses ?? []),
    ...(status?.ephemeralContainerStatuses ?? []),
  ];
  const identities = (pod: Pod) => statusesOf(pod).map(({ name, containerID, restartCount }) => `${name} ${containerID} ${restartCount}`);

  test('touches no container, shows no pod unready and loses no count', async (t) => {
    const pods = await PodWatch.start(t, node.cluster, node.namespace);
    const names = Object.keys(stablePods);
    for (const [name, spec] of Object.entries(stablePods)) await pods.create(aManifest(name, { nodeName, ...spec }));
    await pods.create(aManifest('crashing', { nodeName, ...crashing }));
    for (const name of names) await pods.until(name, 'is ready', isReady);
    await node.kubectl('debug', 'probed', '--image=local.example/busybox:1', '--container=debugger', '--', 'sleep', '1000');
    await pods.until('probed', 'is debugged', ({ status }) => status?.ephemeralContainerStatuses?.[0]?.state?.running !== undefined);
    await pods.until('crashing', 'is backed off', ({ status }) => {
      const [app] = status?.containerStatuses ?? [];
      return (app?.restartCount ?? 0) >= 2 && app?.state?.waiting?.reason === 'CrashLoopBackOff';
    });
    const before = new Map(names.map((name) => [name, identities(pods.get(name)!)]));
    const first = new Map([...names, 'crashing'].map((name) => [name, pods.seen(name).length]));
    const rotated = () => rotatedLogs(node.node.podLogs, pods.get('noisy')!);

    for (const signal of ['SIGTERM', 'SIGKILL', 'SIGTERM'] as const) {
      const rotations = rotated();
      await node.restartKubelet(signal);
      await node.untilReady();
      await waitUntil('the new kubelet rotates logs', () => rotated() !== rotations, 60_000);
    }

    for (const name of names) {
      const seen = pods.seen(name).slice(first.get(name));
      assert.ok(seen.every(isReady), `${name} was not ready: ${JSON.stringify(seen.find((pod) => !isReady(pod))?.status)}`);
      assert.deepEqual(identities(await node.get(name)), before.get(name));
    }
    const counts = pods.seen('crashing').map(({ status }) => status?.containerStatuses?.[0]?.restartCount ?? 0);
    assert.deepEqual(
      counts,
      counts.toSorted((a, b) => a - b),
    );
    const runs = new Set(await createdIDs(node));
    for (const id of [...before.values()].flat().map((line) => line.split('//')[1]!.split(' ')[0]!)) assert.ok(runs.has(id));
  });

  test('runs a postStart hook again that its end has interrupted, and the container is not ready before', async (t) => {
    const pods = await PodWatch.start(t, node.cluster, node.namespace);
    const out = join(node.node.folder, 'hook');
    mkdirSync(out);
    const hook = () => (existsSync(join(out, 'log')) ? readFileSync(join(out, 'log'), 'utf8').trim().split('\n') : []);
    const sh = 'echo begun >> /out/log; while [ ! -e /out/go ]; do sleep 0.1; done; echo ended >> /out/log';
    const postStart = { exec: { command: ['sh', '-c', sh] } };
    const hooked = aBusybox({ lifecycle: { postStart }, volumeMounts: [{ name: 'out', mountPath: '/out' }] });
    const volumes = [{ name: 'out', hostPath: { path: out } }];
    await pods.create(aManifest('hooked', { nodeName, containers: [hooked, aBusybox({ name: 'next' })], volumes }));
    await waitUntil('the hook has begun', () => hook().length === 1, 30_000);
    await pods.until('hooked', 'shows its container', ({ status }) => status?.containerStatuses?.[0]?.state?.running !== undefined);
    const [before] = identities(pods.get('hooked')!);

    await node.restartKubelet('SIGKILL');
    await waitUntil('the hook has begun again', () => hook().length === 2, 30_000);
    await node.untilReady();
    const isAnyReady = (pod: Pod) => statusesOf(pod).some(({ ready, started }) => ready || started);
    assert.ok(!pods.seen('hooked').some(isAnyReady), JSON.stringify(pods.seen('hooked').find(isAnyReady)?.status));
    assert.deepEqual(identities(await node.get('hooked'))[0], before);

    writeFileSync(join(out, 'go'), '');
    const pod = await pods.until('hooked', 'is ready', isReady);
    assert.deepEqual([hook(), identities(pod)[0]], [['begun', 'begun', 'ended'], before]);
    assert.deepEqual(readdirSync(join(node.node.rootDir, 'post_start_hooks')), []);
  });

  test('assumes nothing about containers that a slow runtime has not reported', async (t) => {
    const pods = await PodWatch.start(t, node.cluster, node.namespace);
    const folder = join(node.node.folder, 'ends');
    mkdirSync(folder);
    /** A pod that ends when the test writes a file. */
    const create = (name: string, more: Partial<Container> = {}) => {
      const app = aBusybox({ sh: `until [ -e /ends/${name} ]; do sleep 0.1; done`, volumeMounts: [{ name: 'ends', mountPath: '/ends' }] });
      const volumes = [{ name: 'ends', hostPath: { path: folder } }];
      const initContainers = [aBusybox({ name: 'init', sh: 'exit 0' })];
      return pods.create(aManifest(name, { nodeName, restartPolicy: 'Never', initContainers, containers: [{ ...app, ...more }], volumes }));
    };
    const end = (name: string) => writeFileSync(join(folder, name), '');
    await create('once');
    const id = statusesOf(await pods.until('once', 'is ready', isReady))
      .find(({ name }) => name === 'app')
      ?.containerID?.split('//')[1];
    await node.node.stopKubelet('SIGKILL');
    end('once');
    const filter = { id: id ?? '', state: { state: ContainerState.CONTAINER_EXITED } };
    const call = { deadlineMs: 5000 };
    await waitUntil(
      'the container has ended',
      async () => (await node.node.cri.runtime.call('listContainers', { filter }, call)).containers[0],
    );

    const refused = new Set(['ContainerStatus']);
    let refusals = 0;
    const proxy = await startHostileRuntime(
      t,
      node.node.containerd.endpoint,
      ({ bytes }) => bytes,
      (method) => {
        if (!refused.has(method)) return null;
        refusals += 1;
        return { code: grpcCode.UNAVAILABLE, details: 'busy' };
      },
    );
    await node.node.startKubelet({ configuration: { containerRuntimeEndpoint: proxy.endpoint } });
    await node.untilReady();
    await waitUntil('the runtime has not told several times', () => refusals > 20, 60_000);
    refused.clear();
    await pods.until('once', 'has succeeded', ({ status }) => status?.phase === 'Succeeded');
    const phases = new Set(pods.seen('once').map(({ status }) => status?.phase));
    assert.ok(!phases.has('Failed'), [...phases].join());

    // A sandbox that could not be stopped may still hold its host port.
    const ports = [{ containerPort: 80, hostPort: 34_562 }];
    await create('has-port', { ports });
    await pods.until('has-port', 'is ready', isReady);
    refused.add('StopPodSandbox');
    end('has-port');
    const { metadata } = await pods.until('has-port', 'has succeeded', ({ status }) => status?.phase === 'Succeeded');
    await create('wants-port', { ports });
    const { status: rejected } = await pods.until('wants-port', 'is refused', ({ status }) => status?.phase === 'Failed');
    assert.equal(rejected?.reason, 'NodePorts');
    refused.clear();
    const stopped = (line: string) => line.includes(metadata.uid) && line.includes('Pod has terminated');
    await waitUntil('the sandbox is stopped', () => node.node.log().split('\n').some(stopped), 60_000);
    await create('gets-port', { ports });
    await pods.until('gets-port', 'is ready', isReady);
    await node.restartKubelet();
  });
});

/** Returns a text that changes with each rotation. */
function rotatedLogs(podLogs: string, { metadata: { namespace, name, uid } }: Pod): string {
  return readdirSync(join(podLogs, `${namespace}_${name}_${uid}`, 'app'))
    .toSorted()
    .join();
}

async function createdIDs({ node }: TestClusterNode): Promise<string[]> {
  const { containers } = await node.cri.runtime.call('listContainers', {}, { deadlineMs: 5000 });
  return containers.map(({ id }) => id);
}
