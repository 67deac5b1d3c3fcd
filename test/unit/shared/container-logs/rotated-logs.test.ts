import assert from 'node:assert/strict';
import { compareRotations, nextRotationTimestamp, parseRotatedLogName } from '../../../../src/shared/container-logs/rotated-logs.ts';
import { table } from '../../../support/table.ts';

/** Local time, as in names. */
const local = (year: number, month: number, day: number, hour = 0, minute = 0, second = 0) =>
  new Date(year, month - 1, day, hour, minute, second).getTime();

table('a name of a rotated log', (row) => {
  const names: [string, string | null][] = [
    ['0.log.20260102-030405', 'plain'],
    ['0.log.20260102-030405.gz', 'compressed'],
    ['0.log.20260102-030405.tmp', 'temporary'],
    ['0.log.20260102-030405.gz.tmp', null],
    ['0.log', null],
    ['0.log.bak', null],
    ['0.log.20260102-030405.bak', null],
    ['0.log.20260231-030405', null],
    ['0.log.20260102-250405', null],
    ['0.log.00000000-000000', null],
    ['10.log.20260102-030405', null],
    ['0.logs.20260102-030405', null],
    ['0.log.20260102-030405\n', null],
  ];
  for (const [name, kind] of names)
    row(`${JSON.stringify(name)} is ${kind}`, () => assert.equal(parseRotatedLogName('0.log', name)?.kind ?? null, kind));
});

table('the timestamp of a new rotation', (row) => {
  const now = local(2026, 1, 2, 3, 4, 5);
  const rows: [string, string[], number, string][] = [
    ['is the current time in the local time zone', [], now, '20260102-030405'],
    ['does not depend on milliseconds', [], now + 999, '20260102-030405'],
    ['is the current time after older ones', ['20260102-030404', '20251231-235959'], now, '20260102-030405'],
    ['is a second later when the second is taken', ['20260102-030405'], now, '20260102-030406'],
    ['follows the newest when the clock went back', ['20260102-040000', '20260102-030405'], now, '20260102-040001'],
    ['carries over', ['20260102-235959'], now, '20260103-000000'],
    ['passes over the hour that summer time leaves out', ['20260329-015959'], local(2026, 3, 29, 1, 0, 0), '20260329-020000'],
    ['ignores a time when the clock was far ahead', ['20990101-000000'], now, '20260102-030405'],
    ['stays within four digits of a year', ['99991231-235959'], now, '20260102-030405'],
  ];
  for (const [what, timestamps, nowMs, want] of rows) row(what, () => assert.equal(nextRotationTimestamp(timestamps, nowMs), want));
});

table('rotations are ordered by age', (row) => {
  const compare = compareRotations(local(2026, 1, 2));
  const order = (...timestamps: string[]) => timestamps.toSorted(compare);
  row('by their timestamps', () =>
    assert.deepEqual(order('20260101-000001', '20251231-235959', '20260101-000000'), [
      '20251231-235959',
      '20260101-000000',
      '20260101-000001',
    ]),
  );
  row('one from a clock slightly ahead is the newest', () =>
    assert.deepEqual(order('20260102-120000', '20260101-000000'), ['20260101-000000', '20260102-120000']),
  );
  row('one from a clock far ahead is the oldest', () =>
    assert.deepEqual(order('20260101-000000', '20990101-000000', '20250101-000000'), [
      '20990101-000000',
      '20250101-000000',
      '20260101-000000',
    ]),
  );
});
