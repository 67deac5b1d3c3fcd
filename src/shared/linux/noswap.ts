/** Detects whether memory volumes can be kept out of swap (upstream pkg/kubelet/util/swap). */
import { readFile } from 'node:fs/promises';
import { release } from 'node:os';
import { isKernelAtLeast } from './kernel-version.ts';

let supported: Promise<boolean> | undefined;

/** The tmpfs option `noswap` exists since Linux 6.4. The root user of a user namespace may not use it. Never rejects. */
export function supportsNoswap(): Promise<boolean> {
  supported ??= isKernelAtLeast(release(), '6.4') ? isInitialUserNamespace() : Promise.resolve(false);
  return supported;
}

async function isInitialUserNamespace(): Promise<boolean> {
  const map = await readFile('/proc/self/uid_map', 'utf8').catch(() => '');
  return /^\s*0\s+0\s+4294967295\s*$/.test(map);
}
