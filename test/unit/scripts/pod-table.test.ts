import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fitToTerminal, formatPodTable, terminalSize } from '../../../scripts/up/pod-table.ts';
import type { ContainerStatus } from '../../../src/shared/kubernetes/api.ts';
import { aContainer, aPod } from '../../support/pods/pods.ts';
import { table } from '../../support/table.ts';

function status(name: string, fields: Partial<ContainerStatus> = {}): ContainerStatus {
  return { name, image: 'i', imageID: '', ready: true, restartCount: 0, state: { running: {} }, ...fields };
}

test('the table shows the ready containers including sidecars, restarts and waiting reason of each pod', () => {
  const startTime = '2026-01-01T00:00:00Z';
  const web = aPod({ status: { phase: 'Running', startTime, containerStatuses: [status('app'), status('log')] } });
  const crash = aPod({
    metadata: { name: 'crash' },
    spec: { initContainers: [aContainer({ name: 'proxy', restartPolicy: 'Always' }), aContainer({ name: 'once' })] },
    status: {
      phase: 'Running',
      startTime,
      initContainerStatuses: [status('proxy'), status('once', { restartCount: 1, state: { terminated: { exitCode: 0 } } })],
      containerStatuses: [
        status('app', { ready: false, restartCount: 3, state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 40s' } } }),
      ],
    },
  });
  assert.equal(
    formatPodTable([web, crash, aPod({ metadata: { name: 'new' } })], Date.parse(startTime) + 150_000),
    [
      'NAME    PHASE     READY   RESTARTS   AGE   WAITING FOR',
      'crash   Running   1/2     4          2m    app: CrashLoopBackOff, back-off 40s',
      'new     Unknown   0/0     0          -',
      'web     Running   2/2     0          2m',
    ].join('\n'),
  );
});

test('the table is truncated to the width and height of the terminal', () => {
  const pods = 'NAME   PHASE\nweb   Running\njob   Succeeded\nlog   Pending';
  assert.deepEqual(fitToTerminal(pods, { columns: 80, rows: 24 }), pods.split('\n'));
  assert.deepEqual(fitToTerminal(pods, { columns: 13, rows: 4 }), ['NAME   PHASE', 'web   Running', 'job   Succee…']);
});

table('the table is redrawn only on a terminal with a size', (row) => {
  row('a terminal', () => assert.deepEqual(terminalSize({ isTTY: true, columns: 80, rows: 24 }), { columns: 80, rows: 24 }));
  row('a pipe', () => assert.equal(terminalSize({}), null));
  row('a pipe where COLUMNS is set', () => assert.equal(terminalSize({ columns: 80, rows: 24 }), null));
  row('a terminal of 0 by 0', () => assert.equal(terminalSize({ isTTY: true, columns: 0, rows: 0 }), null));
  row('a terminal without rows', () => assert.equal(terminalSize({ isTTY: true, columns: 80, rows: 0 }), null));
  row('a terminal that reports nothing', () => assert.equal(terminalSize({ isTTY: true }), null));
});

test('a long message is shown completely on one line', () => {
  const message = 'cannot be pulled:\n'.repeat(20);
  const waiting = status('app', { ready: false, state: { waiting: { reason: 'ErrImagePull', message } } });
  const text = formatPodTable([aPod({ status: { phase: 'Pending', containerStatuses: [waiting] } })], 0);
  assert.equal(text.split('\n').length, 2);
  assert.ok(text.endsWith('cannot be pulled: cannot be pulled:'));
  assert.ok(text.length > 20 * 18);
});
