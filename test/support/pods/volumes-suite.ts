/** Shared set-up of the tests that mount real volumes. Needs root; all volumes are below a temporary root dir. */
import type { PodSyncGates } from '../../../src/shared/contracts/pod-sync/feature-gates.ts';
import { podSyncGatesWith } from './pod-sync-gates.ts';
import { mkdir, mkdtemp, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import type { PodObject, PodObjectResult } from '../../../src/shared/contracts/pod-objects.ts';
import type { Container, Pod, PodSpec, Volume } from '../../../src/shared/kubernetes/api.ts';
import type { PodUID } from '../../../src/shared/kubernetes/ids.ts';
import { readMountsBelow } from '../../../src/shared/linux/mountinfo.ts';
import { unmount } from '../../../src/shared/linux/native.ts';
import { HelperClient } from '../../../src/shared/helper-client/index.ts';
import {
  type ContainerMountsInput,
  type MountVolumesInput,
  type RequestPodObjects,
  PodVolumes,
} from '../../../src/workers/pod-sync/pod/volumes/index.ts';
import { aLogger } from '../logger.ts';
import { aContainer, aPod } from './pods.ts';
import { aNode } from './runtime-config-inputs.ts';

export const { logger, lines } = aLogger();
export const helper = new HelperClient({ logger });
export let rootDir: string;
export let outside: string;
export let volumes: PodVolumes;
export let count = 0;

export interface PodWithVolumes {
  readonly pod: Pod;
  readonly container: Container;
  readonly uid: PodUID;
  readonly dir: string;
}

/** Returns a pod with these volumes, each mounted at `/<name>` unless `container` has other mounts. */
export function aPodWith(list: readonly Volume[], container: Partial<Container> = {}, spec: Partial<PodSpec> = {}): PodWithVolumes {
  const uid = `uid-${(count += 1)}` as PodUID;
  const fullContainer = aContainer({ volumeMounts: list.map(({ name }) => ({ name, mountPath: `/${name}` })), ...container });
  const metadata = { uid, labels: { app: 'web' }, annotations: {} };
  return {
    pod: aPod({ metadata, spec: { volumes: list, containers: [fullContainer], ...spec } }),
    container: fullContainer,
    uid,
    dir: join(rootDir, 'pods', uid),
  };
}

export const standalone: RequestPodObjects = async (refs) =>
  refs.map(() => ({ outcome: 'failed', failure: { reason: 'NoClient', message: 'no client' } }));
/** Creates the pod's folder, as a sync does, and sets up its volumes. Rejects with the messages of all failed volumes. */
export const setUp = async (
  { pod }: Pick<PodWithVolumes, 'pod'>,
  requestPodObjects: RequestPodObjects = standalone,
  by: PodVolumes = volumes,
  inTurn?: MountVolumesInput['inTurn'],
) => {
  await mkdir(join(rootDir, 'pods', pod.metadata.uid), { recursive: true, mode: 0o750 });
  const failures = await by.mountVolumes({ pod, node: aNode, requestPodObjects, ...(inTurn && { inTurn }) });
  if (failures.length > 0) throw new Error(failures.map(({ state, message }) => `${state}: ${message}`).join('\n'));
};
/** Returns an API server with these objects, by kind and name. All others are not found. */
export const serverWith =
  (values: Readonly<Record<string, PodObject>>): RequestPodObjects =>
  async (refs) =>
    refs.map((ref): PodObjectResult => {
      const key = 'name' in ref ? `${ref.kind} ${ref.name}` : ref.kind;
      const value = values[key];
      if (value) return { outcome: 'value', value };
      return { outcome: 'failed', failure: { reason: 'NotFound', message: `${key} not found` } };
    });
export const base64 = (text: string) => Buffer.from(text).toString('base64');
export const secret = (data: Record<string, string>): PodObject => ({
  kind: 'Secret',
  uid: 'u',
  type: 'Opaque',
  data: Object.fromEntries(Object.entries(data).map(([key, text]) => [key, base64(text)])),
});
export const configMap = (data: Record<string, string>, binaryData: Record<string, string> = {}): PodObject => ({
  kind: 'ConfigMap',
  data,
  binaryData,
});
export const mountsOf = (
  { pod, container }: PodWithVolumes,
  env: readonly { name: string; value: string }[] = [],
  more: Partial<Pick<ContainerMountsInput, 'podIPs' | 'restartCount' | 'imageVolumes'>> = {},
) => volumes.makeContainerMounts({ pod, container, env, podIPs: ['10.0.0.7'], restartCount: 0, supportsRecursiveReadOnly: false, ...more });
/** Returns volumes of a kubelet with these feature gates. */
export const volumesWith = (gates: Partial<PodSyncGates>) =>
  new PodVolumes({ rootDir, clusterDomain: '', featureGates: podSyncGatesWith(gates), helper, logger, selinuxEnabled: false });
/** Returns a file's user, group and mode in `ls` style: `1000 0 640`. */
export const ownerOf = async (path: string) => {
  const { uid, gid, mode: bits } = await stat(path);
  return `${uid} ${gid} ${(bits & 0o7777).toString(8)}`;
};
export const mode = async (path: string) => (await stat(path)).mode & 0o7777;

/** Creates the root dir before the tests of a file, and unmounts and removes everything after them. */
export function useVolumes(): void {
  before(async () => {
    const base = await realpath(await mkdtemp(join(tmpdir(), 'volumes-')));
    rootDir = join(base, 'kubelet');
    outside = join(base, 'outside');
    await mkdir(rootDir);
    await mkdir(outside);
    await writeFile(join(outside, 'precious'), 'data');
    volumes = new PodVolumes({
      rootDir,
      clusterDomain: 'cluster.local',
      featureGates: podSyncGatesWith(),
      helper,
      logger,
      selinuxEnabled: false,
    });
  });
  after(async () => {
    for (const { mountPoint } of (await readMountsBelow(join(rootDir, '..'))).reverse()) await unmount(mountPoint);
    await helper.close();
    await rm(join(rootDir, '..'), { recursive: true, force: true });
  });
}
