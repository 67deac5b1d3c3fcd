/** Finds out what the path of a local volume is (upstream GetFileType in pkg/volume/util/hostutil). */
import { realpath, stat } from 'node:fs/promises';
import type { HelperOperations } from '../shared/contracts/helper.ts';
import { goQuote } from '../shared/kubernetes/go-text.ts';

/** Follows symlinks. */
export async function inspectVolumeSource({
  path,
}: HelperOperations['inspectVolumeSource']['request']): Promise<HelperOperations['inspectVolumeSource']['reply']> {
  const real = await realpath(path).catch((err: NodeJS.ErrnoException) => {
    if (err.code !== 'ENOENT') throw err;
    return null;
  });
  // Upstream's message.
  if (real === null) throw new Error(`path ${goQuote(path)} does not exist`);
  const stats = await stat(real);
  const type = stats.isDirectory() ? 'directory' : stats.isBlockDevice() ? 'block' : 'other';
  return { path: real, type, group: stats.gid, device: type === 'block' ? deviceNumber(stats.rdev) : null };
}

/** As the mount table writes it; the layout is that of glibc's `makedev`. */
function deviceNumber(rdev: number): string {
  const number = BigInt(rdev);
  const major = ((number >> 8n) & 0xfffn) | ((number >> 32n) & 0xfffff000n);
  const minor = (number & 0xffn) | ((number >> 12n) & 0xffffff00n);
  return `${major}:${minor}`;
}
