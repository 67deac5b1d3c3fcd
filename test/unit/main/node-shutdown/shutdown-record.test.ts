import assert from 'node:assert/strict';
import { test } from 'node:test';
import { overrideText } from '../../../../src/main/node-shutdown/logind-session.ts';
import { decodeTimes, encodeTimes } from '../../../../src/main/node-shutdown/shutdown-record.ts';
import { table } from '../../../support/table.ts';

const startMs = Date.UTC(2026, 4, 6, 7, 8, 9, 10);
const files: { name: string; text: string; want: { startMs: number; endMs: number | null } | null | RegExp }[] = [
  {
    name: 'of a shutdown that has not ended, as Go writes it',
    text: '{"startTime":"2026-05-06T07:08:09.010000001Z","endTime":"0001-01-01T00:00:00Z"}',
    want: { startMs, endMs: null },
  },
  {
    name: 'with the zone of the node',
    text: '{"startTime":"2026-05-06T09:08:09.01+02:00","endTime":"2026-05-06T09:08:10.01+02:00"}',
    want: { startMs, endMs: startMs + 1000 },
  },
  { name: 'of no shutdown', text: '{"startTime":"0001-01-01T00:00:00Z","endTime":"0001-01-01T00:00:00Z"}', want: null },
  { name: 'without times', text: '{}', want: null },
  { name: 'that was cut off', text: '{"startTime":"2026', want: /JSON/ },
  { name: 'with something else', text: '{"startTime":"yesterday"}', want: /^startTime is not a time: "yesterday"$/ },
];
table('the record', (row) => {
  for (const { name, text, want } of files) {
    row(name, () => {
      if (want instanceof RegExp) assert.throws(() => decodeTimes(text), { message: want });
      else assert.deepEqual(decodeTimes(text), want);
    });
  }
});

test('a record is read as it was written', () => {
  for (const times of [
    { startMs, endMs: null },
    { startMs, endMs: startMs + 1234 },
  ]) {
    assert.deepEqual(decodeTimes(encodeTimes(times)), times);
  }
  assert.equal(encodeTimes({ startMs, endMs: null }), '{"startTime":"2026-05-06T07:08:09.010Z","endTime":"0001-01-01T00:00:00Z"}');
});

test('logind’s configuration has upstream’s text', () => {
  assert.equal(overrideText(30_000), '# Kubelet logind override\n[Login]\nInhibitDelayMaxSec=30\n');
});
