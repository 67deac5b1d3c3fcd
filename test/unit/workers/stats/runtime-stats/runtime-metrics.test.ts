import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ListMetricDescriptorsResponse,
  ListPodSandboxMetricsResponse,
  MetricType,
} from '../../../../../src/shared/cri/generated/cri-v1.ts';
import { textOf } from '../../../../../src/shared/metrics/exposition/text.ts';
import { runtimeFamilies } from '../../../../../src/workers/stats/runtime-stats/runtime-metrics.ts';
import { parsePrometheus } from '../../../../support/prometheus.ts';

const { COUNTER, GAUGE } = MetricType;
const descriptor = (name: string, labelKeys: string[] = ['id'], help = 'Help.') => ({ name, help, labelKeys });
const metric = (name: string, labelValues: string[], value: number, metricType: MetricType = GAUGE, timestamp = 0n) => ({
  name,
  labelValues,
  metricType,
  timestamp,
  value: { value: BigInt(value) },
});
function render(
  descriptors: ReturnType<typeof descriptor>[],
  metrics: ReturnType<typeof metric>[],
  ofContainer: ReturnType<typeof metric>[] = [],
) {
  const reply = { podMetrics: [{ podSandboxId: 's', metrics, containerMetrics: [{ containerId: 'c', metrics: ofContainer }] }] };
  return parsePrometheus(
    textOf(
      runtimeFamilies(
        ListMetricDescriptorsResponse.fromPartial({ descriptors }).descriptors,
        ListPodSandboxMetricsResponse.fromPartial(reply).podMetrics,
      ),
    ),
  );
}

test('metrics of sandboxes and containers have the names, labels and texts of their descriptors', () => {
  const page = render(
    [descriptor('cpu_total', ['id', 'pod'], 'All\nof \\it.')],
    [metric('cpu_total', ['a', 'p"\n'], 5, COUNTER, 1_700_000_000_123_456_789n)],
    [metric('cpu_total', ['b', 'p'], 6, COUNTER)],
  );
  assert.deepEqual(page.get('cpu_total'), {
    type: 'counter',
    help: '[INTERNAL] All\\nof \\\\it.',
    samples: [
      { labels: { id: 'a', pod: 'p"\n' }, value: 5, timestampMs: 1_700_000_000_123 },
      { labels: { id: 'b', pod: 'p' }, value: 6, timestampMs: undefined },
    ],
  });
});

test('a page stays correct whatever a runtime sends', () => {
  const page = render(
    [
      descriptor('good'),
      descriptor('bad name'),
      descriptor('machine_cpu_cores'),
      descriptor('bad_label', ['a-b']),
      descriptor('twice', ['a', 'a']),
      descriptor('reserved', ['__name__']),
    ],
    [
      metric('good', ['a'], 1),
      metric('good', ['a'], 2),
      metric('good', ['b'], 3, COUNTER),
      metric('good', ['a', 'b'], 4),
      metric('unknown', ['a'], 5),
      metric('bad name', ['a'], 6),
      metric('machine_cpu_cores', ['a'], 7),
      metric('bad_label', ['a'], 8),
      metric('twice', ['a', 'b'], 9),
      metric('reserved', ['a'], 10),
    ],
  );
  assert.deepEqual([...page.keys()], ['good']);
  assert.deepEqual(
    page.get('good')?.samples.map(({ value }) => value),
    [1],
  );
});
