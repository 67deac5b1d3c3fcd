/**
 * Upstream's node suite, `test/e2e_node`, in a guest with systemd and cgroup v2: ginkgo and the suite run there. The suite starts etcd, an API server and the
 * kubelet itself, and restarts the kubelet as a unit.
 */
import { cpSync, existsSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { kubeletPath } from '../../lab/kubelet/kubelet-program.ts';
import { configurationType } from '../../lab/kubelet/node-configuration.ts';
import { GuestNode } from '../support/guest/guest-node.ts';
import type { ConformanceBinaries } from './binaries.ts';
import type { GinkgoSuite } from './ginkgo.ts';
import type { TestList } from './lists.ts';
import { baseConfiguration } from './node-suite/node-suite.ts';
import { buildTestImages, containerdVersion } from './test-runtime.ts';

const nodeName = 'guest-suite';
const work = '/srv/suite';
/** The guest writes into its folder of commands. */
const reportsInGuest = '/run/exchange/reports';
/** The suite's own time-out ends first. */
const runTimeoutMs = 4 * 3_600_000;
/** The one image that these tests use. Those of MemoryQoS spell out an older version than all others. */
const busybox = 'e2e-test-images/busybox';
const busyboxVersions = ['1.37.0-2', '1.36.1-1'];

export interface GuestSuiteOptions extends Pick<TestList, 'featureGates' | 'criProxy'> {
  /** For what is built. */
  readonly folder: string;
  readonly reports: string;
  /** Default: that of this project. */
  readonly kubelet?: string;
}

export class GuestSuite {
  readonly #options: GuestSuiteOptions;
  #node: GuestNode | undefined;

  constructor(options: GuestSuiteOptions) {
    this.#options = options;
  }

  get kubeletLog(): string {
    return join(this.#options.reports, 'kubelet.log');
  }

  async start(binaries: ConformanceBinaries, _: string, progress: (what: string) => void): Promise<GinkgoSuite> {
    const { folder, kubelet = kubeletPath } = this.#options;
    const archives = buildTestImages(folder, binaries);
    progress('booting a guest, with containerd and the images of the tests');
    const share = [dirname(binaries.ginkgo), ...(kubelet === kubeletPath ? [] : [dirname(kubelet)])];
    const { guest } = (this.#node = await GuestNode.boot({ containerd: containerdVersion, memory: '5G', share }));
    const archive = archives.get(`${busybox}:${busyboxVersions[0]}`);
    await guest.check(`ctr -n k8s.io images import --base-name registry.k8s.io/${busybox} ${archive}`);
    for (const version of busyboxVersions) {
      await guest.check(`ctr -n k8s.io images tag --force registry.k8s.io/${busybox}:1 registry.k8s.io/${busybox}:${version}`);
    }
    await guest.copyIn(join(import.meta.dirname, 'node-suite/host-tools/sudo'), '/usr/local/bin/sudo');
    await guest.write(
      `${work}/base-configuration.yaml`,
      JSON.stringify({ ...configurationType, ...baseConfiguration, cgroupDriver: 'systemd' }),
    );
    // ginkgo starts the program in its folder, where it looks for `kubelet`. The Go kubelet exits without a clock of the CPU.
    await guest.check(
      `cp ${binaries['e2e_node.test']} ${work}/e2e_node.test && ln -s ${kubelet} ${work}/kubelet && mkdir -p ${reportsInGuest} &&
       sed 's/^bogomips/cpu MHz : 2000.000\\nbogomips/' /proc/cpuinfo > /run/cpuinfo && mount --bind /run/cpuinfo /proc/cpuinfo`,
    );
    return {
      program: `${work}/e2e_node.test`,
      flags: this.#flags(),
      env: {},
      reports: reportsInGuest,
      execute: (words, stop) => this.#execute(words, stop),
    };
  }

  destroy(): Promise<void> {
    return this.#node?.destroy() ?? Promise.resolve();
  }

  #flags(): readonly string[] {
    const { featureGates = [], criProxy = false } = this.#options;
    const gates = featureGates.map((gate) => `${gate}=true`).join();
    return [
      `--node-name=${nodeName}`,
      '--container-runtime-endpoint=unix:///run/containerd/containerd.sock',
      `--kubelet-config-file=${work}/base-configuration.yaml`,
      // The guest has the images of its tests only.
      '--prepull-images=false',
      // A guest computes several times slower than its host.
      '--server-start-timeout=10m',
      `--report-dir=${reportsInGuest}`,
      ...(gates === '' ? [] : [`--feature-gates=${gates}`, `--service-feature-gates=${gates}`]),
      ...(criProxy ? ['--cri-proxy-enabled=true'] : []),
    ];
  }

  async #execute(words: readonly string[], stop: AbortSignal): Promise<void> {
    const node = this.#node;
    if (node === undefined) throw new Error('the guest has not been booted');
    const interrupt = () => void node.destroy();
    stop.addEventListener('abort', interrupt, { once: true });
    if (stop.aborted) interrupt();
    const command = words.map((word) => `'${word.replaceAll("'", String.raw`'\''`)}'`).join(' ');
    try {
      await node.guest.run(`cd ${work} && ${command} > ${reportsInGuest}/suite.log 2>&1`, { timeoutMs: runTimeoutMs });
    } finally {
      stop.removeEventListener('abort', interrupt);
      const written = join(node.guest.folder, 'exchange/reports');
      if (existsSync(written)) {
        mkdirSync(this.#options.reports, { recursive: true });
        cpSync(written, this.#options.reports, { recursive: true });
      }
    }
  }
}
