/**
 * A full node changes over from the Go kubelet to this one, and back. No container is touched, no pod becomes unready, no status is written; checkpoints,
 * volumes, cgroups, logs, mirror pods and certificates stay as they are. What ends or fails meanwhile is continued by the next kubelet.
 */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { test, type TestContext } from 'node:test';
import { createCgroup } from '../../../lab/host/cgroups.ts';
import type { ControlPlane } from '../../../lab/control-plane/control-plane.ts';
import type { KubeletProgram } from '../../../lab/kubelet/kubelet-program.ts';
import { ensureGoKubeletBinary } from '../../../lab/programs/go-kubelet.ts';
import type { Pod } from '../../../src/shared/kubernetes/api.ts';
import {
  allowJoining,
  bootstrapKubeconfig,
  prepareJoiningNode,
  requestsOf,
  untilReady,
  type JoiningNode,
} from '../../support/cluster/bootstrap.ts';
import { ChangeOverClaims } from '../../support/cluster/change-over-claims.ts';
import { isReady, kindOf, readyProbe, startWorkloads, type WorkloadHost } from '../../support/cluster/change-over-workloads.ts';
import { privateCluster, type TestCluster } from '../../support/cluster/control-plane.ts';
import { openResizes } from '../../support/cluster/open-resizes.ts';
import { PodWatch } from '../../support/cluster/pod-watch.ts';
import { appOf, guaranteed, hasNoResize } from '../../support/cluster/resizes.ts';
import { changesBetween, snapshotOf } from '../../support/kubelet/node-snapshot.ts';
import { aBusybox, aManifest } from '../../support/kubelet/test-node.ts';

const nodeName = 'change-over';
/** Each kubelet compares its statuses with the API server's every ten seconds. */
const watchedMs = 15_000;
const startTimeoutMs = 120_000;
/** A starting Go kubelet takes a container that has run for less than 10 s as unready until its probe has run (kubeletRestartGracePeriod). */
const goGraceMs = 12_000;

test('a node with 100 pods changes over from the Go kubelet and back', async (t) => {
  const host = await startHost(t);
  const { pods, node } = host;
  const goKubelet: Partial<KubeletProgram> = {
    executable: await ensureGoKubeletBinary((line) => t.diagnostic(line)),
    // The chains would be created in the host's network and never be removed.
    configuration: { makeIPTablesUtilChains: false },
  };
  createCgroup(node.cgroupRoot);

  await node.startKubelet(goKubelet);
  await untilReady(host.cluster, host.joining);
  const claims = await ChangeOverClaims.start(t, host);
  await startWorkloads(host, 'go');
  await claims.createStatefulSet('go');
  const taken = await changeOver(host, claims, 'go', {});
  assert.equal(await claims.replacePod('go'), 'go-claims-0\ngo-claims-0\n');

  await startWorkloads(host, 'own');
  await claims.createStatefulSet('own');
  assert.ok(pods.all().length >= 100, `${pods.all().length} pods`);
  await sleep(goGraceMs);
  const returned = await changeOver(host, claims, 'own', goKubelet);
  assert.equal(await claims.replacePod('own'), 'own-claims-0\nown-claims-0\n');
  assert.deepEqual({ taken, returned }, { taken: [], returned: [] });
});

interface Host extends WorkloadHost {
  readonly cluster: TestCluster<ControlPlane>;
  readonly joining: JoiningNode;
}

async function startHost(t: TestContext): Promise<Host> {
  const cluster = await privateCluster(t, { scheduler: false });
  await allowJoining(cluster);
  const bootstrap = await bootstrapKubeconfig(cluster);
  const namespace = await cluster.namespace(t);
  const joining = await prepareJoiningNode(t, cluster, nodeName, {
    bootstrap,
    // The Go kubelet finds no address of a host without a default route.
    flags: ['--node-ip', hostAddress()],
    config: { rotateCertificates: true, maxPods: 150, crashLoopBackOff: { maxContainerRestartPeriod: '60s' } },
  });
  const shared = join(joining.node.folder, 'shared');
  mkdirSync(shared);
  await cluster.api.create(`/api/v1/namespaces/${namespace}/secrets`, { metadata: { name: 'secret' }, stringData: { password: 'geheim' } });
  await cluster.api.create(`/api/v1/namespaces/${namespace}/configmaps`, {
    metadata: { name: 'settings' },
    data: { level: 'debug', colour: 'blue' },
  });
  return { cluster, joining, node: joining.node, nodeName, namespace, pods: await PodWatch.start(t, cluster, namespace), shared };
}

function hostAddress(): string {
  const addresses = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  return addresses.find(({ internal, family }) => !internal && family === 'IPv4')?.address ?? '127.0.0.1';
}

/** What ends or changes by itself. */
const passing = ['crashing', 'initializing', 'terminating', 'job'];

/** Replaces the kubelet. Returns how the node differs from what the previous kubelet has left. */
async function changeOver(host: Host, claims: ChangeOverClaims, prefix: string, next: Partial<KubeletProgram>): Promise<string[]> {
  const { cluster, joining, node, pods, namespace, shared } = host;
  const stable = pods.all().filter((pod) => !passing.some((kind) => kindOf(pod).startsWith(kind)));
  const uids = new Set(stable.map((pod) => pod.metadata.annotations?.['kubernetes.io/config.mirror'] ?? pod.metadata.uid));
  const certificates = async () => [
    ...readdirSync(joining.certDir),
    realpathSync(join(joining.certDir, 'kubelet-client-current.pem')),
    `${(await requestsOf(cluster, nodeName)).length} requests`,
  ];
  const before = { node: await snapshotOf(node, uids), certificates: await certificates(), checkpoint: allocations(node.rootDir) };
  const counted = pods.get(`${prefix}-crashing`)?.status?.containerStatuses?.[0]?.restartCount ?? NaN;
  const seen = pods.allSeen().length;
  const resized = `resized-${prefix}`;
  const sidecar = aBusybox({ name: 'sidecar', restartPolicy: 'Always', resources: guaranteed('10m', '16Mi') });
  const spec = { nodeName, initContainers: [sidecar], containers: [aBusybox({ resources: guaranteed('10m', '16Mi') })] };
  await pods.create(aManifest(resized, spec, { namespace }));
  const created = await pods.until(resized, 'is ready', isReady);
  const open = await openResizes(host, prefix);
  const claimed = await claims.snapshot();

  await node.stopKubelet();
  await node.startKubelet(next);
  await pods.create(aManifest(`late-${prefix}`, { nodeName, containers: [aBusybox({ readinessProbe: readyProbe })] }, { namespace }));
  await pods.until(`late-${prefix}`, 'is ready', isReady, startTimeoutMs);
  await sleep(watchedMs);

  // Each kubelet writes the records of volumes again with its calls.
  const changes = changesBetween(before.node, await snapshotOf(node, uids)).filter((line) => !line.includes('/vol_data.json: '));
  const problems = [...changes, ...(await claims.changesSince(claimed))];
  const isComparable = next.executable === undefined ? () => true : isComparableUnderGo;
  for (const old of stable.filter(isComparable))
    for (const pod of pods.allSeen().slice(seen))
      if (pod.metadata.uid === old.metadata.uid && comparableStatus(pod) !== comparableStatus(old))
        problems.push(`${pod.metadata.name}: ${comparableStatus(old)} → ${comparableStatus(pod)}`);
  for (const { metadata } of stable)
    if (pods.get(metadata.name)?.metadata.uid !== metadata.uid) problems.push(`${metadata.name} has another UID, or is gone`);
  const recorded = allocations(node.rootDir);
  for (const [uid, resources] of before.checkpoint)
    if (uids.has(uid) && recorded.get(uid) !== resources) problems.push(`${uid} was admitted with ${resources}, has ${recorded.get(uid)}`);
  assert.deepEqual(await certificates(), before.certificates);
  const crashes = pods.seen(`${prefix}-crashing`).map(({ status }) => status?.containerStatuses?.[0]?.restartCount ?? 0);
  assert.ok(crashes.at(-1)! >= counted && crashes.every((count, i) => count >= (crashes[i - 1] ?? 0)), `restart counts ${crashes.join()}`);

  // Containers of the previous kubelet are resized by the next one, which also continues what the previous one has begun.
  const path = `/api/v1/namespaces/${namespace}/pods/${resized}`;
  await cluster.api.patch(path, { metadata: { annotations: { changed: 'yes' } } });
  const sidecars = [{ name: 'sidecar', resources: guaranteed('10m', '24Mi') }];
  const containers = [{ name: 'app', resources: guaranteed('20m', '16Mi') }];
  await cluster.api.patch(`${path}/resize`, { spec: { containers, initContainers: sidecars } }, 'strategic-merge');
  const isResized = (pod: Pod) =>
    hasNoResize(pod) &&
    appOf(pod)?.resources?.limits?.['cpu'] === '20m' &&
    pod.status?.initContainerStatuses?.[0]?.resources?.limits?.['memory'] === '24Mi';
  assert.deepEqual(instancesOf(await pods.until(resized, 'is resized', isResized)), instancesOf(created));
  await open.end();

  // What ends under the next kubelet.
  writeFileSync(join(shared, `${prefix}-done`), '');
  await pods.untilGone(`${prefix}-terminating`);
  await pods.until(`${prefix}-initializing`, 'is ready', isReady);
  await cluster.kubectl('-n', namespace, 'wait', '--for=condition=Complete', `job/${prefix}-job`, '--timeout=28s');
  return problems;
}

/**
 * Whenever the Go kubelet starts, static pods begin as unready with a new start time, since it does not read their mirror pods, and pods that have ended lose
 * their addresses.
 */
function isComparableUnderGo(pod: Pod): boolean {
  return !kindOf(pod).startsWith('static') && kindOf(pod) !== 'succeeded';
}

function instancesOf({ status }: Pod): unknown[] {
  const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return statuses.map(({ containerID, restartCount, state }) => [containerID, restartCount, state?.running?.startedAt]);
}

/**
 * Without the resources, which the Go kubelet reads from the cgroup: on cgroup v1 a pod without a limit has one of 8 EiB there. A static pod without its readiness: on
 * a busy host it may start before its mirror pod is known, and is unready until its probe has succeeded.
 */
function comparableStatus(pod: Pod): string {
  const { resources: _, ...rest } = pod.status as Record<string, unknown>;
  if (!kindOf(pod).startsWith('static')) return JSON.stringify(rest);
  const conditions = pod.status?.conditions?.filter(({ type }) => type !== 'Ready' && type !== 'ContainersReady');
  const containerStatuses = pod.status?.containerStatuses?.map(({ ready: _ready, ...status }) => status);
  return JSON.stringify({ ...rest, conditions, containerStatuses });
}

/** The admitted pods, with their resources in a fixed order. */
function allocations(rootDir: string): Map<string, string> {
  const { data } = JSON.parse(readFileSync(join(rootDir, 'allocated_pods_state'), 'utf8')) as { data: string };
  const { entries = {} } = JSON.parse(data) as { entries?: Record<string, { ContainerResources: object }> };
  return new Map(
    Object.entries(entries).map(([uid, { ContainerResources, ...podLevel }]) => [
      uid,
      JSON.stringify([Object.entries(ContainerResources).toSorted(([a], [b]) => (a < b ? -1 : 1)), podLevel]),
    ]),
  );
}
