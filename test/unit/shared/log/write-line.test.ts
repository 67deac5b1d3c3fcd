import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LineWriter } from '../../../../src/shared/log/write-line.ts';
import { table } from '../../../support/table.ts';

/** A file descriptor whose writes have the given results, one each. */
function aDescriptor(answers: (number | string)[]): { writer: LineWriter; written: () => string; waits: number[] } {
  let written = '';
  const waits: number[] = [];
  const write = (_fd: number, bytes: Uint8Array, offset: number): number => {
    const answer = answers.shift() ?? bytes.length;
    if (typeof answer === 'string') throw Object.assign(new Error(answer), { code: answer });
    const taken = bytes.subarray(offset, offset + answer);
    written += Buffer.from(taken).toString();
    return taken.length;
  };
  return { writer: new LineWriter(write, (ms) => void waits.push(ms)), written: () => written, waits };
}

test('the writer waits for a full pipe, longer each time, and drops no line', () => {
  const { writer, written, waits } = aDescriptor(['EAGAIN', 'EAGAIN', 3, 'EAGAIN', 4]);
  writer.writeLine(2, 'a long line\n');
  assert.equal(written(), 'a long line\n');
  assert.deepEqual(waits, [1, 2, 1]);
  assert.equal(writer.lost, 0);
});

test('the wait for a pipe that stays full has an upper bound', () => {
  const { writer, waits } = aDescriptor(Array.from({ length: 10 }, () => 'EAGAIN'));
  writer.writeLine(2, 'x\n');
  assert.deepEqual(waits, [1, 2, 4, 8, 16, 32, 50, 50, 50, 50]);
});

table('an unwritable log drops the line and does not throw', (row) => {
  for (const code of ['EPIPE', 'ENOSPC', 'EBADF', 'EIO']) {
    row(`${code} drops the line and does not throw`, () => {
      const { writer, written } = aDescriptor([code]);
      writer.writeLine(2, 'lost\n');
      assert.equal(writer.lost, 1);
      writer.writeLine(2, 'seen\n');
      assert.equal(written(), 'seen\n');
      assert.equal(writer.lost, 0);
    });
  }
});
