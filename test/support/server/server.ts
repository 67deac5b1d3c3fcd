/** Default settings of a server thread in tests, and a fake API of main. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ServerSettings } from '../../../src/main/threads/server-thread.ts';
import type { MainApi } from '../../../src/shared/contracts/server/calls.ts';
import type { SecureServerSettings } from '../../../src/shared/contracts/server/settings.ts';
import type { PodUID } from '../../../src/shared/kubernetes/ids.ts';
import { createRuntimeSnapshot } from '../../../src/shared/state/runtime-snapshot.ts';
import { createClaimedVolumesTable } from '../../../src/shared/state/claimed-volumes-table.ts';
import { createStorageTable } from '../../../src/shared/state/storage-table.ts';
import { createUsageTable } from '../../../src/shared/state/usage-table.ts';
import { timelineTable } from '../../../src/shared/timeline/timeline-table.ts';
import { kubernetesVersion } from '../../../src/shared/kubernetes/version.ts';

export const anyPort = { address: '127.0.0.1', port: 0 } as const;

export function serverSettings(over: Partial<ServerSettings> = {}): ServerSettings {
  const folder = mkdtempSync(join(tmpdir(), 'server-'));
  return {
    readOnly: anyPort,
    secure: null,
    streaming: {
      runtimeEndpoint: 'unix:///nowhere/runtime.sock',
      runtimeRequestTimeoutMs: 2000,
      podLogsDir: '/nowhere/logs',
      checkpointsDir: '/nowhere/checkpoints',
      streamingIdleTimeoutMs: 60_000,
      splitLogStreams: false,
      translateWebSockets: true,
    },
    snapshot: createRuntimeSnapshot(10),
    nativeHistograms: true,
    stats: {
      fromRuntime: false,
      hasContainerFilesystems: false,
      usage: createUsageTable(10),
      storage: createStorageTable(10),
      claimedVolumes: createClaimedVolumesTable(10),
      nodeName: 'node-1',
      cgroupFsRoot: '/nowhere',
    },
    timelines: { table: timelineTable.create(4), socketDir: join(folder, 'timeline') },
    grpcSockets: { pods: join(folder, 'pods-api/pods-api.sock'), podResources: join(folder, 'pod-resources/kubelet.sock') },
    ...over,
  };
}

/** Allows anonymous clients everything. The self-signed certificate is written to `folder`, which must exist. */
export function secureSettings(folder: string, over: Partial<SecureServerSettings> = {}): SecureServerSettings {
  return {
    listen: anyPort,
    nodeName: 'node-1',
    version: kubernetesVersion,
    tls: {
      certFile: `${folder}/kubelet.crt`,
      keyFile: `${folder}/kubelet.key`,
      selfSignedFor: 'node-1',
      reload: true,
      minVersion: 'TLSv1.2',
      ciphers: '',
      curves: '',
    },
    authentication: { clientCAFile: '', reloadClientCAFile: true, webhook: null, anonymous: true },
    authorization: null,
    handlers: {
      debugging: true,
      profiling: true,
      debugFlags: false,
      systemLogs: true,
      systemLogQuery: false,
      statusz: true,
      flagz: true,
      checkpoint: true,
      allocatedPods: true,
    },
    ...over,
  };
}

export function fakeMainApi(over: Partial<MainApi> = {}): MainApi {
  return {
    podListUIDs: async () => ['u' as PodUID],
    podListItems: async (_, uids) => ({ taken: uids.length, json: Buffer.from('{"kind":"Pod"}') }),
    allocatedPod: async ({ name, uid = 'u' }) => (name === 'web' && uid === 'u' ? '{"kind":"Pod"}' : null),
    imageGcPlan: async () => '{"images":[]}',
    evictionPlan: async (signal) => JSON.stringify({ ranking: { signal } }),
    configz: async () => '{"kubeletconfig":{}}',
    flagz: async () => ({ v: '2' }),
    reviewToken: async () => ({ authenticated: false }),
    reviewAccess: async () => ({ allowed: false }),
    probeMetrics: async () => new Uint8Array(),
    runtimeMetrics: async () => undefined,
    podChanges: async () => ({ cursor: 1, isStart: true, isComplete: true, sourcesReady: false, pods: [], removed: [] }),
    listPodResources: async () => [],
    getPodResources: async () => undefined,
    allocatableResources: async () => ({ devices: [], cpuIds: [], memory: [] }),
    resetHealthMetrics: async () => {},
    resolveContainer: async () => ({ found: false, status: 404, message: 'pod does not exist' }),
    ...over,
  };
}
