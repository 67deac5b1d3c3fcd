import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLogger } from '../../../../src/shared/log/create-logger.ts';
import { createVerbosityCell, setVerbosity } from '../../../../src/shared/log/live-verbosity.ts';

test('a change of the verbosity applies to existing loggers, their children and new loggers', async () => {
  const live = createVerbosityCell();
  const logger = createLogger({ format: 'text', verbosity: 2, vmodule: [{ pattern: 'loud', verbosity: 6 }], live }, { component: 'a' });
  const child = logger.child({ pod: 'p' });
  const loud = logger.child({ component: 'loud' });
  assert.deepEqual([logger.level, child.level, loud.level], ['info', 'info', 'trace']);
  setVerbosity(live, 4);
  for (let i = 0; i < 1000 && child.level === 'info'; i += 1) await new Promise(setImmediate);
  assert.deepEqual([logger.level, child.level, loud.level], ['debug', 'debug', 'trace']);
  assert.deepEqual([logger.child({}).level, createLogger({ format: 'text', verbosity: 0, vmodule: [], live }).level], ['debug', 'debug']);
});
