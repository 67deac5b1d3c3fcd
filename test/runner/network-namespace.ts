/**
 * A network namespace for a lane of end-to-end tests, which isolates the lane's ports, bridges and firewall rules. Like an ordinary host it has
 * loopback, an `eth0` with an address of each family, and default routes. It has no connection to the outside.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';

const folder = '/run/netns';
const prefix = 'kubelet-test-';

export class NetworkNamespace {
  readonly name: string;

  private constructor(name: string) {
    this.name = name;
  }

  /** Needs root. Throws when `ip` fails. */
  static create(lane: number): NetworkNamespace {
    const namespace = new NetworkNamespace(`${prefix}${process.pid}-${lane}`);
    ip('netns', 'add', namespace.name);
    try {
      namespace.#addHostNetwork();
    } catch (err) {
      namespace.delete();
      throw err;
    }
    return namespace;
  }

  /** Returns a command that runs the given command inside. Keeps the host's mount namespace, and so /sys and its cgroups. */
  wrap(command: string, args: readonly string[]): [string, string[]] {
    return ['nsenter', [`--net=${folder}/${this.name}`, '--', command, ...args]];
  }

  /** Idempotent. Processes inside keep the namespace alive until they end. */
  delete(): void {
    if (existsSync(`${folder}/${this.name}`)) ip('netns', 'delete', this.name);
  }

  #addHostNetwork(): void {
    const inside = (...args: string[]) => ip('-n', this.name, ...args);
    inside('link', 'set', 'lo', 'up');
    inside('link', 'add', 'eth0', 'type', 'veth', 'peer', 'name', 'uplink');
    for (const device of ['uplink', 'eth0']) inside('link', 'set', device, 'up');
    inside('address', 'add', '192.168.77.2/24', 'dev', 'eth0');
    // Without duplicate address detection the address is usable immediately.
    inside('address', 'add', 'fd00:77::2/64', 'dev', 'eth0', 'nodad');
    inside('route', 'add', 'default', 'dev', 'eth0');
    inside('-6', 'route', 'add', 'default', 'dev', 'eth0');
    // The default routes make eth0 the host's main interface. These routes make connections to the outside fail immediately.
    for (const half of ['0.0.0.0/1', '128.0.0.0/1']) inside('route', 'add', 'unreachable', half);
    for (const half of ['::/1', '8000::/1']) inside('-6', 'route', 'add', 'unreachable', half);
  }
}

/** Deletes the namespaces of runs that were killed. */
export function deleteStaleNamespaces(): void {
  const names = existsSync(folder) ? readdirSync(folder) : [];
  for (const name of names) {
    const [, pid] = new RegExp(`^${prefix}(\\d+)-\\d+$`).exec(name) ?? [];
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) ip('netns', 'delete', name);
  }
}

function ip(...args: string[]): void {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'inherit'] });
}
