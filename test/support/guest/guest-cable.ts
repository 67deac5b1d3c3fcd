/**
 * A cable between this process and its guest, in a network namespace of their own without a connection to anything else. What the process starts from then
 * on is in that namespace too, such as a control plane. The namespace ends with them.
 */
import { execFileSync } from 'node:child_process';
import type { Guest, GuestNetwork } from '../../../lab/guest/guest.ts';
import { installGuest } from '../../../lab/guest/install.ts';
import { bindAtFirstUse } from '../../../src/shared/linux/c-library.ts';

export const hostAddress = '192.168.77.1';
export const guestAddress = '192.168.77.2';
/** CLONE_NEWNET of linux/sched.h. */
const newNetworkNamespace = 0x40000000;
const native = bindAtFirstUse(({ func }) => ({ unshare: func<(flags: number) => number>('int unshare(int flags)') }));
let cable: GuestNetwork | undefined;

/** Needs root. Moves the main thread, which opens all sockets and starts all child processes. Idempotent: a process has one cable. */
export function layCable(): GuestNetwork {
  if (cable !== undefined) return cable;
  // Downloads are not possible any more then.
  installGuest();
  const { unshare, errno } = native();
  if (unshare(newNetworkNamespace) !== 0) throw new Error(`no network namespace: errno ${errno()}`);
  ip('link', 'set', 'lo', 'up');
  ip('link', 'add', 'host', 'type', 'veth', 'peer', 'name', 'guest');
  for (const device of ['host', 'guest']) ip('link', 'set', device, 'up');
  ip('address', 'add', `${hostAddress}/24`, 'dev', 'host');
  return (cable = { interface: 'guest' });
}

/** Connects the guest's end. Its default route makes it the interface of the node. */
export async function connectCable(guest: Guest): Promise<void> {
  await guest.check(
    `ip link set vec0 name eth0 && ip addr add ${guestAddress}/24 dev eth0 && ip link set eth0 up && ip route add default via ${hostAddress}`,
  );
}

function ip(...args: string[]): void {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'inherit'] });
}
