import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { RuntimeSandboxStatus } from '../../../../../src/shared/contracts/runtime-status.ts';
import {
  Container,
  ContainerStatus,
  PodSandboxStatus,
  Signal,
  type DeepPartial,
  type UserNamespace,
} from '../../../../../src/shared/cri/generated/cri-v1.ts';
import type { PodUID, SandboxID } from '../../../../../src/shared/kubernetes/ids.ts';
import { readContainerAnnotations } from '../../../../../src/workers/pleg/runtime-status/container-annotations.ts';
import {
  toListedContainerStatus,
  toRuntimeContainerStatus,
  toRuntimePodStatus,
  toRuntimeSandboxStatus,
} from '../../../../../src/workers/pleg/runtime-status/to-runtime-status.ts';
import { table } from '../../../../support/table.ts';

const sandboxID = 's1' as SandboxID;
const status = (given: DeepPartial<ContainerStatus>) => toRuntimeContainerStatus(ContainerStatus.fromPartial(given), sandboxID, '');

suite('the runtime status of a container', () => {
  test('an exited container with all fields', () => {
    const given = ContainerStatus.fromPartial({
      id: 'c1',
      metadata: { name: 'other', attempt: 7 },
      state: 2,
      createdAt: 1_767_225_600_123_456_789n,
      startedAt: 1_767_225_601_000_000_000n,
      finishedAt: 1_767_225_602_000_000_000n,
      exitCode: 3,
      image: { image: 'busybox:1' },
      imageRef: 'docker.io/library/busybox@sha256:1',
      imageId: 'sha256:2',
      reason: 'Error',
      message: 'it failed',
      labels: { 'io.kubernetes.container.name': 'app' },
      annotations: { 'io.kubernetes.container.hash': '00AB12', 'io.kubernetes.container.restartCount': '4' },
      logPath: '/var/log/pods/x/app/4.log',
      mounts: [
        { containerPath: '/data', hostPath: '/srv', readonly: true, recursiveReadOnly: true },
        { containerPath: '/image', readonly: true, image: { image: 'sha256:3' } },
      ],
      user: { linux: { uid: 1000n, gid: 1001n, supplementalGroups: [5n] } },
      resources: { linux: { cpuShares: 102n, cpuQuota: 20_000n, cpuPeriod: 100_000n, memoryLimitInBytes: 1n << 40n } },
      stopSignal: Signal.SIGNAL_SIGRTMINPLUS1,
    });
    assert.deepEqual(toRuntimeContainerStatus(given, sandboxID, 'disk full'), {
      id: 'c1',
      sandboxID: 's1',
      name: 'app',
      state: 'exited',
      createdAtMs: 1_767_225_600_123.456,
      startedAtMs: 1_767_225_601_000,
      finishedAtMs: 1_767_225_602_000,
      exitCode: 3,
      image: 'busybox:1',
      imageID: 'sha256:2',
      imageRef: 'docker.io/library/busybox@sha256:1',
      hash: 'ab12',
      restartCount: 4,
      reason: 'Error',
      message: 'it failed: disk full',
      logPath: '/var/log/pods/x/app/4.log',
      user: { uid: 1000, gid: 1001, supplementalGroups: [5] },
      resources: { cpuShares: 102, cpuQuota: 20_000, cpuPeriod: 100_000, memoryLimitBytes: 2 ** 40 },
      mounts: [
        { containerPath: '/data', hostPath: '/srv', readonly: true, recursiveReadOnly: true },
        { containerPath: '/image', hostPath: '', readonly: true, recursiveReadOnly: false, image: 'sha256:3' },
      ],
      orphan: {},
      stopSignal: 'SIGRTMIN+1',
    });
  });

  test('a created container has no start time, whatever the runtime reports', () => {
    const { state, startedAtMs, finishedAtMs } = status({ state: 0, startedAt: 5_000_000n, finishedAt: 5_000_000n });
    assert.deepEqual({ state, startedAtMs, finishedAtMs }, { state: 'created', startedAtMs: 0, finishedAtMs: 0 });
  });

  test('a running container has no exit code, no reason and no message', () => {
    const { exitCode, reason, message, finishedAtMs } = status({
      state: 1,
      exitCode: 9,
      reason: 'Error',
      message: 'no',
      finishedAt: 7_000_000n,
    });
    assert.deepEqual({ exitCode, reason, message, finishedAtMs }, { exitCode: 0, reason: '', message: '', finishedAtMs: 0 });
  });

  test('the image ID defaults to the image reference', () => {
    assert.equal(status({ imageRef: 'ref' }).imageID, 'ref');
  });

  test('an unrecognized state is unknown, an unrecognized signal absent', () => {
    const strange = { ...ContainerStatus.fromPartial({}), state: 12 as 3, stopSignal: 999 as 0 };
    const { state, stopSignal } = toRuntimeContainerStatus(strange, sandboxID, '');
    assert.deepEqual([state, stopSignal], ['unknown', undefined]);
  });

  test('an exit that only a list shows counts as a failure', () => {
    const listed = (state: 1 | 2) =>
      toListedContainerStatus(Container.fromPartial({ id: 'c', podSandboxId: 's', metadata: { name: 'app' }, state }));
    assert.deepEqual(
      [listed(2).exitCode, listed(2).reason, listed(2).name, listed(2).sandboxID],
      [137, 'ContainerStatusUnknown', 'app', 's'],
    );
    assert.deepEqual([listed(1).exitCode, listed(1).reason], [0, '']);
  });
});

suite('annotations of a container', () => {
  const name = (short: string) => `io.kubernetes.${short}`;
  test('an absent annotation has its default and is not a problem', () => {
    const want = { hash: '0', restartCount: 0, terminationMessagePath: '', terminationMessagePolicy: '', orphan: {}, problems: [] };
    assert.deepEqual(readContainerAnnotations({}), want);
  });

  test('the annotations for orphans are kept unchanged', () => {
    const { orphan, problems } = readContainerAnnotations({
      [name('pod.terminationGracePeriod')]: '30',
      [name('pod.deletionGracePeriod')]: '-1',
      [name('container.preStopHandler')]: '{"exec":{"command":["true"]}}',
      [name('container.ports')]: '[]',
    });
    assert.deepEqual(orphan, {
      podTerminationGracePeriodSeconds: 30,
      podDeletionGracePeriodSeconds: -1,
      preStopHandler: '{"exec":{"command":["true"]}}',
      ports: '[]',
    });
    assert.deepEqual(problems, []);
  });

  const broken: [string, string][] = [
    ['container.hash', 'xyz'],
    ['container.hash', '12345678901234567'],
    ['container.restartCount', '1.5'],
    ['container.restartCount', ''],
    ['pod.terminationGracePeriod', 'soon'],
    ['pod.deletionGracePeriod', '99999999999999999999'],
    ['container.preStopHandler', '{'],
    ['container.preStopHandler', '[1]'],
    ['container.preStopHandler', 'null'],
    ['container.ports', '{}'],
  ];
  table('an invalid annotation is a problem and has its default', (row) => {
    for (const [short, value] of broken) {
      row(`${short} ${JSON.stringify(value)} is a problem and has its default`, () => {
        const { problems, ...rest } = readContainerAnnotations({ [name(short)]: value });
        assert.deepEqual({ ...rest, problems: [] }, readContainerAnnotations({}));
        assert.equal(problems.length, 1);
        assert.match(problems[0]!, new RegExp(`annotation io.kubernetes.${short} is not`));
      });
    }
  });
});

table('a sandbox names the source of its pod', (row) => {
  for (const [source, want] of [
    ['file', true],
    ['http', true],
    ['api', undefined],
  ] as const) {
    row(`a sandbox of the source ${source}`, () => {
      const status = PodSandboxStatus.fromPartial({ annotations: { 'kubernetes.io/config.source': source } });
      assert.equal(toRuntimeSandboxStatus(status).isStatic, want);
    });
  }
});

suite('the IPs of a pod', () => {
  const ips = (ip: string, ...more: string[]) =>
    toRuntimeSandboxStatus(PodSandboxStatus.fromPartial({ network: { ip, additionalIps: more.map((one) => ({ ip: one })) } })).podIPs;

  const networks: { name: string; got: readonly string[]; want: string[] }[] = [
    { name: 'the primary comes first', got: ips('10.0.0.1', 'fd00::1'), want: ['10.0.0.1', 'fd00::1'] },
    { name: 'a hostNetwork sandbox has no IPs', got: ips(''), want: [] },
    { name: 'an invalid primary IP removes the others', got: ips('nonsense', 'fd00::1'), want: [] },
    { name: 'an invalid secondary IP removes the others', got: ips('10.0.0.1', ''), want: [] },
    { name: 'a sandbox without a network has no IPs', got: toRuntimeSandboxStatus(PodSandboxStatus.fromPartial({})).podIPs, want: [] },
  ];
  table('a sandbox’s IPs are those of its network', (row) => {
    for (const { name, got, want } of networks) row(name, () => assert.deepEqual(got, want));
  });

  const sandbox = (attempt: number, state: 'ready' | 'notReady', podIPs: string[] = [`10.0.0.${attempt}`]): RuntimeSandboxStatus => ({
    id: `s${attempt}` as SandboxID,
    state,
    attempt,
    createdAtMs: 0,
    podIPs,
    hostNetwork: false,
    runtimeHandler: '',
  });
  const podIPs = (...sandboxes: RuntimeSandboxStatus[]) =>
    toRuntimePodStatus({
      podUID: 'u' as PodUID,
      name: 'n',
      namespace: 'ns',
      sandboxes,
      containers: [],
      previousPodIPs: ['10.9.9.9'],
      observedAtMs: 1,
    }).podIPs;

  test('are the IPs of its newest sandbox', () => assert.deepEqual(podIPs(sandbox(0, 'notReady'), sandbox(1, 'ready')), ['10.0.0.1']));
  test('stay unchanged while no sandbox is ready', () =>
    assert.deepEqual(podIPs(sandbox(0, 'notReady'), sandbox(1, 'notReady')), ['10.9.9.9']));
  test('are empty while only an older sandbox is ready', () => assert.deepEqual(podIPs(sandbox(0, 'ready'), sandbox(1, 'notReady')), []));
  test('are empty while the ready sandbox has no IPs yet', () => assert.deepEqual(podIPs(sandbox(1, 'ready', [])), []));
});

test('the newest instance of a container has the highest restart count, also when the clock was set back', () => {
  const instance = (restartCount: number, createdAt: bigint) =>
    status({
      id: `app-${restartCount}@${createdAt}`,
      createdAt: createdAt * 1_000_000n,
      annotations: { 'io.kubernetes.container.restartCount': String(restartCount) },
    });
  const { containers } = toRuntimePodStatus({
    podUID: 'u' as PodUID,
    name: 'n',
    namespace: 'ns',
    sandboxes: [],
    containers: [instance(0, 5n), instance(1, 9n), instance(2, 3n), instance(0, 7n)],
    previousPodIPs: [],
    observedAtMs: 1,
  });
  assert.deepEqual(
    containers.map(({ id }) => id),
    ['app-2@3', 'app-1@9', 'app-0@7', 'app-0@5'],
  );
});

type UserNamespaceOptions = DeepPartial<UserNamespace>;
const mapping = { hostId: 131_072, containerId: 0, length: 65_536 };
const namespaces: readonly [name: string, options: UserNamespaceOptions | undefined, want: RuntimeSandboxStatus['userNamespace']][] = [
  ['a runtime that reports none', undefined, undefined],
  ['the host’s users', { mode: 2 }, undefined],
  ['one mapping', { mode: 0, uids: [mapping], gids: [mapping] }, { hostID: 131_072, length: 65_536 }],
  ['no mapping', { mode: 0 }, undefined],
  ['two mappings', { mode: 0, uids: [mapping, mapping], gids: [mapping, mapping] }, undefined],
  ['other groups', { mode: 0, uids: [mapping], gids: [{ ...mapping, hostId: 196_608 }] }, undefined],
  ['no mapping of root', { mode: 0, uids: [{ ...mapping, containerId: 1 }], gids: [{ ...mapping, containerId: 1 }] }, undefined],
];

table('the user namespace of a sandbox is known if the kubelet can have made it', (row) => {
  for (const [name, options, want] of namespaces) {
    row(name, () => {
      const linux = { namespaces: { options: { network: 0 as const, ...(options && { usernsOptions: options }) } } };
      assert.deepEqual(toRuntimeSandboxStatus(PodSandboxStatus.fromPartial({ linux })).userNamespace, want);
    });
  }
});
