/** Tests the CRI client against a runtime on a real socket. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CriClient } from '../../../src/shared/cri/client.ts';
import { startSimulatedRuntime } from '../../support/runtime/simulated-runtime.ts';

test('a call with a deadline above gRPC’s limit succeeds', async (t) => {
  const { endpoint } = await startSimulatedRuntime(t);
  const client = new CriClient({ endpoint });
  t.after(() => client.close());
  for (const deadlineMs of [1e13, 1e18, Infinity]) {
    const { version } = await client.runtime.call('version', {}, { deadlineMs });
    assert.notEqual(version, '');
  }
});
