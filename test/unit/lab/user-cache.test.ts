import assert from 'node:assert/strict';
import { test } from 'node:test';
import { computeRemovals, userCacheFolder, type CacheEntry } from '../../../lab/cache/user-cache.ts';

const hourMs = 3_600_000;
const nowMs = 1000 * hourMs;
const anEntry = (name: string, bytes: number, usedHoursAgo: number): CacheEntry => ({
  name,
  path: `/cache/${name}`,
  bytes,
  usedAtMs: nowMs - usedHoursAgo * hourMs,
});
const removed = (entries: readonly CacheEntry[]) => computeRemovals(entries, 10, nowMs).map(({ name }) => name);

test('a cache within its bound loses nothing', () => {
  assert.deepEqual(removed([anEntry('a', 4, 900), anEntry('b', 6, 4)]), []);
});

test('a cache beyond its bound loses what was not used for the longest time, and no more', () => {
  assert.deepEqual(removed([anEntry('a', 5, 20), anEntry('b', 5, 40), anEntry('c', 5, 30), anEntry('d', 4, 5)]), ['b', 'c']);
});

test('an entry that a run of tests may use is kept beyond the bound', () => {
  assert.deepEqual(removed([anEntry('old', 5, 4), anEntry('used', 20, 1)]), ['old']);
});

const folders: { name: string; env: NodeJS.ProcessEnv; want: string }[] = [
  { name: 'XDG_CACHE_HOME', env: { XDG_CACHE_HOME: '/big', HOME: '/home/me' }, want: '/big/kubelet-ts' },
  { name: 'HOME without XDG_CACHE_HOME', env: { HOME: '/home/me' }, want: '/home/me/.cache/kubelet-ts' },
  { name: 'HOME when XDG_CACHE_HOME is relative', env: { XDG_CACHE_HOME: 'big', HOME: '/home/me' }, want: '/home/me/.cache/kubelet-ts' },
];
for (const { name, env, want } of folders) {
  test(`the folder of the cache is below ${name}`, () => assert.equal(userCacheFolder(env), want));
}
