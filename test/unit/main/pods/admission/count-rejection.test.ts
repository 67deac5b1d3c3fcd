import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countRejection } from '../../../../../src/main/pods/admission/index.ts';
import { admissionRejections } from '../../../../../src/shared/metrics/definitions/pods.ts';
import { bindMetrics, createMetricsSegment, renderMetrics } from '../../../../../src/shared/metrics/index.ts';

test('rejected pods are counted by reason, and all extended resources share one', (t) => {
  const segment = createMetricsSegment();
  bindMetrics(segment);
  t.after(() => bindMetrics(null));
  for (const reason of ['OutOfcpu', 'OutOfexample.com/device', 'OutOfexample.com/other', 'NodeAffinity']) countRejection(reason);
  const lines = renderMetrics([segment], [admissionRejections]).split('\n');
  const name = 'kubelet_admission_rejections_total';
  assert.deepEqual(
    lines.filter((line) => line.startsWith(name)).map((line) => line.slice(name.length)),
    ['{reason="Other"} 1', '{reason="OutOfExtendedResources"} 2', '{reason="OutOfcpu"} 1'],
  );
});
