/**
 * The smallest cluster for a guest's node: an API server in the guest without etcd and validation (serve-small-cluster.ts), which is controlled and observed through
 * files. It needs no command in the guest once it runs, so that a test can go on while the guest can start no process. For pods that may be evicted:
 * static pods never are.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Guest } from '../../../lab/guest/guest.ts';
import type { Pod, PodStatus } from '../../../src/shared/kubernetes/api.ts';
import { guestAddress } from './guest-cable.ts';

/** The node at one time. */
export interface NodeState {
  /** RFC 3339. */
  readonly at: string;
  /** The answer of /healthz, or why there was none. */
  readonly health: string;
  /** The processes and threads of the guest. */
  readonly tasks: number;
  /** As the API server has them, by name. */
  readonly pods: Readonly<Record<string, PodStatus>>;
}

const project = join(import.meta.dirname, '../../..');
const readPeriodMs = 500;

export class SmallCluster {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** For GuestNodeOptions.prepare. */
  static async start(guest: Guest): Promise<{ readonly cluster: SmallCluster; readonly flags: readonly string[] }> {
    const folder = join(guest.folder, 'exchange/cluster');
    mkdirSync(join(folder, 'pods'), { recursive: true });
    const serve = `${project}/node_modules/.bin/node ${project}/test/support/guest/serve-small-cluster.ts /run/exchange/cluster /srv`;
    await guest.check(`
      ${serve} > /run/serve-small-cluster.log 2>&1 &
      until [ -e /srv/kubeconfig ]; do sleep 0.1; done`);
    return { cluster: new SmallCluster(folder), flags: ['--kubeconfig=/srv/kubeconfig', `--node-ip=${guestAddress}`] };
  }

  /** Creates the pod on the guest's node. */
  create(pod: object): void {
    this.#put('create', (pod as Pod).metadata.name, pod);
  }

  /** Deletes the pod gracefully. */
  delete(name: string): void {
    this.#put('delete', name, {});
  }

  /** Waits for a state that fulfils the condition. Returns the states from now to that one. */
  async until(what: string, condition: (state: NodeState) => boolean, timeoutMs: number): Promise<readonly NodeState[]> {
    const deadlineMs = performance.now() + timeoutMs;
    const past = this.#states().length;
    for (;;) {
      const states = this.#states().slice(past);
      const found = states.findIndex(condition);
      if (found >= 0) return states.slice(0, found + 1);
      if (performance.now() > deadlineMs) throw new Error(`${what}: not within ${timeoutMs} ms; the last states:\n${describe(states)}`);
      await sleep(readPeriodMs);
    }
  }

  #put(command: 'create' | 'delete', name: string, content: object): void {
    const path = join(this.#folder, `${command} ${name}`);
    writeFileSync(path, JSON.stringify(content));
    renameSync(path, join(this.#folder, 'pods', `${command} ${name}`));
  }

  #states(): readonly NodeState[] {
    const file = join(this.#folder, 'states');
    // The last line may be half written.
    const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : [];
    return lines.map((line) => JSON.parse(line) as NodeState);
  }
}

function describe(states: readonly NodeState[]): string {
  const short = states.slice(-20).map(({ at, health, tasks, pods }) => {
    const others = Object.entries(pods).filter(([, { phase }]) => phase !== 'Running');
    return JSON.stringify({ at, health, tasks, pods: Object.keys(pods).length, others }).slice(0, 2000);
  });
  return short.join('\n');
}
