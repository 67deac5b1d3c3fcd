import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LogFilter } from '../../../../../src/workers/server/logs/log-filter.ts';
import { parseLogOptions } from '../../../../../src/workers/server/logs/log-options.ts';
import { table } from '../../../../support/table.ts';

const time = '2016-10-06T00:17:09.1Z';
const stamp = '2016-10-06T00:17:09.100000000Z';

function aFilter(query = ''): LogFilter {
  const { options } = parseLogOptions(new URLSearchParams(query), 0, true);
  return new LogFilter(options!);
}
/** Returns the output for a file that is read in blocks of `blockBytes`. */
function filtered(file: string | Buffer, query = '', blockBytes = 7): string {
  const filter = aFilter(query);
  const bytes = Buffer.from(file as string);
  const out: Buffer[] = [];
  for (let at = 0; at < bytes.length && !filter.done; at += blockBytes) out.push(filter.push(bytes.subarray(at, at + blockBytes)));
  if (!filter.done) out.push(filter.end());
  return Buffer.concat(out).toString('utf8');
}
const lines = [`${time} stdout F one\n`, `${time} stderr F two\n`, `${time} stdout F three\n`].join('');

const cases: { name: string; file: string; query?: string; want: string }[] = [
  { name: 'an empty file', file: '', want: '' },
  { name: 'both streams, in order', file: lines, want: 'one\ntwo\nthree\n' },
  { name: 'stdout alone', file: lines, query: 'stream=Stdout', want: 'one\nthree\n' },
  { name: 'stderr alone', file: lines, query: 'stream=Stderr', want: 'two\n' },
  { name: 'timestamps', file: `${time} stdout F one\n`, query: 'timestamps=true', want: `${stamp} one\n` },
  { name: 'parts of a line are joined', file: `${time} stdout P a\n${time} stdout P b\n${time} stdout F c\n`, want: 'abc\n' },
  {
    name: 'a joined line has one timestamp',
    file: `${time} stdout P a\n${time} stdout F b\n${time} stdout F c\n`,
    query: 'timestamps=true',
    want: `${stamp} ab\n${stamp} c\n`,
  },
  {
    name: 'a line of the other stream does not cut a joined one',
    file: `${time} stdout P a\n${time} stderr F x\n${time} stdout F b\n`,
    query: 'timestamps=true&stream=Stdout',
    want: `${stamp} ab\n`,
  },
  {
    name: 'a line of the other stream comes after a joined one',
    file: `${time} stdout P a\n${time} stderr F x\n${time} stderr P y\n${time} stdout F b\n${time} stderr F z\n`,
    query: 'timestamps=true',
    want: `${stamp} ab\n${stamp} x\n${stamp} yz\n`,
  },
  {
    name: 'a line that stays incomplete hides nothing',
    file: `${time} stdout P a\n${time} stderr F x\n`,
    want: 'ax\n',
  },
  {
    name: 'a joined line that began before the time is not shown, and one that began at it is shown as a whole',
    file: `2016-10-06T00:00:00Z stdout P old\n${time} stdout F rest\n${time} stdout P a\n${time} stdout F b\n`,
    query: `sinceTime=${time}`,
    want: 'ab\n',
  },
  { name: 'a tail counts joined lines', file: `${time} stdout P a\n${time} stdout F b\n${lines}`, query: 'tailLines=2', want: 'ab\none\n' },
  { name: 'more tags', file: `${time} stdout P:x:y a\n${time} stdout F:z b\n`, want: 'ab\n' },
  { name: 'an empty line', file: `${time} stdout F \n`, want: '\n' },
  { name: 'a last line without its end', file: `${time} stdout F one\n${time} stdout F tw`, want: 'one\ntw' },
  {
    name: 'lines since a time',
    file: `2016-10-06T00:00:00Z stdout F old\n${lines}`,
    query: 'sinceTime=2016-10-06T00:10:00Z',
    want: 'one\ntwo\nthree\n',
  },
  { name: 'a line of just that time is shown', file: lines, query: `sinceTime=${time}`, want: 'one\ntwo\nthree\n' },
  { name: 'a limit of bytes, to the byte', file: lines, query: 'limitBytes=6', want: 'one\ntw' },
  { name: 'a limit within a timestamp', file: lines, query: 'limitBytes=4&timestamps=true', want: '2016' },
  { name: 'a limit counts only output', file: lines, query: 'limitBytes=4&stream=Stderr', want: 'two\n' },
  { name: 'a tail of no lines', file: lines, query: 'tailLines=0', want: '' },
  { name: 'a tail ends after its lines, also when more were written', file: lines, query: 'tailLines=2', want: 'one\ntwo\n' },
  {
    name: 'garbage between lines is skipped',
    file: `${time} stdout F one\ngarbage\n\n\0\0\0\n${time} stdout F two\n`,
    want: 'one\ntwo\n',
  },
  { name: 'garbage before the first line is skipped', file: `\0\0\0\n${time} stdout F one\n`, want: 'one\n' },
  { name: 'NULs in a line', file: `${time} stdout F a\0b\n`, want: 'a\0b\n' },
  { name: 'an unknown stream', file: `${time} stdout F one\n${time} stdxxx F two\n`, want: 'one\n' },
  { name: 'characters of several bytes, cut anywhere', file: `${time} stdout F äöü€𝄞\n`, want: 'äöü€𝄞\n' },
  {
    name: 'entries of Docker',
    file: '{"log":"one\\n","stream":"stdout","time":"2016-10-06T00:17:09.1Z"}\n{"log":"two","stream":"stderr","time":"2016-10-06T00:17:09.1Z"}\n{"log":" three\\n","stream":"stdout","time":"2016-10-06T00:17:09.1Z"}\n',
    query: 'timestamps=1',
    want: `${stamp} one\n${stamp} two three\n`,
  },
  {
    name: 'a hostile entry of Docker',
    file: '{"log":"one\\n","stream":"stdout"}\n[]\nnull\n{"log":{},"stream":"stdout"}\n',
    want: 'one\n',
  },
];
table('the output of a log', (row) => {
  for (const { name, file, query, want } of cases) {
    row(`the output of a log: ${name}`, () => {
      for (const blockBytes of [1, 7, 64, 1 << 16]) assert.equal(filtered(file, query, blockBytes), want);
    });
  }
});

test('a line that exceeds the buffer is output in pieces, unchanged', () => {
  const long = 'x'.repeat(300_000); // Exceeds the buffer.
  const file = `${time} stdout F one\n${time} stdout P ${long}\n${time} stdout F ${long}\n${time} stdout F end\n`;
  assert.equal(filtered(file, '', 65_536), `one\n${long}${long}\nend\n`);
  assert.equal(filtered(file, 'timestamps=1', 65_536), `${stamp} one\n${stamp} ${long}${long}\n${stamp} end\n`);
  assert.equal(filtered(file, 'limitBytes=500000', 65_536).length, 500_000);
  assert.equal(filtered(file, 'stream=Stderr', 65_536), '');
  assert.equal(filtered(file, 'tailLines=2', 65_536), `one\n${long}${long}\n`);
});

test('an endless line that is not a log is not buffered, and the error names its start', () => {
  const filter = aFilter();
  const block = Buffer.alloc(65_536, 'y');
  for (let n = 0; n < 100; n += 1) assert.equal(filter.push(block).length, 0);
  assert.throws(() => filter.end(), /failed to get parse function: unsupported log format: "y{200}"/);
});

test('a Docker entry may be long, up to a limit', () => {
  const entry = (log: string) => `{"log":"${log}\\n","stream":"stdout"}\n`;
  const long = 'x'.repeat(1_000_000);
  assert.equal(filtered(entry('a') + entry(long) + entry('b'), '', 65_536), `a\n${long}\nb\n`);
  assert.equal(filtered(entry('a') + entry('x'.repeat(4_300_000)) + entry('b'), '', 65_536), 'a\nb\n');
});

test('the error for a file without a valid line contains its start', () => {
  assert.throws(
    () => filtered('hello\0 world\n'),
    /^LogFormatError: failed to get parse function: unsupported log format: "hello\\x00 world\\n"$/,
  );
});

test('an incomplete line is output before a new file', () => {
  const filter = aFilter();
  const first = filter.push(Buffer.from(`${time} stdout F one\n${time} stdout F tw`));
  filter.startNewFile();
  const second = filter.push(Buffer.from(`${time} stdout F three\n`));
  assert.equal(`${first.toString()}|${second.toString()}`, 'one\n|twthree\n');
});

test('lines that can not be parsed are counted', () => {
  const filter = aFilter();
  filter.push(Buffer.from(`garbage\n${time} stdout F one\ngarbage\n`));
  assert.equal(filter.unparsableLines, 2);
});

test('lines that wait for an incomplete line of the other stream are output at the latest with the bound, and on demand', () => {
  const filter = aFilter('follow=true');
  const one = filter.push(Buffer.from(`${time} stdout P a\n${time} stderr F x\n`));
  const two = filter.flush();
  assert.equal(`${one.toString()}|${two.toString()}`, 'a|x\n');
  filter.push(Buffer.from(`${time} stdout P b\n`));
  let output = 0;
  for (let n = 0; n < 100; n += 1) output += filter.push(Buffer.from(`${time} stderr F ${'y'.repeat(1000)}\n`)).length;
  assert.ok(output > 30_000, String(output));
});
