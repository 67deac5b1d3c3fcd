import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MachineWatch } from '../../../../../src/main/node/host/machine-watch.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { aLogger } from '../../../../support/logger.ts';
import { aMachine } from '../../../../support/pods/local-node-status.ts';

async function aWatch() {
  const clock = new FakeClock();
  const { logger, lines } = aLogger();
  const host = { machine: aMachine({ numCores: 2 }), failure: null as Error | null, changes: 0 };
  const read = async () => {
    if (host.failure) throw host.failure;
    return structuredClone(host.machine);
  };
  const watch = await MachineWatch.start({ read, clock, logger });
  watch.onChanged(() => (host.changes += 1));
  const stop = new AbortController();
  const ended = watch.watch(stop.signal);
  return { watch, host, clock, lines, close: () => (stop.abort(), ended) };
}

test('added CPUs, memory and huge pages are noticed within a minute, each change once', async () => {
  const { watch, host, clock, close } = await aWatch();
  const first = watch.current();
  await clock.advance(60_000);
  assert.equal(watch.current(), first);
  for (const [index, change] of [{ numCores: 4 }, { memoryBytes: 2 ** 40 }, { hugePages: [{ pageSizeKiB: 2048, pages: 8 }] }].entries()) {
    host.machine = { ...host.machine, ...change };
    await clock.advance(60_000);
    assert.deepEqual(watch.current(), host.machine);
    assert.equal(host.changes, index + 1);
  }
  await close();
});

test('a machine that cannot be read keeps its last facts, and is read again', async () => {
  const { watch, host, clock, lines, close } = await aWatch();
  host.failure = new Error('no procfs');
  host.machine = { ...host.machine, numCores: 8 };
  await clock.advance(60_000);
  assert.equal(watch.current().numCores, 2);
  assert.equal(lines[0]?.['err'], 'no procfs');
  host.failure = null;
  await clock.advance(60_000);
  assert.equal(watch.current().numCores, 8);
  await close();
});
