import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import { countTerminations } from '../../../../../src/main/pods/api-status/count-terminations.ts';
import type { ContainerState, PodStatus } from '../../../../../src/shared/kubernetes/api.ts';
import { terminatedContainers } from '../../../../../src/shared/metrics/definitions/pods.ts';
import { bindMetrics, createMetricsSegment, renderMetrics } from '../../../../../src/shared/metrics/index.ts';

// The hook is inside `describe`: all test files share one process.
describe('the ends of containers', () => {
  afterEach(() => bindMetrics(null));

  const ended = (exitCode: number, reason: string): ContainerState => ({ terminated: { exitCode, reason } });
  function aStatus(app: ContainerState, init: ContainerState = { waiting: {} }): PodStatus {
    const fields = { ready: false, restartCount: 0, image: '', imageID: '' };
    return {
      phase: 'Running',
      initContainerStatuses: [{ name: 'init', ...fields, state: init }],
      containerStatuses: [{ name: 'app', ...fields, state: app }],
    };
  }

  const running: ContainerState = { running: {} };
  const cases: { name: string; before: PodStatus | undefined; next: PodStatus; want: string[] }[] = [
    { name: 'a running container is not counted', before: undefined, next: aStatus(running), want: [] },
    {
      name: 'a terminated container is counted',
      before: aStatus(running),
      next: aStatus(ended(137, 'OOMKilled')),
      want: ['{container_type="container",exit_code="137",reason="OOMKilled"} 1'],
    },
    { name: 'a container is counted once', before: aStatus(ended(1, 'Error')), next: aStatus(ended(1, 'Error')), want: [] },
    {
      name: 'the terminated containers of a new pod are counted',
      before: undefined,
      next: aStatus(running, ended(0, 'Completed')),
      want: ['{container_type="init_container",exit_code="0",reason="Completed"} 1'],
    },
  ];
  for (const { name, before, next, want } of cases) {
    test(`terminations: ${name}`, () => {
      const segment = createMetricsSegment();
      bindMetrics(segment);
      countTerminations(before, next);
      const series = renderMetrics([segment], [terminatedContainers])
        .split('\n')
        .filter((line) => line.startsWith('kubelet_'));
      assert.deepEqual(
        series.map((line) => line.replace('kubelet_terminated_containers_total', '')),
        want,
      );
    });
  }
});
