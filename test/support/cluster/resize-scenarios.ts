/** What in-place resizes must do with every containerd. The tests of each version name the scenarios. */
import assert from 'node:assert/strict';
import type { Pod, ResourceRequirements } from '../../../src/shared/kubernetes/api.ts';
import { aBusybox } from '../kubelet/test-node.ts';
import type { TestClusterNode } from './cluster-node.ts';
import { appOf, cgroupValues, condition, guaranteed, hasNoResize, mebibyte, Resizes, withResources } from './resizes.ts';

interface Step {
  readonly resources: ResourceRequirements;
  /** Shares, quota and memory limit of the container, and of the pod: it has no other container. */
  readonly values: string[];
}

export const guaranteedSteps: readonly Step[] = [
  { resources: guaranteed('100m', '64Mi'), values: cgroupValues(102, 10_000, 64 * mebibyte) },
  { resources: guaranteed('200m', '64Mi'), values: cgroupValues(204, 20_000, 64 * mebibyte) },
  { resources: guaranteed('200m', '128Mi'), values: cgroupValues(204, 20_000, 128 * mebibyte) },
  { resources: guaranteed('100m', '160Mi'), values: cgroupValues(102, 10_000, 160 * mebibyte) },
  { resources: guaranteed('50m', '32Mi'), values: cgroupValues(51, 5000, 32 * mebibyte) },
];
const burstable = (request: string, cpu: string, memory: string) => ({
  requests: { cpu: request, memory: '32Mi' },
  limits: { cpu, memory },
});
export const burstableSteps: readonly Step[] = [
  { resources: burstable('20m', '100m', '64Mi'), values: cgroupValues(20, 10_000, 64 * mebibyte) },
  { resources: burstable('100m', '300m', '128Mi'), values: cgroupValues(102, 30_000, 128 * mebibyte) },
  { resources: burstable('10m', '50m', '48Mi'), values: cgroupValues(10, 5000, 48 * mebibyte) },
];

/** The first step is the pod as it is created. No container restarts. */
export async function growsAndShrinks(node: TestClusterNode, name: string, [first, ...steps]: readonly Step[]): Promise<void> {
  const resizes = new Resizes(node);
  await node.create(name, withResources(first!.resources));
  const created = await node.untilRunning(name);
  assert.deepEqual([await resizes.values(name), resizes.podValues(created)], [first!.values, first!.values]);
  for (const { resources, values } of steps) {
    await resizes.of(name, resources);
    const { limits, requests } = resources;
    const pod = await resizes.until(
      name,
      ({ resources: now }) => now?.limits?.['cpu'] === limits?.['cpu'] && now?.limits?.['memory'] === limits?.['memory'],
    );
    assert.deepEqual([await resizes.values(name), resizes.podValues(pod)], [values, values]);
    const app = appOf(pod)!;
    assert.deepEqual([app.resources, app.allocatedResources], [resources, requests]);
    assert.deepEqual([pod.status?.resources, pod.status?.allocatedResources], [resources, requests]);
    assert.deepEqual([app.containerID, app.restartCount], [appOf(created)?.containerID, 0]);
  }
  await resizes.untilEvents(name, ...steps.flatMap(() => ['ResizeStarted', 'ResizeCompleted']));
}

/** A lower limit than what the container uses is refused without harm, and set at most ten seconds after the memory is free. */
export async function waitsForLessUsage(node: TestClusterNode, name: string): Promise<void> {
  const resizes = new Resizes(node);
  const before = guaranteed('50m', '128Mi');
  const { containers = [] } = withResources(before, { volumeMounts: [{ name: 'memory', mountPath: '/m' }] });
  // The usage is below the sum of both limits.
  const other = { ...aBusybox({ resources: before }), name: 'other' };
  await node.create(name, { containers: [...containers, other], volumes: [{ name: 'memory', emptyDir: { medium: 'Memory' } }] });
  const created = await node.untilRunning(name);
  await node.exec(name, 'dd if=/dev/zero of=/m/file bs=1M count=80 2>/dev/null');
  await resizes.of(name, guaranteed('50m', '50Mi'));
  const failing = await node.until(name, 'says why', (pod) => condition(pod, 'PodResizeInProgress')?.reason === 'Error');
  assert.match(
    condition(failing, 'PodResizeInProgress')?.message ?? '',
    /^cannot decrease memory limits: .*container "app" memory limit \(52428800\) below current usage \(\d+\)/,
  );
  assert.deepEqual(appOf(failing)?.resources, before);
  assert.equal((await resizes.values(name))[2], String(128 * mebibyte));
  await resizes.untilEvents(name, 'ResizeStarted', 'ResizeError');
  assert.deepEqual(await resizes.metric('kubelet_pod_in_progress_resizes'), { '': 1 });
  const { 'success="false"': failed = 0 } = await resizes.metric('kubelet_pod_resize_duration_milliseconds_count');
  assert.ok(failed >= 1);

  await node.exec(name, 'rm /m/file');
  const freedAtMs = Date.now();
  const resized = await resizes.until(name, ({ resources }) => resources?.limits?.['memory'] === '50Mi');
  assert.ok(Date.now() - freedAtMs < 15_000, `it took ${Date.now() - freedAtMs} ms`);
  assert.equal((await resizes.values(name))[2], String(50 * mebibyte));
  assert.equal(resizes.podValues(resized)[2], String((50 + 128) * mebibyte));
  const identities = ({ status }: typeof resized) =>
    status?.containerStatuses?.map(({ containerID, restartCount }) => [containerID, restartCount]);
  assert.deepEqual(identities(resized), identities(created));
  await resizes.untilEvents(name, 'ResizeStarted', 'ResizeError', 'ResizeCompleted');
}

export async function restartsByPolicy(node: TestClusterNode, name: string): Promise<void> {
  const resizes = new Resizes(node);
  const resizePolicy = [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }];
  await node.create(name, withResources(guaranteed('100m', '64Mi'), { resizePolicy }));
  await node.untilRunning(name);
  await resizes.of(name, guaranteed('200m', '128Mi'));
  const resized = await resizes.until(name, ({ restartCount, ready }) => restartCount === 1 && ready);
  assert.deepEqual(appOf(resized)?.resources, guaranteed('200m', '128Mi'));
  assert.deepEqual(await resizes.values(name), cgroupValues(204, 20_000, 128 * mebibyte));
  assert.equal(await node.exec(name, 'echo $CPU'), '200\n');
  await resizes.of(name, guaranteed('100m', '128Mi'));
  const again = await resizes.until(name, ({ resources }) => resources?.limits?.['cpu'] === '100m');
  assert.equal(appOf(again)?.restartCount, 1);
}

export const podLevelResized = { limits: { cpu: '200m', memory: '128Mi' }, requests: { cpu: '50m', memory: '64Mi' } };

export async function resizesPodLevel(node: TestClusterNode, name: string): Promise<Pod> {
  const resizes = new Resizes(node);
  const podLevel = { requests: { cpu: '50m', memory: '64Mi' }, limits: { cpu: '100m', memory: '128Mi' } };
  await node.create(name, { ...withResources({}), resources: podLevel });
  await node.untilRunning(name);
  assert.deepEqual(await resizes.events(name), []);
  const patch = JSON.stringify({ spec: { resources: { limits: { cpu: '200m' } } } });
  await node.kubectl('patch', 'pod', name, '--subresource', 'resize', '-p', patch);
  const resized = await node.until(name, 'is resized', (pod) => hasNoResize(pod) && pod.status?.resources?.limits?.['cpu'] === '200m');
  assert.equal(appOf(resized)?.restartCount, 0);
  assert.equal((await resizes.values(name))[1], '20000');
  const completed = await node.untilEvent(name, 'ResizeCompleted', /^Pod resize completed: /);
  const { resources } = JSON.parse(completed.message.slice('Pod resize completed: '.length)) as { resources: unknown };
  assert.deepEqual(resources, podLevelResized);
  return resized;
}
