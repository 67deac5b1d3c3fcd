import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KubeletError } from '../../../../src/shared/errors/kubelet-error.ts';
import { Stopped } from '../../../../src/workers/pod-sync/task-channel-client.ts';
import { SyncReport } from '../../../../src/workers/pod-sync/sync-report.ts';

const start = (target: string, reason: string) => ({ action: 'StartContainer', target, reason, message: `why ${target}` }) as const;

test('failures are told in one, and a wait does not hide what went wrong', () => {
  const report = new SyncReport();
  report.fail(start('a', 'CrashLoopBackOff'));
  report.fail(start('b', 'RunContainerError'));
  report.retryAt(20);
  report.retryAt(10);
  report.retryAt(30);
  assert.deepEqual(report.result(), {
    outcome: 'failed',
    failure: {
      reason: 'RunContainerError',
      message:
        '[failed to "StartContainer" for "a" with CrashLoopBackOff: "why a", failed to "StartContainer" for "b" with RunContainerError: "why b"]',
    },
    waiting: { a: { reason: 'CrashLoopBackOff', message: 'why a' }, b: { reason: 'RunContainerError', message: 'why b' } },
    backoffs: [],
    retryAtMs: 10,
    changedRuntime: false,
  });
});

test('what containers waited for is kept until the sync comes to them', () => {
  const waiting = (reason: string) => ({
    name: reason,
    image: '',
    imageID: '',
    ready: false,
    restartCount: 0,
    state: { waiting: { reason } },
  });
  const before = {
    initContainerStatuses: [waiting('PodInitializing')],
    containerStatuses: [waiting('ErrImagePull'), waiting('ContainerCreating')],
  };
  const report = new SyncReport(before);
  assert.deepEqual(report.result().waiting, { ErrImagePull: { reason: 'ErrImagePull', message: '' } });
  report.startOver();
  assert.deepEqual(report.result().waiting, {});
});

test('a sync that was stopped has not failed', () => {
  assert.equal(new SyncReport().result(new Stopped('main said so')).outcome, 'stopped');
});

test('an error that ended the sync is its failure, with its reason', () => {
  const result = new SyncReport().result(new KubeletError('FailedMount', 'no such disk'));
  assert.deepEqual(result.outcome === 'failed' && result.failure, { reason: 'FailedMount', message: 'no such disk' });
});
