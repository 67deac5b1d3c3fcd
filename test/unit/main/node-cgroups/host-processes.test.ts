import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HostProcesses } from '../../../../src/main/node-cgroups/index.ts';
import type { MoveProcessesTask } from '../../../../src/shared/contracts/pod-sync/host-processes.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { aLogger } from '../../../support/logger.ts';

function aNode(config: { systemCgroups?: string; kubeletCgroups?: string } = {}) {
  const clock = new FakeClock();
  const tasks: MoveProcessesTask[] = [];
  const { logger, lines } = aLogger();
  const node = { clock, tasks, lines, failures: [] as string[] };
  const processes = new HostProcesses({
    config: { systemCgroups: '', kubeletCgroups: '', oomScoreAdj: -999, ...config },
    moveProcesses: async (task) => {
      tasks.push(task);
      return { failures: node.failures };
    },
    clock,
    logger,
  });
  return { ...node, processes, fail: (failures: string[]) => (node.failures = failures) };
}

test('the OOM score is set at the start and every five minutes', async () => {
  const { processes, clock, tasks } = aNode();
  processes.start();
  await clock.advance(0);
  assert.deepEqual(tasks, [{ systemCgroup: '', kubeletCgroup: '', oomScoreAdj: -999 }]);
  await clock.advance(299_000);
  assert.equal(tasks.length, 1);
  await clock.advance(1000);
  assert.equal(tasks.length, 2);
  processes.close();
  await clock.advance(600_000);
  assert.equal(tasks.length, 2);
});

test('with cgroups for the kubelet or the system they are ensured every minute', async () => {
  const { processes, clock, tasks } = aNode({ systemCgroups: '/system', kubeletCgroups: '/kubelet' });
  processes.start();
  await clock.advance(0);
  await clock.advance(60_000);
  assert.deepEqual(tasks[1], { systemCgroup: '/system', kubeletCgroup: '/kubelet', oomScoreAdj: -999 });
  processes.close();
});

test('a failure that stays is one line in the log', async () => {
  const { processes, clock, lines, fail } = aNode();
  fail(['failed to apply oom score -999 to PID 1: EACCES']);
  processes.start();
  await clock.advance(0);
  await clock.advance(300_000);
  assert.equal(lines.length, 1);
  fail([]);
  await clock.advance(300_000);
  fail(['failed to apply oom score -999 to PID 1: EACCES']);
  await clock.advance(300_000);
  assert.equal(lines.length, 2);
  processes.close();
});
