import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLogger } from '../../../../src/shared/log/create-logger.ts';
import type { Logger, LoggingOptions } from '../../../../src/shared/log/logger.ts';
import { LineWriter } from '../../../../src/shared/log/write-line.ts';

function aLoggerInto(options: Partial<LoggingOptions> = {}): { logger: Logger; lines: Record<string, unknown>[]; fds: number[] } {
  const lines: Record<string, unknown>[] = [];
  const fds: number[] = [];
  const writer = new LineWriter((fd, bytes) => {
    fds.push(fd);
    lines.push(JSON.parse(Buffer.from(bytes).toString()) as Record<string, unknown>);
    return bytes.length;
  });
  return { logger: createLogger({ format: 'json', verbosity: 0, vmodule: [], ...options }, {}, writer), lines, fds };
}

test('a line is written before the call that logs it returns', () => {
  const { logger, lines } = aLoggerInto();
  logger.info('now');
  assert.equal(lines[0]?.['msg'], 'now');
});

test('the lines of a child logger have its component and fields once', () => {
  const { logger, lines } = aLoggerInto();
  logger.child({ component: 'pleg' }).child({ component: 'relist', pod: 'ns/a' }).info({ n: 1 }, 'seen');
  assert.deepEqual({ ...lines[0], ts: 0 }, { ts: 0, caller: 'relist', msg: 'seen', v: 0, pod: 'ns/a', n: 1 });
});

test('an error under any key is logged as its message with its causes', () => {
  const { logger, lines } = aLoggerInto();
  logger.error({ err: new Error('no sandbox', { cause: new Error('no image') }), first: new Error('busy') }, 'sync failed');
  assert.equal(lines[0]?.['err'], 'no sandbox: no image');
  assert.equal(lines[0]?.['first'], 'busy');
});

test('fields cannot replace the line’s level, time or message', () => {
  const { logger, lines } = aLoggerInto();
  logger.info({ level: 60, time: 'never', $msgs: 1 }, 'calm');
  assert.equal(lines[0]?.['v'], 0);
  assert.equal(lines[0]?.['msg'], 'calm');
  assert.equal(typeof lines[0]?.['ts'], 'number');
});

test('a cycle, a bigint and a function do not break the line', () => {
  const { logger, lines } = aLoggerInto();
  const cycle: Record<string, unknown> = { name: 'a' };
  cycle['self'] = cycle;
  logger.info({ cycle, big: 10n, fn: () => 1 }, 'odd');
  assert.equal(lines[0]?.['big'], 10);
  assert.deepEqual(lines[0]?.['cycle'], { name: 'a', self: '[Circular]' });
});

test('--vmodule raises the verbosity of one component and its child loggers', () => {
  const { logger, lines } = aLoggerInto({ vmodule: [{ pattern: 'pl*', verbosity: 4 }] });
  logger.debug('not logged by main');
  logger.child({ component: 'images' }).debug('not logged by images');
  logger.child({ component: 'pleg' }).child({ pod: 'ns/a' }).debug('logged by pleg');
  assert.deepEqual(
    lines.map((line) => line['msg']),
    ['logged by pleg'],
  );
});

test('with a split stream errors go to stderr and all other lines to stdout', () => {
  const { logger, fds } = aLoggerInto({ splitStream: true });
  logger.info('a');
  logger.warn('b');
  logger.error('c');
  assert.deepEqual(fds, [1, 1, 2]);
});

test('without a split stream all lines go to stderr', () => {
  const { logger, fds } = aLoggerInto();
  logger.info('a');
  logger.error('c');
  assert.deepEqual(fds, [2, 2]);
});
