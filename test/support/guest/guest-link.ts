/** A network of two guests, in a namespace of its own on the host, without a connection to anything else. The host has an address in it. */
import { execFile, execFileSync } from 'node:child_process';
import { promisify } from 'node:util';
import { existsSync } from 'node:fs';
import type { GuestNetwork } from '../../../lab/guest/guest.ts';

const run = promisify(execFile);

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

  /**
   * Needs root.
   * @param address of the host, in a network of 24 bits
   */
  static create(address: string): GuestLink {
    // The end-to-end tests delete namespaces of such names when their owner has been killed.
    const link = new GuestLink(`kubelet-test-${process.pid}-0`);
    ip('netns', 'add', link.#namespace);
    const inside = (...args: string[]) => ip('-n', link.#namespace, ...args);
    inside('link', 'add', 'bridge', 'type', 'bridge');
    for (const end of ['left', 'right']) {
      inside('link', 'add', end, 'type', 'veth', 'peer', 'name', `${end}-port`);
      inside('link', 'set', `${end}-port`, 'master', 'bridge');
      for (const device of [end, `${end}-port`]) inside('link', 'set', device, 'up');
    }
    inside('address', 'add', `${address}/24`, 'dev', 'bridge');
    inside('link', 'set', 'bridge', 'up');
    return link;
  }

  /** Runs a shell command on the host in this network: five times as fast as in a guest. Returns its stdout. Rejects with its stderr. */
  async check(command: string, { env, timeoutMs }: { readonly env: NodeJS.ProcessEnv; readonly timeoutMs: number }): Promise<string> {
    const args = [`--net=/run/netns/${this.#namespace}`, 'sh', '-c', command];
    const { stdout } = await run('nsenter', args, { env: { ...process.env, ...env }, timeout: timeoutMs });
    return stdout.trimEnd();
  }

  /** Idempotent. */
  delete(): void {
    if (existsSync(`/run/netns/${this.#namespace}`)) ip('netns', 'delete', this.#namespace);
  }
}

function ip(...args: string[]): void {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'inherit'] });
}
