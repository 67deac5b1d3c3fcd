/** Node settings that change what a pod or a client gets. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Agent, request } from 'undici';
import { busyboxArchive } from '../../lab/containerd/local-images.ts';
import {
  Signal,
  type ContainerStatusResponse,
  type CreateContainerRequest,
  type CreateContainerResponse,
  type UpdateRuntimeConfigRequest,
} from '../../src/shared/cri/generated/cri-v1.ts';
import type { Pod } from '../../src/shared/kubernetes/api.ts';
import type { Node } from '../../src/main/node/index.ts';
import { reservePort } from '../../lab/host/reserve-ports.ts';
import { Cleanups } from '../support/cleanups.ts';
import { TestClusterNode } from '../support/cluster/cluster-node.ts';
import { startHostileRuntime } from '../support/runtime/hostile-runtime.ts';
import { PrivateRegistry } from '../support/kubelet/private-registry.ts';
import { waitUntil } from '../support/runtime/simulated-runtime.ts';
import { kubeletPath } from '../support/kubelet/kubelet-command.ts';
import { aBusybox, aManifest, TestNode } from '../support/kubelet/test-node.ts';

describe('node settings', () => {
  const hooks = new Cleanups();
  let node: TestNode;
  let port: number;

  before(async () => {
    port = await reservePort();
    node = await TestNode.start(hooks, {
      config: {
        port,
        authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
        authorization: { mode: 'AlwaysAllow' },
        enableDebuggingHandlers: false,
        seccompDefault: true,
        cpuCFSQuota: false,
        serializeImagePulls: false,
        maxParallelImagePulls: 2,
        featureGates: { ReduceDefaultCrashLoopBackOffDecay: true },
      },
    });
    await node.startKubelet();
  });
  after(() => hooks.run());

  test('seccompDefault gives containers without a profile RuntimeDefault', async () => {
    node.apply(aManifest('profile', { restartPolicy: 'Never', containers: [aBusybox({ sh: 'grep Seccomp: /proc/self/status' })] }));
    const pod = await node.until('profile', 'has ended', ({ status }) => status?.phase === 'Succeeded');
    assert.match(node.logsOf(pod, 'app'), /^Seccomp:\s+2$/);
  });

  test('cpuCFSQuota: false sets no quota for a CPU limit, in container and pod', async () => {
    node.apply(aManifest('limited', { containers: [aBusybox({ resources: { limits: { cpu: '200m', memory: '32Mi' } } })] }));
    const { metadata, status } = await node.untilRunning('limited');
    const id = status?.containerStatuses?.[0]?.containerID?.slice('containerd://'.length) ?? '';
    const pod = `/sys/fs/cgroup/cpu${node.cgroupRoot}/kubepods/pod${metadata.uid}`;
    for (const folder of [pod, join(pod, id)]) assert.equal(readFileSync(join(folder, 'cpu.cfs_quota_us'), 'utf8').trim(), '-1', folder);
  });

  test('enableDebuggingHandlers: false closes the debug endpoints only', async () => {
    const dispatcher = new Agent({ connect: { rejectUnauthorized: false } });
    hooks.after(() => dispatcher.destroy());
    const statusOf = async (path: string) => {
      const { statusCode, body } = await request(`https://127.0.0.1:${port}${path}`, { dispatcher });
      await body.dump();
      return statusCode;
    };
    const paths = ['/runningpods/', '/logs/', '/debug/pprof/', '/containerLogs/default/x/app', '/pods', '/metrics', '/healthz'];
    assert.deepEqual(await Promise.all(paths.map(statusOf)), [405, 405, 405, 405, 200, 200, 200]);
  });

  test('the gate ReduceDefaultCrashLoopBackOffDecay shortens the first back-off to 1 s', async () => {
    node.apply(aManifest('crashing', { containers: [aBusybox({ sh: 'exit 7' })] }));
    const waits = ({ status }: Pod) => status?.containerStatuses?.[0]?.state?.waiting?.reason === 'CrashLoopBackOff';
    const { metadata } = await node.until('crashing', 'is backed off', waits);
    const { name, namespace, uid } = metadata;
    // In the log also when /pods already has the next back-off.
    assert.ok(node.log().includes(`back-off 1s restarting failed container=app pod=${name}_${namespace}(${uid})`));
    node.delete('crashing');
  });

  test('maxParallelImagePulls limits parallel pulls', async () => {
    const registry = await PrivateRegistry.start(hooks, busyboxArchive, { node: 'geheim' });
    const auths = { [registry.host]: { username: 'node', password: 'geheim' } };
    writeFileSync(join(node.rootDir, 'config.json'), JSON.stringify({ auths }));
    const released = Promise.withResolvers<void>();
    registry.delayUntil(released.promise);
    const names = ['one', 'two', 'three', 'four'];
    for (const name of names) node.apply(aManifest(name, { containers: [aBusybox({ image: `${registry.host}/team/${name}:1` })] }));
    const isPulling = (name: string) => node.log().includes(`Pulling image \\"${registry.host}/team/${name}:1\\"`);
    await waitUntil('all pulls have started or wait', () => names.every(isPulling) && registry.maxConcurrentPulls >= 2, 20_000).finally(
      released.resolve,
    );
    for (const name of names) await node.untilRunning(name);
    assert.equal(registry.maxConcurrentPulls, 2);
  });
});

describe('node settings in a cluster', () => {
  let node: TestClusterNode;
  before(async () => {
    node = await TestClusterNode.start('settings', { config: { podsPerCore: 3, oomScoreAdj: 300, nodeStatusUpdateFrequency: '2s' } });
  });
  after(() => node?.destroy());

  test('podsPerCore limits the node’s pod capacity', async () => {
    const { status } = await node.api.get<Node>(node.nodePath);
    const pods = String(3 * availableParallelism());
    assert.deepEqual([status?.capacity?.['pods'], status?.allocatable?.['pods']], [pods, pods]);
  });

  test('oomScoreAdj sets the kubelet’s own oom_score_adj', () => {
    assert.equal(readFileSync(`/proc/${node.node.kubeletPid}/oom_score_adj`, 'utf8').trim(), '300');
  });

  test('the Node’s ranges of pods are sent to the runtime', async () => {
    const podCIDRs = ['10.89.7.0/24', 'fd89:0:0:7::/64'];
    await node.api.patch(node.nodePath, { spec: { podCIDR: podCIDRs[0], podCIDRs } });
    const sent = /kubelet_runtime_operations_total\{operation_type="update_runtime_config"\} [1-9]/;
    await waitUntil('the runtime was asked', async () => sent.test(await node.api.text(`${node.nodePath}/proxy/metrics`)));
    assert.match(node.node.log(), /"Updating Pod CIDR".* newPodCIDR="10.89.7.0\/24,fd89:0:0:7::\/64"/);
    assert.doesNotMatch(node.node.log(), /Pod CIDR update failed/);
  });

  test('volumes that another kubelet has left in use are listed until none is mounted any more', async (t) => {
    const folder = createHash('sha256').update('v1').digest('hex');
    const staged = join(node.node.rootDir, 'plugins/kubernetes.io/csi/driver', folder, 'globalmount');
    mkdirSync(staged, { recursive: true });
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', staged]);
    t.after(() => void spawnSync('umount', ['-q', staged]));
    const volumesInUse = ['kubernetes.io/csi/driver^v1'];
    await node.api.patch(`${node.nodePath}/status`, { status: { volumesInUse } });
    // The next status of the kubelet repairs the label.
    const os = 'kubernetes.io/os';
    await node.api.patch(node.nodePath, { metadata: { labels: { [os]: 'plan9' } } });
    const current = () => node.api.get<Node>(node.nodePath);
    const repaired = async () => {
      const { metadata, status } = await current();
      return metadata.labels?.[os] === 'linux' ? (status?.volumesInUse ?? []) : undefined;
    };
    assert.deepEqual(await waitUntil('the label is repaired', repaired, 30_000), volumesInUse);
    execFileSync('umount', [staged]);
    await waitUntil('the list is empty', async () => ((await current()).status?.volumesInUse ?? []).length === 0, 30_000);
  });

  test('a root folder that can’t be a shared mount makes the node not ready, with the reason in its condition and an event', async () => {
    await node.node.stopKubelet();
    const executable = join(node.node.folder, 'kubelet-without-mounts');
    const script = `#!/bin/sh\nexec unshare --mount setpriv --bounding-set=-sys_admin ${kubeletPath} "$@"\n`;
    writeFileSync(executable, script, { mode: 0o755 });
    await node.node.startKubelet({ executable });
    const reason = /error configuring root directory: failed to bind-mount .*: EPERM/;
    await waitUntil('the node is not ready', async () => {
      const { status } = await node.api.get<Node>(node.nodePath);
      return status?.conditions?.some(
        ({ type, status: ready, message }) => type === 'Ready' && ready === 'False' && reason.test(message ?? ''),
      );
    });
    await waitUntil('the event is recorded', () => /reason="KubeletSetupFailed".*failed to bind-mount/.test(node.node.log()));
    assert.equal((await node.node.healthz()).status, 200);
  });
});

test('imageServiceEndpoint receives image calls, containerRuntimeEndpoint all others', async (t) => {
  const config: Record<string, unknown> = {};
  const node = await TestNode.start(t, { config });
  const calls = new Set<string>();
  const images = await startHostileRuntime(t, node.containerd.endpoint, ({ call, bytes }) => {
    calls.add(call);
    return bytes;
  });
  config['imageServiceEndpoint'] = images.endpoint;
  await node.startKubelet();
  node.apply(aManifest('web'));
  await node.untilRunning('web');
  assert.ok(calls.has('ImageStatus'), [...calls].join());
  assert.deepEqual(
    [...calls].filter((call) => !/Image/.test(call)),
    [],
  );
});

// Through a proxy that adds what the runtime lacks: containerd up to 2.1.9 ignores stop signals.
test('the gate ContainerStopSignals passes the signal of a container on to the runtime, and shows the runtime’s', async (t) => {
  const config: Record<string, unknown> = { featureGates: { ContainerStopSignals: true }, podCIDR: '10.88.0.0/24' };
  const node = await TestNode.start(t, { config });
  const requested = new Map<string, Signal>();
  const podCIDRs: string[] = [];
  const proxy = await startHostileRuntime(t, node.containerd.endpoint, ({ call, request, reply, bytes, encode }) => {
    if (call === 'CreateContainer') {
      const { config: created } = request as CreateContainerRequest;
      requested.set((reply as CreateContainerResponse).containerId, created?.stopSignal ?? Signal.SIGNAL_RUNTIME_DEFAULT);
    }
    if (call === 'UpdateRuntimeConfig') podCIDRs.push((request as UpdateRuntimeConfigRequest).runtimeConfig?.networkConfig?.podCidr ?? '');
    if (call !== 'ContainerStatus') return bytes;
    const { status } = reply as ContainerStatusResponse;
    return encode({ ...reply, status: { ...status, stopSignal: requested.get(status?.id ?? '') || Signal.SIGNAL_SIGTERM } });
  });
  config['containerRuntimeEndpoint'] = proxy.endpoint;
  await node.startKubelet();
  const containers = [aBusybox({ name: 'custom', lifecycle: { stopSignal: 'SIGUSR1' } }), aBusybox({ name: 'default' })];
  node.apply(aManifest('stop-signals', { os: { name: 'linux' }, containers }));
  const { status } = await node.untilRunning('stop-signals');
  // A standalone node sends podCIDR of its configuration.
  assert.deepEqual(new Set(podCIDRs), new Set(['10.88.0.0/24']));
  assert.deepEqual(new Set(requested.values()), new Set([Signal.SIGNAL_RUNTIME_DEFAULT, Signal.SIGNAL_SIGUSR1]));
  assert.deepEqual(
    status?.containerStatuses?.map(({ name, stopSignal }) => [name, stopSignal]),
    [
      ['custom', 'SIGUSR1'],
      ['default', 'SIGTERM'],
    ],
  );
});

test('a kubelet in a user namespace tolerates what it may not set or read there, and runs pods', async (t) => {
  const node = await TestNode.start(t, { config: { oomScoreAdj: -999 } });
  const executable = join(node.folder, 'kubelet-in-user-namespace');
  writeFileSync(executable, `#!/bin/sh\nexec unshare --user --map-root-user ${kubeletPath} "$@"\n`, { mode: 0o755 });
  await node.startKubelet({ executable });
  assert.doesNotMatch(readFileSync(`/proc/${node.kubeletPid}/uid_map`, 'utf8'), /4294967295/);
  node.apply(aManifest('web'));
  await node.untilRunning('web');
  assert.equal((await node.healthz()).status, 200);
  for (const problem of ['Could not set the OOM score of the kubelet', 'Could not open the kernel’s log'])
    await waitUntil(`the log has: ${problem}`, () => node.log().includes(problem));
});
