import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { PodManager } from '../../../../src/main/pods/pod-manager.ts';
import { coveredMs, PodStartLatency } from '../../../../src/main/pods/pod-start-latency.ts';
import type { Pod, PodSpec, PodStatus } from '../../../../src/shared/kubernetes/api.ts';
import type { PodUID } from '../../../../src/shared/kubernetes/ids.ts';
import { bindMetrics, createMetricsSegment, renderMetrics } from '../../../../src/shared/metrics/index.ts';
import {
  firstNetworkPodStartSliDuration,
  podStartSliDuration,
  podStartTotalDuration,
} from '../../../../src/shared/metrics/definitions/pods.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { anExitedContainer, aPod, aRuntimePodStatus } from '../../../support/pods/pods.ts';

const uid = 'uid-web' as PodUID;
let segment: SharedArrayBuffer;
// All test files share one process: a hook outside of this suite would run for the tests of every file.
describe('pod start latency', () => {
  beforeEach(() => bindMetrics((segment = createMetricsSegment())));
  afterEach(() => bindMetrics(null));

  /** The sums of the observed metrics, for example `sli=4 total=6`. */
  function observed(): string {
    const text = renderMetrics([segment], [podStartSliDuration, podStartTotalDuration, firstNetworkPodStartSliDuration]);
    const value = (name: string) => new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1];
    const values = {
      sli: value('kubelet_pod_start_sli_duration_seconds_sum'),
      total: value('kubelet_pod_start_total_duration_seconds_sum'),
      first: value('kubelet_first_network_pod_start_sli_duration_seconds'),
    };
    return Object.entries(values)
      .flatMap(([name, found]) => (found === undefined || found === '0' ? [] : [`${name}=${found}`]))
      .join(' ');
  }

  function aTracker() {
    const clock = new FakeClock();
    const podManager = new PodManager();
    const init = anExitedContainer(0, { name: 'init', startedAtMs: 1000, finishedAtMs: 1500 });
    const latency = new PodStartLatency({ podManager, runtimeStatus: () => aRuntimePodStatus({ containers: [init] }), clock });
    const creationTimestamp = new Date(clock.now()).toISOString();
    const watch = (status: PodStatus, spec: Partial<PodSpec> = {}, annotations = { 'kubernetes.io/config.source': 'api' }): Pod => {
      const pod = {
        ...aPod({ metadata: { uid, creationTimestamp, annotations }, spec: { containers: [{ name: 'app' }], ...spec } }),
        status,
      };
      podManager.set(pod);
      return pod;
    };
    return { clock, latency, watch };
  }
  const running: PodStatus = {
    startTime: '2026-01-01T00:00:00Z',
    phase: 'Running',
    containerStatuses: [{ name: 'app', state: { running: { startedAt: '2026-01-01T00:00:05Z' } } }],
  } as never;
  const pending: PodStatus = { phase: 'Pending' };

  test('the latency lasts from the creation until the watch shows the pod running, without pulls, and is observed once', async () => {
    const { clock, latency, watch } = aTracker();
    watch(pending);
    const pulled = latency.measurePull(uid, () => clock.sleep(2000));
    await clock.advance(2000);
    await pulled;
    watch({ ...pending, startTime: '2026-01-01T00:00:00Z' });
    await clock.advance(4000);
    watch(running);
    await clock.advance(60_000);
    watch(running);
    assert.equal(observed(), 'sli=4 total=6 first=4');
  });

  const cases: readonly [name: string, first: PodStatus, spec: Partial<PodSpec>, want: string][] = [
    ['of a pod excludes half a second of its init container', pending, { initContainers: [{ name: 'init' }] }, 'sli=5.5 total=6 first=5.5'],
    ['of a pod includes its sidecar', pending, { initContainers: [{ name: 'init', restartPolicy: 'Always' }] }, 'sli=6 total=6 first=6'],
    ['of a pod in the host network is not that of the first network pod', pending, { hostNetwork: true }, 'sli=6 total=6'],
    ['of a stateful pod counts only in the total', pending, { volumes: [{ name: 'v', hostPath: { path: '/x' } }] }, 'total=6'],
    ['of a pod with stateless volumes counts in all metrics', pending, { volumes: [{ name: 'v', emptyDir: {} }] }, 'sli=6 total=6 first=6'],
    ['of a pod that an earlier kubelet started is not observed', { phase: 'Pending', startTime: '2026-01-01T00:00:00Z' }, {}, ''],
    [
      'of a pod that could not be scheduled at first is not observed',
      { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] },
      {},
      '',
    ],
    ['of a pod that ended before is not observed', { phase: 'Failed' }, {}, ''],
  ];
  for (const [name, first, spec, want] of cases) {
    test(`the latency ${name}`, async () => {
      const { clock, watch } = aTracker();
      watch(first, spec);
      await clock.advance(6000);
      watch(running, spec);
      assert.equal(observed(), want);
    });
  }

  test('the latency of a static pod is not observed: its creation time is unknown', async () => {
    const { clock, watch } = aTracker();
    watch(pending, {}, { 'kubernetes.io/config.source': 'file' });
    await clock.advance(6000);
    watch(running, {}, { 'kubernetes.io/config.source': 'file' });
    assert.equal(observed(), '');
  });

  test('overlapping pulls count once', () => {
    const span = (startMs: number, endMs: number) => ({ startMs, endMs });
    assert.equal(coveredMs([]), 0);
    assert.equal(coveredMs([span(5, 8), span(0, 3)]), 6);
    assert.equal(coveredMs([span(0, 10), span(2, 4), span(8, 12)]), 12);
  });
});
