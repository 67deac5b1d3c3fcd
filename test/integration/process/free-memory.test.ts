/** Tests malloc_trim in a child process. The C library keeps small freed blocks below a block that is still in use. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';

const native = new URL('../../../src/shared/linux/native.ts', import.meta.url).href;
const script = `
  import { readFileSync } from 'node:fs';
  import koffi from 'koffi';
  import { trimFreeMemory } from ${JSON.stringify(native)};
  const resident = () => Number(/VmRSS:\\s+(\\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1]) / 1024;
  const libc = koffi.load(null);
  const calloc = libc.func('void *calloc(size_t count, size_t size)');
  const memset = libc.func('void *memset(void *block, int byte, size_t size)');
  const free = libc.func('void free(void *block)');
  const blocks = Array.from({ length: 1024 }, () => memset(calloc(1, 64 * 1024), 1, 64 * 1024));
  blocks.slice(0, -1).forEach((block) => free(block));
  const before = resident();
  await trimFreeMemory();
  console.log(JSON.stringify({ before, after: resident() }));
`;

test('free memory of the C library is returned to the kernel', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
    cwd: new URL('../../..', import.meta.url),
  });
  const { before, after } = JSON.parse(stdout) as { before: number; after: number };
  assert.ok(before - after > 40, `${before} MiB before, ${after} after`);
});
