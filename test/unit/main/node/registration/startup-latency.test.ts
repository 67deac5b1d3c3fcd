import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import { StartupLatency } from '../../../../../src/main/node/registration/startup-latency.ts';
import { bindMetrics, createMetricsSegment, renderMetrics } from '../../../../../src/shared/metrics/index.ts';
import * as definitions from '../../../../../src/shared/metrics/definitions/node.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';

// A hook outside of the suite would apply to the tests of every file, because they share one process.
describe('the start of a node', () => {
  afterEach(() => bindMetrics(null));

  function aStart() {
    const segment = createMetricsSegment();
    bindMetrics(segment);
    const clock = new FakeClock();
    const startedAtMs = clock.now();
    const latency = new StartupLatency({ clock, bootedAtMs: () => startedAtMs - 20_000, kubeletStartedAtMs: startedAtMs });
    const shown = () =>
      renderMetrics([segment], Object.values(definitions))
        .split('\n')
        .filter((line) => line.startsWith('kubelet_node'))
        .map((line) => line.replace('kubelet_node_startup_', '').replace('duration_seconds ', ''))
        .sort();
    return { clock, latency, shown };
  }

  test('the stages of a new node’s startup are recorded', async () => {
    const { clock, latency, shown } = aStart();
    await clock.advance(2000);
    latency.markRegistrationAttempted();
    await clock.advance(3000);
    latency.markRegistrationAttempted();
    latency.markRegistered();
    await clock.advance(4000);
    latency.markReady();
    await clock.advance(5000);
    latency.markReady();
    assert.deepEqual(shown(), ['29', 'post_registration_4', 'pre_kubelet_20', 'pre_registration_2', 'registration_3']);
  });

  test('a kubelet with an existing node records no startup', async () => {
    const { clock, latency, shown } = aStart();
    latency.markRegistrationAttempted();
    await clock.advance(1000);
    latency.markReady();
    assert.deepEqual(shown(), ['0', 'post_registration_0', 'pre_kubelet_0', 'pre_registration_0', 'registration_0']);
  });
});
