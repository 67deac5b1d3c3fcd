import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readEvents } from '../../../../../src/main/api/http/watch-events.ts';
import { jsonCodec } from '../../../../../src/main/api/http/wire-codec.ts';
import type { Clock } from '../../../../../src/shared/time/clock.ts';
import { FakeClock, settle } from '../../../../support/fake-clock.ts';

interface Seen {
  readonly metadata: { readonly name: string; readonly resourceVersion: string };
}
const line = (type: string, name: string, resourceVersion: number, length = 0) =>
  `{"type":"${type}","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"${name}","uid":"uid-${name}","resourceVersion":"${resourceVersion}"},"spec":{"x":"${'x'.repeat(length)}"}}}\n`;
const large = (type: string, version: number, name = 'large') => line(type, name, version, 200_000);

/** A watch whose consumer takes 100 ms for each large event. */
function aWatch() {
  const clock = new FakeClock();
  let spentMs = 0;
  const busy: Clock = {
    now: () => clock.now(),
    monotonic: () => clock.monotonic() + spentMs,
    sleep: (ms, signal) => clock.sleep(ms, signal),
    after: (ms, callback) => clock.after(ms, callback),
  };
  const seen: string[] = [];
  let wake = () => {};
  const sent: (string | Error | null)[] = [];
  async function* chunks() {
    for (;;) {
      while (sent.length === 0) await new Promise<void>((resolve) => (wake = resolve));
      const next = sent.shift();
      if (next === null || next === undefined) return;
      if (next instanceof Error) throw next;
      yield Buffer.from(next);
    }
  }
  const ended = (async () => {
    try {
      for await (const { type, object, isLate } of readEvents<Seen>(chunks(), jsonCodec, { clock: busy })) {
        const { name, resourceVersion } = object.metadata;
        seen.push(`${type} ${name} ${resourceVersion}${isLate ? ' late' : ''}`);
        if (name.startsWith('large')) spentMs += 100;
      }
    } catch (err) {
      seen.push((err as Error).message);
    }
  })();
  const send = async (...parts: (string | Error | null)[]) => {
    sent.push(...parts);
    wake();
    await settle();
  };
  return { clock, seen, send, ended };
}

test('a large object that changes often is read at intervals, in its newest version, and others at once', async () => {
  const { clock, seen, send } = aWatch();
  await send(large('ADDED', 1), large('MODIFIED', 2), large('MODIFIED', 3), line('MODIFIED', 'small', 4), line('MODIFIED', 'small', 5));
  assert.deepEqual(seen, ['ADDED large 1', 'MODIFIED small 4', 'MODIFIED small 5']);
  await clock.advance(1500);
  await send(large('MODIFIED', 6), large('ADDED', 7, 'large-2'));
  await clock.advance(600);
  await settle();
  assert.deepEqual(seen.slice(3), ['ADDED large-2 7', 'MODIFIED large 6 late']);
  await clock.advance(3000);
  await send(large('MODIFIED', 8));
  assert.equal(seen.at(-1), 'MODIFIED large 8');
});

test('a deletion, and a version that has become small, replace the one that waits', async () => {
  const { clock, seen, send } = aWatch();
  await send(large('ADDED', 1), large('ADDED', 2, 'large-2'));
  await send(large('MODIFIED', 3), large('MODIFIED', 4, 'large-2'), line('DELETED', 'large', 5), line('MODIFIED', 'large-2', 6));
  await clock.advance(10_000);
  await send(line('ADDED', 'small', 7));
  assert.deepEqual(seen, ['ADDED large 1', 'ADDED large-2 2', 'DELETED large 5', 'MODIFIED large-2 6', 'ADDED small 7']);
});

test('what waits is read before the watch ends, also with an error', async () => {
  for (const [end, want] of [
    [null, []],
    [new Error('reset'), ['reset']],
  ] as const) {
    const { seen, send, ended } = aWatch();
    await send(large('ADDED', 1), large('MODIFIED', 2), line('ADDED', 'small', 3), end);
    await ended;
    assert.deepEqual(seen, ['ADDED large 1', 'ADDED small 3', 'MODIFIED large 2 late', ...want]);
  }
});

test('what waits is bounded: beyond the bound the oldest is read at once', async () => {
  const { seen, send } = aWatch();
  const names = Array.from({ length: 6 }, (_, index) => `large-${index}`);
  const huge = (type: string, name: string, version: number) => line(type, name, version, 10_000_000);
  for (const [index, name] of names.entries()) await send(huge('ADDED', name, index));
  for (const [index, name] of names.entries()) await send(huge('MODIFIED', name, 10 + index));
  assert.deepEqual(seen.slice(6), ['MODIFIED large-0 10 late']);
});
