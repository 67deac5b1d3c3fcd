import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LogFilter } from '../../../../../src/workers/server/logs/log-filter.ts';
import { parseLogOptions } from '../../../../../src/workers/server/logs/log-options.ts';
import { findTailStart } from '../../../../../src/workers/server/logs/tail-start.ts';
import { table } from '../../../../support/table.ts';

const time = '2016-10-06T00:17:09.1Z';
const entry = (stream: string, tag: string, content: string) => `${time} ${stream} ${tag} ${content}\n`;
const out = (tag: string, content: string) => entry('stdout', tag, content);
const err = (tag: string, content: string) => entry('stderr', tag, content);

/** Returns the output of the last lines of the file. */
async function tailOf(file: string, lines: number, signal = new AbortController().signal): Promise<string> {
  const bytes = Buffer.from(file);
  const readAt = async (position: number, length: number) => bytes.subarray(position, position + length);
  const { position, skippedEntries } = await findTailStart(readAt, bytes.length, lines, signal);
  const filter = new LogFilter(parseLogOptions(new URLSearchParams(`tailLines=${lines}`), 0, true).options!);
  filter.skip(skippedEntries);
  return Buffer.concat([filter.push(bytes.subarray(position)), ...(filter.done ? [] : [filter.end()])]).toString();
}

const piece = 'x'.repeat(16_384);
const pieces = out('P', piece).repeat(9);
const cases: { name: string; file: string; lines: number; want: string }[] = [
  { name: 'no line', file: out('F', 'a'), lines: 0, want: '' },
  { name: 'more lines than there are', file: out('F', 'a') + out('F', 'b'), lines: 3, want: 'a\nb\n' },
  { name: 'the last line', file: out('F', 'a') + out('F', 'b'), lines: 1, want: 'b\n' },
  { name: 'pieces are one line', file: out('F', 'a') + pieces + out('F', 'b') + out('F', 'c'), lines: 2, want: `${piece.repeat(9)}b\nc\n` },
  { name: 'pieces before the tail', file: pieces + out('F', 'b') + out('F', 'c'), lines: 1, want: 'c\n' },
  { name: 'a last line without its end', file: out('F', 'a') + out('P', 'b') + out('P', 'c'), lines: 1, want: 'bc' },
  { name: 'an incomplete last entry is not counted', file: `${out('F', 'a') + out('F', 'b')}${time} stdout F c`, lines: 1, want: 'b\n' },
  {
    name: 'lines of the other stream between pieces of the last line are not a part of the tail',
    file: out('F', 'a') + out('P', 'b') + err('F', 'x') + err('F', 'y') + out('F', 'c'),
    lines: 1,
    want: 'bc\n',
  },
  {
    name: 'pieces of both streams',
    file: err('F', 'w') + out('P', 'a') + err('P', 'x') + out('F', 'b') + err('F', 'y') + out('F', 'c'),
    lines: 2,
    want: 'xy\nc\n',
  },
  {
    name: 'something that is not an entry counts as a line',
    file: `${out('F', 'a') + out('F', 'b')}garbage\n${out('F', 'c')}`,
    lines: 2,
    want: 'c\n',
  },
  {
    name: 'entries of Docker',
    file: ['a\\n', 'b', 'c\\n', 'd\\n'].map((log) => `{"log":"${log}","stream":"stdout"}\n`).join(''),
    lines: 2,
    want: 'bc\nd\n',
  },
];
table('the tail of a log', (row) => {
  for (const { name, file, lines, want } of cases) {
    row(`the tail of a log: ${name}`, async () => assert.equal(await tailOf(file, lines), want));
  }
});

test('the search for pieces of the other stream before the tail is bounded, and the client can end it', async () => {
  const bytes = Buffer.from(err('P', 'x') + out('F', 'y'.repeat(1000)).repeat(10_000) + err('F', 'z'));
  let bytesRead = 0;
  const readAt = async (position: number, length: number) => {
    bytesRead += length;
    return bytes.subarray(position, position + length);
  };
  const { position } = await findTailStart(readAt, bytes.length, 1, new AbortController().signal);
  assert.equal(position, bytes.length - err('F', 'z').length);
  assert.ok(bytesRead < 1_000_000, String(bytesRead));
  assert.equal((await findTailStart(readAt, bytes.length, 1, AbortSignal.abort())).position, 0);
});
