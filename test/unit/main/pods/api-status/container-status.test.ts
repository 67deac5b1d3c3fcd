/** The fields of a container status that come from the runtime: resources, image, mounts, stop signal. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { generateContainerStatuses } from '../../../../../src/main/pods/api-status/container-statuses.ts';
import type { RuntimeContainerStatus } from '../../../../../src/shared/contracts/runtime-status.ts';
import type { ContainerStatus } from '../../../../../src/shared/kubernetes/api.ts';
import { plainStatusInput } from '../../../../support/pods/pod-parts.ts';
import { aContainer, aPod, aRuntimeContainer, aRuntimePodStatus } from '../../../../support/pods/pods.ts';
import { table } from '../../../../support/table.ts';
import { statusFeaturesWith } from '../../../../support/pods/status-features.ts';

test('status: a container shows the resources that the runtime reports', () => {
  const container = aContainer({ resources: { requests: { cpu: '100m', memory: '64Mi' }, limits: { cpu: '500m', memory: '64Mi' } } });
  const given = (cpuQuota: number, cpuShares: number) =>
    aRuntimeContainer({ resources: { cpuShares, cpuQuota, cpuPeriod: 100_000, memoryLimitBytes: 64 * 1024 * 1024 } });
  const shown = (instances: RuntimeContainerStatus) => {
    const input = {
      ...plainStatusInput(aPod()),
      status: aRuntimePodStatus({ containers: [instances] }),
      waiting: {},
      node: { runtimeName: 'containerd' },
      restarting: false,
      ...statusFeaturesWith(),
    };
    return generateContainerStatuses(input, [container], [], 'regular')[0]?.resources;
  };
  assert.deepEqual(shown(given(50_000, 102)), container.resources);
  assert.deepEqual(shown(given(75_000, 205)), { requests: { cpu: '201m', memory: '64Mi' }, limits: { cpu: '750m', memory: '64Mi' } });
  // A request that is still the kernel's minimum.
  assert.deepEqual(shown(given(50_000, 2))?.requests, { cpu: '2m', memory: '64Mi' });
});

test('status: a container shows its image as the runtime reports it, with the repository digest', () => {
  const instances = aRuntimeContainer({ imageID: 'sha256:config', imageRef: 'local.example/app@sha256:manifest' });
  const input = {
    ...plainStatusInput(aPod()),
    status: aRuntimePodStatus({ containers: [instances] }),
    waiting: {},
    node: { runtimeName: 'r' },
    restarting: false,
    ...statusFeaturesWith(),
  };
  assert.equal(generateContainerStatuses(input, [aContainer()], [], 'regular')[0]?.imageID, 'local.example/app@sha256:manifest');
});

table('status: a read-only mount shows whether the runtime makes it recursive', (row) => {
  for (const [handlers, mode, want] of [
    [[{ name: '', recursiveReadOnlyMounts: true, userNamespaces: false }], 'IfPossible', 'Enabled'],
    [[], 'IfPossible', 'Disabled'],
    [[], 'Enabled', 'Disabled'],
    [[{ name: '', recursiveReadOnlyMounts: true, userNamespaces: false }], undefined, 'Disabled'],
  ] as const) {
    row(`status: a read-only mount (${mode}) is shown as ${want} with ${handlers.length} handlers`, () => {
      const mount = { name: 'v', mountPath: '/v', readOnly: true, ...(mode && { recursiveReadOnly: mode }) };
      const node = { runtimeName: 'r', runtimeHandlers: handlers };
      const input = {
        ...plainStatusInput(aPod()),
        status: aRuntimePodStatus({ containers: [aRuntimeContainer()] }),
        waiting: {},
        node,
        restarting: false,
        ...statusFeaturesWith(),
      };
      const [status] = generateContainerStatuses(input, [aContainer({ volumeMounts: [mount] })], [], 'regular');
      assert.deepEqual(status?.volumeMounts, [{ name: 'v', mountPath: '/v', readOnly: true, recursiveReadOnly: want }]);
    });
  }
});

test('status: a container shows its mounts before it is created, and the recursive mode is fixed once it exists', () => {
  const mount = { name: 'v', mountPath: '/v', readOnly: true, recursiveReadOnly: 'IfPossible' };
  const modes = (containers: RuntimeContainerStatus[], can: boolean, before: readonly ContainerStatus[]) => {
    const node = { runtimeName: 'r', runtimeHandlers: [{ name: '', recursiveReadOnlyMounts: can, userNamespaces: false }] };
    const input = {
      ...plainStatusInput(aPod()),
      status: aRuntimePodStatus({ containers }),
      waiting: {},
      node,
      restarting: false,
      ...statusFeaturesWith(),
    };
    return generateContainerStatuses(input, [aContainer({ volumeMounts: [mount] })], before, 'regular');
  };
  const waiting = modes([], false, []);
  const created = modes([aRuntimeContainer()], true, waiting);
  const later = modes([aRuntimeContainer()], false, created);
  assert.deepEqual(
    [waiting, created, later].map(([status]) => status?.volumeMounts?.[0]?.recursiveReadOnly),
    ['Disabled', 'Enabled', 'Enabled'],
  );
});

table('the stop signal is shown only with the feature gate', (row) => {
  const shown = (stopSignal: string | undefined, stopSignals: boolean | undefined) => {
    const instances = aRuntimeContainer(stopSignal === undefined ? {} : { stopSignal });
    const input = {
      ...plainStatusInput(aPod()),
      status: aRuntimePodStatus({ containers: [instances] }),
      waiting: {},
      node: { runtimeName: 'x' },
      restarting: false,
      ...statusFeaturesWith(),
    };
    return generateContainerStatuses({ ...input, ...(stopSignals !== undefined && { stopSignals }) }, [aContainer()], [], 'regular')[0]
      ?.stopSignal;
  };
  row('on', () => assert.equal(shown('SIGUSR1', true), 'SIGUSR1'));
  row('on, and the runtime does not report it', () => assert.equal(shown(undefined, true), undefined));
  row('off', () => assert.equal(shown('SIGUSR1', false), undefined));
  row('by default', () => assert.equal(shown('SIGUSR1', undefined), undefined));
});

table('the image of an image volume is shown only with the feature gate', (row) => {
  const mounted = { hostPath: '', readonly: true, recursiveReadOnly: false };
  const shown = (mounts: RuntimeContainerStatus['mounts'], imageVolumeRefs?: boolean) => {
    const volumeMounts = [
      { name: 'data', mountPath: 'data/' },
      { name: 'plain', mountPath: '/plain' },
    ];
    const pod = aPod({
      spec: {
        volumes: [
          { name: 'data', image: { reference: 'local.example/data:1' } },
          { name: 'plain', emptyDir: {} },
        ],
      },
    });
    const status = aRuntimePodStatus({ containers: [aRuntimeContainer({ mounts })] });
    const input = { ...plainStatusInput(pod), status, waiting: {}, node: { runtimeName: 'x' }, restarting: false, ...statusFeaturesWith() };
    const features = imageVolumeRefs === undefined ? {} : { imageVolumeRefs };
    const [app] = generateContainerStatuses({ ...input, ...features }, [aContainer({ volumeMounts })], [], 'regular');
    return app?.volumeMounts?.map(({ volumeStatus }) => volumeStatus?.image?.imageRef);
  };
  const image = [
    { ...mounted, containerPath: '/data', image: 'sha256:abc' },
    { ...mounted, containerPath: '/plain', image: 'sha256:def' },
  ];
  row('on', () => assert.deepEqual(shown(image, true), ['sha256:abc', undefined]));
  row('on, and the runtime does not report it', () =>
    assert.deepEqual(shown([{ ...mounted, containerPath: '/data' }], true), [undefined, undefined]),
  );
  row('off', () => assert.deepEqual(shown(image, false), [undefined, undefined]));
  row('by default', () => assert.deepEqual(shown(image), [undefined, undefined]));
});
