/** The administrator of a cluster that kubeadm has made in guests: kubectl and kubeadm, with waits that a busy host needs. */
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { GuestLink } from './guest-link.ts';
import type { GuestNode } from './guest-node.ts';
import type { KubeadmPrograms } from './kubeadm-node.ts';

export const minutes = (count: number) => ({ timeoutMs: count * 60_000 });
const maxAttempts = 5;

export interface KubeadmAdminOptions {
  readonly link: GuestLink;
  readonly programs: KubeadmPrograms;
  /** Has the kubeconfig `admin.conf`, and gets kubectl's cache. */
  readonly folder: string;
}

export class KubeadmAdmin {
  readonly #options: KubeadmAdminOptions;

  constructor(options: KubeadmAdminOptions) {
    this.#options = options;
  }

  get kubeconfig(): string {
    return `${this.#options.folder}/admin.conf`;
  }

  /** Runs a command on the test's host. Returns what it prints. */
  run(command: string): Promise<string> {
    const { link, programs, folder } = this.#options;
    const path = [programs.kubectl, programs.kubeadm].map((program) => dirname(program)).join(':');
    return link.check(command, {
      env: { KUBECONFIG: this.kubeconfig, KUBECACHEDIR: folder, PATH: `${path}:${process.env.PATH}` },
      ...minutes(2),
    });
  }

  /** Rejects when the API server is away. */
  tryKubectl(command: string): Promise<string> {
    return this.run(`kubectl ${command}`);
  }

  /** The API server of a busy host refuses some requests. */
  async kubectl(command: string): Promise<string> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.tryKubectl(command);
      } catch (err) {
        if (attempt === maxAttempts) throw err;
        await sleep(attempt * 3000);
      }
    }
  }

  /** Waits until kubectl prints the expected text. The API server may be away meanwhile. */
  async untilPrints(command: string, expected: string, timeoutMs = 300_000): Promise<void> {
    const deadlineMs = performance.now() + timeoutMs;
    for (;;) {
      const last = await this.tryKubectl(command).catch(String);
      if (last === expected) return;
      if (performance.now() > deadlineMs) throw new Error(`kubectl ${command} prints ${last}, not ${expected}`);
      await sleep(1000);
    }
  }

  untilReady(node: string): Promise<void> {
    return this.untilPrints(`get node ${node} -o jsonpath='{.status.conditions[?(@.type=="Ready")].status}'`, 'True');
  }
}

/** Runs kubeadm on a node. Returns what it prints, with its warnings. */
export async function runKubeadm({ guest }: GuestNode, command: string, limit: { readonly timeoutMs: number }): Promise<string> {
  const { code, stdout, stderr } = await guest.run(`kubeadm ${command}`, limit);
  if (code !== 0) {
    const journal = await guest.check('journalctl -q --no-pager -o cat -n 40 -u kubelet');
    throw new Error(`kubeadm ${command}: exit code ${code}\n${stdout}\n${stderr}\n${journal}`);
  }
  return stdout + stderr;
}
