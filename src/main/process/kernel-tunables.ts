/** The kernel settings that nodes need: set at start, or only checked with `protectKernelDefaults` (upstream setupKernelTunables). */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import type { Logger } from '../../shared/log/logger.ts';

/** Values of k8s.io/component-helpers/node/util/sysctl: the OOM killer decides, not overcommit limits, and a kernel that panicked reboots. */
const wantedValues: Readonly<Record<string, number>> = {
  'vm/overcommit_memory': 1,
  'vm/panic_on_oom': 0,
  'kernel/panic': 10,
  'kernel/panic_on_oops': 1,
  'kernel/keys/root_maxkeys': 1_000_000,
  'kernel/keys/root_maxbytes': 25_000_000,
};

export interface KernelTunablesOptions {
  /** protectKernelDefaults: a wrong value is an error, and none is changed. */
  readonly protect: boolean;
  readonly logger: Logger;
  /** For tests. Default: /proc/sys. */
  readonly root?: string;
}

/**
 * Throws with all wrong values when the host's values are protected. Otherwise a value that cannot be set is an error in the log: the node's pods can
 * run with it.
 */
export function setUpKernelTunables({ protect, logger, root = '/proc/sys' }: KernelTunablesOptions): void {
  const errors: string[] = [];
  for (const [flag, wanted] of Object.entries(wantedValues)) {
    try {
      const actual = Number(readFileSync(join(root, flag), 'utf8'));
      if (actual === wanted) continue;
      if (protect) {
        errors.push(`invalid kernel flag: ${flag}, expected value: ${wanted}, actual value: ${actual}`);
        continue;
      }
      logger.info({ flag, expectedValue: wanted, actualValue: actual }, 'Updating kernel flag');
      writeFileSync(join(root, flag), String(wanted));
    } catch (err) {
      if (protect) errors.push(messageOf(err));
      else logger.error({ err, flag, expectedValue: wanted }, 'Updating kernel flag failed');
    }
  }
  if (errors.length > 0) throw new Error(errors.length === 1 ? errors[0] : `[${errors.join(', ')}]`);
}
