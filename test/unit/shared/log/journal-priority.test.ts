import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLogger } from '../../../../src/shared/log/create-logger.ts';
import { addPriority, journalStreams } from '../../../../src/shared/log/journal-priority.ts';
import { LineWriter } from '../../../../src/shared/log/write-line.ts';
import { table } from '../../../support/table.ts';

const files = (stdout: string, stderr: string) => (fd: number) => (fd === 1 ? stdout : stderr);
const streams: { name: string; env: Record<string, string>; identify: (fd: number) => string; want: number[] }[] = [
  { name: 'both streams of a service', env: { JOURNAL_STREAM: '8:77' }, identify: files('8:77', '8:77'), want: [1, 2] },
  { name: 'not a stream that a shell has redirected', env: { JOURNAL_STREAM: '8:77' }, identify: files('9:1', '8:77'), want: [2] },
  { name: 'not a terminal with the variable of another process', env: { JOURNAL_STREAM: '8:77' }, identify: files('3:1', '3:1'), want: [] },
  { name: 'none without the variable', env: {}, identify: files('', ''), want: [] },
  {
    name: 'none with an empty variable, also when the descriptors are closed',
    env: { JOURNAL_STREAM: '' },
    identify: files('', ''),
    want: [],
  },
];
table('the journal has', (row) => {
  for (const { name, env, identify, want } of streams) row(name, () => assert.deepEqual(journalStreams(env, identify), want));
});

const lines: { name: string; text: string; level: number; want: string }[] = [
  { name: 'fatal: critical', text: 'F a\n', level: 60, want: '<2>F a\n' },
  { name: 'error', text: 'E a\n', level: 50, want: '<3>E a\n' },
  { name: 'warning', text: 'W a\n', level: 40, want: '<4>W a\n' },
  { name: 'info', text: 'I a\n', level: 30, want: '<6>I a\n' },
  { name: 'debug', text: 'I a\n', level: 20, want: '<7>I a\n' },
  { name: 'trace: debug', text: 'I a\n', level: 10, want: '<7>I a\n' },
  { name: 'each line of several', text: 'E a=<\n\tone\n\t<0>two\n >\n', level: 50, want: '<3>E a=<\n<3>\tone\n<3>\t<0>two\n<3> >\n' },
  { name: 'only at line breaks of the journal', text: 'I a\rb\u2028c\n', level: 30, want: '<6>I a\rb\u2028c\n' },
];
table('the priority of a log line', (row) => {
  for (const { name, text, level, want } of lines) row(name, () => assert.equal(addPriority(text, level), want));
});

test('only lines on a stream of the journal have a priority', () => {
  const written: string[] = [];
  const writer = new LineWriter((fd, bytes) => {
    written.push(`${fd} ${Buffer.from(bytes).toString().slice(0, 4)}`);
    return bytes.length;
  });
  const logger = createLogger({ format: 'text', verbosity: 0, vmodule: [], splitStream: true, journalStreams: [2] }, {}, writer);
  logger.warn('to stdout');
  logger.error('to stderr');
  assert.match(written[0] ?? '', /^1 W/);
  assert.match(written[1] ?? '', /^2 <3>E/);
});
