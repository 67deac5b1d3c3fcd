import assert from 'node:assert/strict';
import {
  beginSpan,
  beginWait,
  endSpan,
  endWait,
  fromCells,
  maxCount,
  toCells,
  type TimelineSpan,
} from '../../../../src/shared/timeline/span.ts';
import { table } from '../../../support/table.ts';

const originMs = 1000;
const open = beginSpan(undefined, { atMs: 2000 });
const ended = endSpan(open, { atMs: 2500, failed: false });
const picked = ({ startMs, durationMs, waitedMs, outcome, open: parts, count }: TimelineSpan) => ({
  startMs,
  durationMs,
  waitedMs,
  outcome,
  open: parts,
  count,
});

table('the spans of a timeline', (row) => {
  row('an ended span has its duration', () => assert.equal(ended.durationMs, 500));
  row('a failed span says so', () => assert.equal(endSpan(open, { atMs: 2500, failed: true }).outcome, 'failed'));
  row('a second end changes nothing', () => assert.equal(endSpan(ended, { atMs: 9000, failed: true }), ended));
  row('an end before the beginning has no negative duration', () => assert.equal(endSpan(open, { atMs: 1, failed: false }).durationMs, 0));
  row('a new attempt replaces the span and counts', () =>
    assert.deepEqual(picked(beginSpan(ended, { atMs: 5000 })), {
      startMs: 5000,
      durationMs: 0,
      waitedMs: 0,
      outcome: 'open',
      open: 1,
      count: 2,
    }),
  );
  row('the count of a container that restarts for days stays in its byte', () => {
    let span: TimelineSpan | undefined;
    for (let i = 0; i < 1000; i += 1) span = endSpan(beginSpan(span, { atMs: i * 600_000 }), { atMs: i * 600_000 + 5, failed: false });
    assert.equal(span!.count, maxCount);
    assert.deepEqual(fromCells(toCells(span!, 0), 0), span);
  });
  row('containers that share a span begin and end it together', () => {
    const first = beginSpan(undefined, { atMs: 2000 }, true);
    const second = beginSpan(first, { atMs: 2100 }, true);
    const half = endSpan(second, { atMs: 2200, failed: false });
    assert.equal(half.outcome, 'open');
    const whole = endSpan(half, { atMs: 2700, failed: false });
    assert.deepEqual(picked(whole), { startMs: 2000, durationMs: 700, waitedMs: 0, outcome: 'ok', open: 0, count: 2 });
  });
  row('containers that share a span one after the other prolong it', () => {
    const first = endSpan(beginSpan(undefined, { atMs: 2000 }, true), { atMs: 2100, failed: false });
    const second = endSpan(beginSpan(first, { atMs: 3000 }, true), { atMs: 3100, failed: false });
    assert.deepEqual([second.startMs, second.durationMs], [2000, 1100]);
  });
  row('a shared span that begins again after a minute is a new attempt', () =>
    assert.equal(beginSpan(ended, { atMs: 70_000 }, true).startMs, 70_000),
  );
  row('waits add up', () => {
    const once = endWait(beginWait(open, 'SyncSlot', 2100), 2150);
    assert.equal(endWait(beginWait(once, 'StartPermit', 2200), 2230).waitedMs, 80);
  });
  row('an end ends the wait', () => {
    const span = endSpan(beginWait(open, 'Objects', 2100), { atMs: 2400, failed: false });
    assert.deepEqual([span.waitedMs, span.waitingSinceMs, span.wait], [300, null, 'Objects']);
  });
  row('an ended span does not wait', () => assert.equal(beginWait(ended, 'Objects', 9000), ended));
});

table('spans in the table', (row) => {
  const cases: Record<string, TimelineSpan> = {
    open,
    ended,
    failed: endSpan(open, { atMs: 3000, failed: true }),
    'due later': beginSpan(undefined, { atMs: 2000, dueMs: 32_000 }),
    waiting: beginWait(open, 'StartPermit', 2300),
    'after 33 years': beginSpan(undefined, { atMs: 33 * 365 * 86_400_000 }),
  };
  for (const [name, span] of Object.entries(cases))
    row(`${name}: is read as it was written`, () => assert.deepEqual(fromCells(toCells(span, originMs), originMs), span));
  row('a second wait in progress keeps the sum of both', () => {
    const twice = beginWait(endWait(beginWait(open, 'SyncSlot', 2000), 2100), 'StartPermit', 2200);
    const read = fromCells(toCells(twice, originMs), originMs)!;
    assert.equal(endWait(read, 2300).waitedMs, 200);
  });
  row('a phase that never began is undefined', () => assert.equal(fromCells({ ...toCells(open, 0), count: 0 }, 0), undefined));
  row('a duration of months is bounded, and not wrapped', () => {
    const long = endSpan(open, { atMs: 90 * 86_400_000, failed: false });
    assert.equal(fromCells(toCells(long, originMs), originMs)!.durationMs, 2 ** 32 - 2);
  });
});
