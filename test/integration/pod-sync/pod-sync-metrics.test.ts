/** What a sync counts, read as the server thread renders it. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import * as podSync from '../../../src/shared/metrics/definitions/pod-sync.ts';
import { bindMetrics, createMetricsSegment, renderMetrics } from '../../../src/shared/metrics/index.ts';
import { aContainer, aPod } from '../../support/pod-sync-samples.ts';
import { PodSyncHarness } from '../../support/pod-sync-harness.ts';

let segment = createMetricsSegment();
// A hook outside would run around the tests of every file: they share one process.
describe('what a sync counts', () => {
  beforeEach(() => {
    segment = createMetricsSegment();
    bindMetrics(segment);
  });
  afterEach(() => bindMetrics(null));

  /** Lines with a value that is not 0, of metrics whose name has `part`; no buckets. */
  function counted(part: string): string[] {
    const lines = renderMetrics([segment], Object.values(podSync)).split('\n');
    return lines.filter((line) => line.includes(part) && !/^#|_bucket|_sum| 0$/.test(line));
  }

  test('a started pod counts its sandbox and its containers, by kind', async () => {
    using harness = new PodSyncHarness();
    await harness.synced(aPod({ containers: [aContainer('a'), aContainer('b')] }));
    assert.deepEqual(counted('started_'), [
      'kubelet_started_containers_total{container_type="container"} 2',
      'kubelet_started_pods_total 1',
    ]);
    assert.deepEqual(counted('run_podsandbox'), ['kubelet_run_podsandbox_duration_seconds_count{runtime_handler=""} 1']);
  });

  test('a sandbox that cannot be made counts as an error of the pod and of the call', async () => {
    using harness = new PodSyncHarness();
    harness.runtime.failNext('runPodSandbox');
    await harness.synced(aPod());
    assert.deepEqual(counted('errors_total'), [
      'kubelet_run_podsandbox_errors_total{runtime_handler=""} 1',
      'kubelet_started_pods_errors_total 1',
    ]);
  });

  test('a container that cannot be started counts with its reason', async () => {
    using harness = new PodSyncHarness();
    harness.runtime.failNext('startContainer');
    await harness.synced(aPod());
    assert.deepEqual(counted('started_containers_errors'), [
      'kubelet_started_containers_errors_total{code="RunContainerError",container_type="container"} 1',
    ]);
  });

  test('image volumes count as mounted once their container is created, and as failed when the runtime says so', async () => {
    const volumes = [{ name: 'models', image: { reference: 'registry.example/models:1' } }];
    const pod = aPod({ volumes, containers: [aContainer('a', { volumeMounts: [{ name: 'models', mountPath: '/models' }] })] });
    using good = new PodSyncHarness();
    await good.synced(pod);
    using bad = new PodSyncHarness();
    bad.runtime.failNext('createContainer', 'ImageVolumeMountFailed: no such layer');
    await bad.synced(pod);
    assert.deepEqual(counted('image_volume'), [
      'kubelet_image_volume_mounted_errors_total 1',
      'kubelet_image_volume_mounted_succeed_total 1',
      'kubelet_image_volume_requested_total 2',
    ]);
  });
});
