/** A cable between two guests: a pair of interfaces in a network namespace of its own on the host, without a connection to anything else. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { GuestNetwork } from '../../../scripts/host/guest/guest.ts';

export class GuestLink {
  readonly ends: readonly [GuestNetwork, GuestNetwork];
  readonly #namespace: string;

  private constructor(namespace: string) {
    this.#namespace = namespace;
    this.ends = [
      { namespace, interface: 'left' },
      { namespace, interface: 'right' },
    ];
  }

  /** Needs root. */
  static create(): GuestLink {
    // The end-to-end tests delete namespaces of such names when their owner has been killed.
    const link = new GuestLink(`kubelet-test-${process.pid}-0`);
    ip('netns', 'add', link.#namespace);
    ip('-n', link.#namespace, 'link', 'add', 'left', 'type', 'veth', 'peer', 'name', 'right');
    for (const device of ['left', 'right']) ip('-n', link.#namespace, 'link', 'set', device, 'up');
    return link;
  }

  /** Idempotent. */
  delete(): void {
    if (existsSync(`/run/netns/${this.#namespace}`)) ip('netns', 'delete', this.#namespace);
  }
}

function ip(...args: string[]): void {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'inherit'] });
}
