/** Detects whether memory volumes can be kept out of swap (upstream pkg/kubelet/util/swap). */
import { release } from 'node:os';
import { isKernelAtLeast } from './kernel-version.ts';
import { isInitialUserNamespace } from './user-namespace.ts';

/** The tmpfs option `noswap` exists since Linux 6.4. The root user of a user namespace may not use it. */
export function supportsNoswap(): boolean {
  return (supported ??= isKernelAtLeast(release(), '6.4') && isInitialUserNamespace());
}

let supported: boolean | undefined;
