import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeletConfiguration } from '../../../../src/main/config/kubelet-configuration.ts';
import { listenAddress, serverSettings } from '../../../../src/main/server/server-settings.ts';
import { imagesSettings, podSyncSettings } from '../../../../src/main/wiring/thread-settings.ts';
import { kubeletOptions as options } from '../../../support/kubelet/kubelet-options.ts';
import { table } from '../../../support/table.ts';

const sharedTables = { snapshot: new SharedArrayBuffer(0), usage: new SharedArrayBuffer(0), storage: new SharedArrayBuffer(0) };
const host = { cgroupVersion: 1, cgroupDriver: 'cgroupfs' } as const;

/** Both gates, and `crashLoopBackOff.maxContainerRestartPeriod` (null: not configured). Without the gate KubeletCrashLoopBackOffMax it cannot be configured. */
const backOffs: { reduced: boolean; configurable: boolean; periods: { configuredMs: number | null; want: [number, number] }[] }[] = [
  { reduced: false, configurable: false, periods: [{ configuredMs: null, want: [10_000, 300_000] }] },
  { reduced: true, configurable: false, periods: [{ configuredMs: null, want: [1000, 60_000] }] },
  {
    reduced: false,
    configurable: true,
    periods: [
      { configuredMs: null, want: [10_000, 300_000] },
      { configuredMs: 1000, want: [1000, 1000] },
      { configuredMs: 9999, want: [9999, 9999] },
      { configuredMs: 10_000, want: [10_000, 10_000] },
      { configuredMs: 60_000, want: [10_000, 60_000] },
      { configuredMs: 300_000, want: [10_000, 300_000] },
    ],
  },
  {
    reduced: true,
    configurable: true,
    periods: [
      // The default of the setting, which this gate does not change, precedes the reduced maximum.
      { configuredMs: null, want: [1000, 300_000] },
      { configuredMs: 1000, want: [1000, 1000] },
      { configuredMs: 2000, want: [1000, 2000] },
      { configuredMs: 120_000, want: [1000, 120_000] },
    ],
  },
];
table('the back-off of restarts follows both gates and the configuration', (row) => {
  for (const { reduced, configurable, periods } of backOffs) {
    const gates = { ReduceDefaultCrashLoopBackOffDecay: reduced, KubeletCrashLoopBackOffMax: configurable };
    for (const { configuredMs, want } of periods) {
      row(`reduced decay: ${reduced}, configurable maximum: ${configurable}, configured: ${configuredMs} ms`, () => {
        const fields = configuredMs === null ? {} : { crashLoopBackOff: { maxContainerRestartPeriod: configuredMs } };
        const { initialContainerBackOffMs, maxContainerBackOffMs } = podSyncSettings(options(fields, gates), host);
        assert.deepEqual([initialContainerBackOffMs, maxContainerBackOffMs], want);
      });
    }
  }
});

test('links to container logs are in the folder of log collectors, wherever the logs are', () => {
  const moved = options({ podLogsDir: '/data/logs/pods' });
  assert.equal(podSyncSettings(moved, host).containerLogsDir, '/var/log/containers');
  assert.equal(imagesSettings(moved, sharedTables).containerLogsDir, '/var/log/containers');
});

test('container logs are rotated by the configured policy, or not at all when the size is negative', () => {
  const policyOf = (fields: Partial<KubeletConfiguration>) => imagesSettings(options(fields), sharedTables).live.logRotation;
  const policy = { containerLogMaxSize: '1Mi', containerLogMaxFiles: 3, containerLogMaxWorkers: 2, containerLogMonitorInterval: 5000 };
  assert.deepEqual(policyOf(policy), { maxSizeBytes: 1024 * 1024, maxFiles: 3, maxWorkers: 2, monitorIntervalMs: 5000 });
  assert.equal(policyOf({ ...policy, containerLogMaxSize: '-1' }), null);
});

test('the OOM killer ends one process of a container on cgroup v1 and all on v2, unless the node configures otherwise', () => {
  assert.equal(podSyncSettings(options(), host).singleProcessOOMKill, true);
  assert.equal(podSyncSettings(options(), { ...host, cgroupVersion: 2 }).singleProcessOOMKill, false);
  assert.equal(podSyncSettings(options({ singleProcessOOMKill: false }), host).singleProcessOOMKill, false);
});

test('a port of zero is no listener', () => {
  const { readOnly } = serverSettings(options({ readOnlyPort: 10255, address: '192.0.2.1' }), {
    nodeName: 'n',
    snapshot: new SharedArrayBuffer(0),
    usage: new SharedArrayBuffer(0),
    storage: new SharedArrayBuffer(0),
    claimedVolumes: new SharedArrayBuffer(0),
    timelines: new SharedArrayBuffer(0),
    hasApiServer: false,
  });
  assert.equal(listenAddress('127.0.0.1', 0), null);
  assert.deepEqual(readOnly, { address: '192.0.2.1', port: 10255 });
});

test('the image service is at the runtime’s endpoint unless it has a separate one', () => {
  const containerRuntimeEndpoint = 'unix:///run/runtime.sock';
  const imagesOf = (fields: Partial<KubeletConfiguration>) => {
    const given = options({ containerRuntimeEndpoint, ...fields });
    return [imagesSettings(given, sharedTables).imageEndpoint, podSyncSettings(given, host).imageEndpoint];
  };
  assert.deepEqual(imagesOf({}), [containerRuntimeEndpoint, containerRuntimeEndpoint]);
  assert.deepEqual(imagesOf({ imageServiceEndpoint: 'unix:///run/images.sock' }), ['unix:///run/images.sock', 'unix:///run/images.sock']);
});
