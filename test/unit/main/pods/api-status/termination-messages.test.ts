import assert from 'node:assert/strict';
import { test } from 'node:test';
import { truncateTerminationMessages } from '../../../../../src/main/pods/api-status/termination-messages.ts';
import type { PodStatus } from '../../../../../src/shared/kubernetes/api.ts';
import { aContainer, aPod } from '../../../../support/pods/pods.ts';

const aStatus = (message: string): PodStatus => ({
  containerStatuses: [
    { name: 'app', image: 'x', imageID: '', ready: false, restartCount: 0, state: { terminated: { exitCode: 1, message } }, lastState: {} },
  ],
});
const messageOf = (status: PodStatus) => status.containerStatuses?.[0]?.state?.terminated?.message;

test('the containers of a pod share 12 KB of termination messages', () => {
  const pod = aPod({ spec: { containers: [aContainer(), aContainer({ name: 'b' })], initContainers: [aContainer({ name: 'c' })] } });
  assert.equal(messageOf(truncateTerminationMessages(pod, aStatus('x'.repeat(5000))))?.length, 4096);
  assert.equal(messageOf(truncateTerminationMessages(pod, aStatus('short'))), 'short');
});

test('a message is cut at a character boundary', () => {
  const message = messageOf(truncateTerminationMessages(aPod(), aStatus(`x${'ä'.repeat(10_000)}`)))!;
  assert.equal(Buffer.byteLength(message), 12_287);
  assert.equal(message.endsWith('ä'), true);
});

test('a status without long messages is returned unchanged', () => {
  const status = aStatus('short');
  assert.equal(truncateTerminationMessages(aPod(), status), status);
});
