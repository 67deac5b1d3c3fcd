import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setUpKernelTunables } from '../../../src/main/process/kernel-tunables.ts';
import { aLogger, silentLogger as logger } from '../../support/logger.ts';

function aKernel(t: TestContext): { root: string; read: (flag: string) => string } {
  const root = mkdtempSync(join(tmpdir(), 'sysctl-'));
  t.after(() => rmSync(root, { recursive: true }));
  mkdirSync(join(root, 'kernel/keys'), { recursive: true });
  mkdirSync(join(root, 'vm'));
  const values = { 'vm/overcommit_memory': 0, 'vm/panic_on_oom': 0, 'kernel/panic': 0, 'kernel/panic_on_oops': 1 };
  const keys = { 'kernel/keys/root_maxkeys': 1_000_000, 'kernel/keys/root_maxbytes': 25_000_000 };
  for (const [flag, value] of Object.entries({ ...values, ...keys })) writeFileSync(join(root, flag), `${value}\n`);
  return { root, read: (flag) => readFileSync(join(root, flag), 'utf8') };
}

test('wrong values are set', (t) => {
  const { root, read } = aKernel(t);
  setUpKernelTunables({ protect: false, logger, root });
  assert.deepEqual([read('vm/overcommit_memory'), read('kernel/panic'), read('vm/panic_on_oom')], ['1', '10', '0\n']);
});

test('protected values are not changed: wrong ones are one error', (t) => {
  const { root, read } = aKernel(t);
  assert.throws(() => setUpKernelTunables({ protect: true, logger, root }), {
    message:
      '[invalid kernel flag: vm/overcommit_memory, expected value: 1, actual value: 0, invalid kernel flag: kernel/panic, expected value: 10, actual value: 0]',
  });
  assert.equal(read('kernel/panic'), '0\n');
});

test('a value that cannot be set is an error in the log, and the others are set', (t) => {
  const { root, read } = aKernel(t);
  rmSync(join(root, 'vm'), { recursive: true });
  const { logger: log, lines } = aLogger();
  setUpKernelTunables({ protect: false, logger: log, root });
  assert.match(JSON.stringify(lines), /Updating kernel flag failed/);
  assert.equal(read('kernel/panic'), '10');
});
