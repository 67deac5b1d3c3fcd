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
import { anExitedContainer, aPod, aRuntimePodStatus } from '../../../support/pods.ts';

const uid = 'uid-web' as PodUID;
let segment: SharedArrayBuffer;
// A hook outside would run around the tests of every file: they share one process.
describe('the starts of pods', () => {
  beforeEach(() => bindMetrics((segment = createMetricsSegment())));
  afterEach(() => bindMetrics(null));

  /** `sli=4 total=6`: the sums, of one pod each; what was not observed is absent. */
  function observed(): string {
    const text = renderMetrics([segment], [podStartSliDuration, podStartTotalDuration, firstNetworkPodStartSliDuration]);
    const value = (name: string) => new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1];
    const seen = {
      sli: value('kubelet_pod_start_sli_duration_seconds_sum'),
      total: value('kubelet_pod_start_total_duration_seconds_sum'),
      first: value('kubelet_first_network_pod_start_sli_duration_seconds'),
    };
    return Object.entries(seen)
      .flatMap(([name, found]) => (found === undefined || found === '0' ? [] : [`${name}=${found}`]))
      .join(' ');
  }

  function aTracker() {
    const clock = new FakeClock();
    const podManager = new PodManager();
    const init = anExitedContainer(0, { name: 'init', startedAtMs: 1000, finishedAtMs: 1500 });
    const latency = new PodStartLatency({ podManager, runtimeStatus: () => aRuntimePodStatus({ containers: [init] }), clock });
    const creationTimestamp = new Date(clock.now()).toISOString();
    const show = (status: PodStatus, spec: Partial<PodSpec> = {}, annotations = { 'kubernetes.io/config.source': 'api' }): Pod => {
      const pod = {
        ...aPod({ metadata: { uid, creationTimestamp, annotations }, spec: { containers: [{ name: 'app' }], ...spec } }),
        status,
      };
      podManager.set(pod);
      return pod;
    };
    return { clock, latency, show };
  }
  const running: PodStatus = {
    startTime: '2026-01-01T00:00:00Z',
    phase: 'Running',
    containerStatuses: [{ name: 'app', state: { running: { startedAt: '2026-01-01T00:00:05Z' } } }],
  } as never;
  const pending: PodStatus = { phase: 'Pending' };

  test('a pod’s start lasts from its creation until the watch shows it running, without its pulls, and counts once', async () => {
    const { clock, latency, show } = aTracker();
    show(pending);
    const pulled = latency.whilePulling(uid, () => clock.sleep(2000));
    await clock.advance(2000);
    await pulled;
    show({ ...pending, startTime: '2026-01-01T00:00:00Z' });
    await clock.advance(4000);
    show(running);
    await clock.advance(60_000);
    show(running);
    assert.equal(observed(), 'sli=4 total=6 first=4');
  });

  const cases: readonly [name: string, first: PodStatus, spec: Partial<PodSpec>, want: string][] = [
    ['whose init container ran half a second', pending, { initContainers: [{ name: 'init' }] }, 'sli=5.5 total=6 first=5.5'],
    ['with a sidecar', pending, { initContainers: [{ name: 'init', restartPolicy: 'Always' }] }, 'sli=6 total=6 first=6'],
    ['in the network of the host', pending, { hostNetwork: true }, 'sli=6 total=6'],
    ['with a volume of its own data', pending, { volumes: [{ name: 'v', hostPath: { path: '/x' } }] }, 'total=6'],
    ['with volumes that hold no data', pending, { volumes: [{ name: 'v', emptyDir: {} }] }, 'sli=6 total=6 first=6'],
    ['that a kubelet before this one has begun', { phase: 'Pending', startTime: '2026-01-01T00:00:00Z' }, {}, ''],
    [
      'that could not be scheduled at first',
      { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] },
      {},
      '',
    ],
    ['that has ended before', { phase: 'Failed' }, {}, ''],
  ];
  for (const [name, first, spec, want] of cases) {
    test(`the start of a pod ${name}`, async () => {
      const { clock, show } = aTracker();
      show(first, spec);
      await clock.advance(6000);
      show(running, spec);
      assert.equal(observed(), want);
    });
  }

  test('a static pod’s start is not measured: nobody knows when it was created', async () => {
    const { clock, show } = aTracker();
    show(pending, {}, { 'kubernetes.io/config.source': 'file' });
    await clock.advance(6000);
    show(running, {}, { 'kubernetes.io/config.source': 'file' });
    assert.equal(observed(), '');
  });

  test('pulls that overlap count once', () => {
    const span = (startMs: number, endMs: number) => ({ startMs, endMs });
    assert.equal(coveredMs([]), 0);
    assert.equal(coveredMs([span(5, 8), span(0, 3)]), 6);
    assert.equal(coveredMs([span(0, 10), span(2, 4), span(8, 12)]), 12);
  });
});
