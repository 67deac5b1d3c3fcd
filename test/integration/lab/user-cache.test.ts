/** The user's cache folder on disk: its entries, their sizes, and what is removed. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { cacheEntries, cacheEntry, emptyCache, pruneCache, userCacheFolder } from '../../../lab/cache/user-cache.ts';

const folder = mkdtempSync(join(tmpdir(), 'user-cache-'));
process.env.XDG_CACHE_HOME = folder;
after(() => rmSync(folder, { recursive: true }));

const mebibyte = 1024 * 1024;
function fill(name: string, bytes: number, usedHoursAgo: number): string {
  const entry = cacheEntry(name, 'key');
  writeFileSync(join(entry, 'file'), Buffer.alloc(bytes, 'x'));
  const used = Date.now() / 1000 - usedHoursAgo * 3600;
  utimesSync(entry, used, used);
  return entry;
}
const bytesOf = (name: string) => cacheEntries().find((entry) => entry.name === `${name}-key`)?.bytes ?? 0;

test('an entry beyond the bound that was not used for hours is removed, the oldest first', () => {
  const old = fill('old', 2 * mebibyte, 50);
  const newer = fill('newer', 2 * mebibyte, 40);
  const inUse = fill('in-use', 2 * mebibyte, 0);
  assert.deepEqual(pruneCache(5 * mebibyte), ['old-key']);
  assert.deepEqual([old, newer, inUse].map(existsSync), [false, true, true]);
  assert.equal(cacheEntry('newer', 'key'), newer);
  assert.deepEqual(pruneCache(1), [], 'its use was recorded');
});

test('an entry that another process fills is measured without what is mounted in it', () => {
  const entry = fill('filled', mebibyte, 0);
  const mount = join(entry, 'root/proc');
  mkdirSync(mount, { recursive: true });
  execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', mount]);
  try {
    writeFileSync(join(mount, 'large'), Buffer.alloc(8 * mebibyte, 'x'));
    assert.ok(bytesOf('filled') >= mebibyte && bytesOf('filled') < 2 * mebibyte, `${bytesOf('filled')} bytes`);
  } finally {
    execFileSync('umount', [mount]);
  }
});

test('the cache can be emptied', () => {
  emptyCache();
  assert.deepEqual([existsSync(userCacheFolder()), cacheEntries()], [false, []]);
});
