import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KubeletError } from '../../../../../src/shared/errors/kubelet-error.ts';
import { Stopped } from '../../../../../src/workers/pod-sync/pod/task-channel-client.ts';
import { SyncReport } from '../../../../../src/workers/pod-sync/pod/sync-report.ts';

const start = (target: string, reason: string) => ({ action: 'StartContainer', target, reason, message: `why ${target}` }) as const;

test('failures are aggregated, and a back-off does not hide another failure’s reason', () => {
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

test('waiting reasons are kept until the sync begins to start containers', () => {
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
  report.resetWaiting();
  assert.deepEqual(report.result().waiting, {});
});

test('a stopped sync has not failed', () => {
  assert.equal(new SyncReport().result(new Stopped('main stopped it')).outcome, 'stopped');
});

test('an error that ends the sync is the result’s failure, with its reason', () => {
  const result = new SyncReport().result(new KubeletError('FailedMount', 'no such disk'));
  assert.deepEqual(result.outcome === 'failed' && result.failure, { reason: 'FailedMount', message: 'no such disk' });
});
