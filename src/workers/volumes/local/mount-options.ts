/** The options of a bind mount, which mount(8) applies with a second mount (upstream mount-utils MakeBindOpts and getBindMountOptions). Pure. */
import type { MountInfo } from '../../../shared/linux/mountinfo.ts';

/** Flags of a mount, as the mount table names them. A remount loses the flags that it does not repeat. */
const flags: ReadonlySet<string> = new Set(['ro', 'nodev', 'noexec', 'nosuid', 'noatime', 'relatime', 'nodiratime']);

/** Returns the options of the second mount, or null when none is needed. */
export function bindRemountOptions(options: readonly string[], mounted: Pick<MountInfo, 'options'>): string[] | null {
  const own = options.filter((option) => option !== 'bind' && option !== 'remount');
  if (own.length === 0) return null;
  return ['bind', 'remount', ...own, ...mounted.options.filter((option) => flags.has(option) && !own.includes(option))];
}

/** Returns whether the flags among the options are in force. */
export function hasFlags(options: readonly string[], mounted: Pick<MountInfo, 'options'>): boolean {
  return options.every((option) => !flags.has(option) || mounted.options.includes(option));
}
