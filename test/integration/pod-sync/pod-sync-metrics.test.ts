/** Checks the metrics that a sync counts, in the rendering of the server thread. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import * as podSync from '../../../src/shared/metrics/definitions/pod-sync.ts';
import { bindMetrics, createMetricsSegment, renderMetrics } from '../../../src/shared/metrics/index.ts';
import { aContainer, aPod } from '../../support/pods/pod-sync-samples.ts';
import { PodSyncHarness } from '../../support/pods/pod-sync-harness.ts';

let segment = createMetricsSegment();
// Hooks outside of a suite would run for the tests of all files, which share one process.
describe('the metrics of a sync', () => {
  beforeEach(() => {
    segment = createMetricsSegment();
    bindMetrics(segment);
  });
  afterEach(() => bindMetrics(null));

  /** Returns the lines of metrics whose name contains `part` and whose value is not 0, without buckets. */
  function counted(part: string): string[] {
    const lines = renderMetrics([segment], Object.values(podSync)).split('\n');
    return lines.filter((line) => line.includes(part) && !/^#|_bucket|_sum| 0$/.test(line));
  }

  test('a started pod counts its sandbox and its containers, by kind', async () => {
    using harness = new PodSyncHarness();
    await harness.syncToEnd(aPod({ containers: [aContainer('a'), aContainer('b')] }));
    assert.deepEqual(counted('started_'), [
      'kubelet_started_containers_total{container_type="container"} 2',
      'kubelet_started_pods_total 1',
    ]);
    assert.deepEqual(counted('run_podsandbox'), ['kubelet_run_podsandbox_duration_seconds_count{runtime_handler=""} 1']);
  });

  test('a sandbox that cannot be created counts as an error of the pod and of the call', async () => {
    using harness = new PodSyncHarness();
    harness.runtime.failNext('runPodSandbox');
    await harness.syncToEnd(aPod());
    assert.deepEqual(counted('errors_total'), [
      'kubelet_run_podsandbox_errors_total{runtime_handler=""} 1',
      'kubelet_started_pods_errors_total 1',
    ]);
  });

  test('a container that cannot be started counts with its reason', async () => {
    using harness = new PodSyncHarness();
    harness.runtime.failNext('startContainer');
    await harness.syncToEnd(aPod());
    assert.deepEqual(counted('started_containers_errors'), [
      'kubelet_started_containers_errors_total{code="RunContainerError",container_type="container"} 1',
    ]);
  });

  test('a pod with a user namespace counts, and any failure of its start counts once', async () => {
    const pod = aPod({ hostUsers: false, containers: [aContainer('a'), aContainer('b')] });
    using harness = new PodSyncHarness();
    harness.userNamespace = { problem: 'no IDs' };
    const { channel } = await harness.syncToEnd(pod);
    assert.deepEqual(channel.events, ['FailedCreatePodSandBox pod: Failed to create pod sandbox: no IDs']);
    harness.userNamespace = { hostID: 65536, length: 65536 };
    harness.runtime.failNext('createContainer');
    await harness.syncToEnd(pod);
    await harness.syncToEnd(pod);
    assert.deepEqual(counted('user_namespaced'), [
      'kubelet_started_user_namespaced_pods_errors_total 2',
      'kubelet_started_user_namespaced_pods_total 2',
    ]);
  });

  test('image volumes count as mounted once their container is created, and as failed when the runtime reports it', async () => {
    const volumes = [{ name: 'models', image: { reference: 'registry.example/models:1' } }];
    const pod = aPod({ volumes, containers: [aContainer('a', { volumeMounts: [{ name: 'models', mountPath: '/models' }] })] });
    using good = new PodSyncHarness();
    await good.syncToEnd(pod);
    using bad = new PodSyncHarness();
    bad.runtime.failNext('createContainer', 'ImageVolumeMountFailed: no such layer');
    await bad.syncToEnd(pod);
    assert.deepEqual(counted('image_volume'), [
      'kubelet_image_volume_mounted_errors_total 1',
      'kubelet_image_volume_mounted_succeed_total 1',
      'kubelet_image_volume_requested_total 2',
    ]);
  });
});
