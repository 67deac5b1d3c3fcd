/**
 *   npm run cache            lists the entries of the user's cache folder
 *   npm run cache -- empty   removes all of them
 */
import { cacheEntries, emptyCache, maxCacheBytes, userCacheFolder } from '../lab/cache/user-cache.ts';

const megabytes = (bytes: number) => `${Math.ceil(bytes / 1e6)} MB`;
const [action = 'list', ...rest] = process.argv.slice(2);
if (action === 'empty' && rest.length === 0) {
  const bytes = cacheEntries().reduce((sum, entry) => sum + entry.bytes, 0);
  emptyCache();
  console.log(`removed ${megabytes(bytes)} in ${userCacheFolder()}`);
} else if (action === 'list' && rest.length === 0) {
  const entries = cacheEntries();
  for (const { name, bytes, usedAtMs } of entries) {
    console.log(`${megabytes(bytes).padStart(8)}  ${new Date(usedAtMs).toISOString().slice(0, 16)}  ${name}`);
  }
  const total = entries.reduce((sum, { bytes }) => sum + bytes, 0);
  console.log(`${megabytes(total)} of ${megabytes(maxCacheBytes)} in ${userCacheFolder()}`);
} else {
  console.error(`unknown arguments: ${process.argv.slice(2).join(' ')}; known: list, empty`);
  process.exitCode = 2;
}
