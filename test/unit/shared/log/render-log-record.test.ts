import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renderJSON, renderText, type LogRecord } from '../../../../src/shared/log/render-log-record.ts';
import { table } from '../../../support/table.ts';

const time = new Date(2026, 10, 21, 11, 10, 0, 123).getTime();
const aRecord = (fields: Record<string, unknown> = {}): LogRecord => ({
  $level: 30,
  $time: time,
  $msg: 'pod started',
  component: 'pleg',
  ...fields,
});

const texts: { name: string; record: LogRecord; want: string }[] = [
  {
    name: 'a text line has klog’s header, the component instead of the source file, and quoted strings',
    record: aRecord({ pod: 'ns/a', n: 3, ok: true }),
    want: 'I1121 11:10:00.123000   12345 pleg] "pod started" pod="ns/a" n=3 ok=true\n',
  },
  { name: 'a warning is W', record: aRecord({ $level: 40 }), want: 'W1121 11:10:00.123000   12345 pleg] "pod started"\n' },
  {
    name: 'an error is E, with err right after the message',
    record: aRecord({ $level: 50, pod: 'ns/a', err: 'no "luck"' }),
    want: String.raw`E1121 11:10:00.123000   12345 pleg] "pod started" err="no \"luck\"" pod="ns/a"` + '\n',
  },
  { name: 'a fatal line is F', record: aRecord({ $level: 60 }), want: 'F1121 11:10:00.123000   12345 pleg] "pod started"\n' },
  { name: 'debug and trace are I', record: aRecord({ $level: 10 }), want: 'I1121 11:10:00.123000   12345 pleg] "pod started"\n' },
  {
    name: 'several lines are shown as they are, each behind a tab',
    record: aRecord({ out: 'one\n >\nthree' }),
    want: 'I1121 11:10:00.123000   12345 pleg] "pod started" out=<\n\tone\n\t >\n\tthree\n >\n',
  },
  {
    name: 'objects are JSON',
    record: aRecord({ ports: [{ port: 80 }] }),
    want: 'I1121 11:10:00.123000   12345 pleg] "pod started" ports=[{"port":80}]\n',
  },
  {
    name: 'line breaks in the message stay on the line',
    record: aRecord({ $msg: 'a\nb', component: undefined }),
    want: String.raw`I1121 11:10:00.123000   12345 kubelet] "a\nb"` + '\n',
  },
];
table('a record is written as text', (row) => {
  for (const { name, record, want } of texts) {
    row(name, () => assert.equal(renderText(record, 12345), want));
  }
});

const jsons: { name: string; record: LogRecord; want: Record<string, unknown> }[] = [
  {
    name: 'a JSON line has the time in ms, the component as caller, and a verbosity',
    record: aRecord({ pod: 'ns/a' }),
    want: { ts: time, caller: 'pleg', msg: 'pod started', v: 0, pod: 'ns/a' },
  },
  {
    name: 'a warning has verbosity 0 in JSON',
    record: aRecord({ $level: 40 }),
    want: { ts: time, caller: 'pleg', msg: 'pod started', v: 0 },
  },
  { name: 'debug is verbosity 4 in JSON', record: aRecord({ $level: 20 }), want: { ts: time, caller: 'pleg', msg: 'pod started', v: 4 } },
  {
    name: 'an error has err and no verbosity in JSON',
    record: aRecord({ $level: 50, err: 'no' }),
    want: { ts: time, caller: 'pleg', msg: 'pod started', err: 'no' },
  },
  {
    name: 'a field named like one of the format’s own does not replace it',
    record: aRecord({ msg: 'mine', ts: 1 }),
    want: { ts: time, caller: 'pleg', msg: 'pod started', v: 0, msg_: 'mine', ts_: 1 },
  },
];
table('a record is written as JSON', (row) => {
  for (const { name, record, want } of jsons) {
    row(name, () => assert.deepEqual(JSON.parse(renderJSON(record)), want));
  }
});

test('a huge value is truncated, and the line states how much is missing', () => {
  const record = aRecord({ huge: 'x'.repeat(20_000), list: Array.from({ length: 20_000 }, () => 1) });
  for (const line of [renderText(record, 1), renderJSON(record)]) {
    assert.ok(line.length < 34_000);
    assert.match(line, /… \(3616 more\)/);
  }
});
