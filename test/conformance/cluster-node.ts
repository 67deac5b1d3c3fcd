/** A one-node cluster for the tests of `test/e2e`: control plane, containerd with the images of the tests, and `bin/kubelet`. */
import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { stringify } from 'yaml';
import { removeCgroup } from '../../lab/host/cgroups.ts';
import { clusterMember } from '../../lab/control-plane/control-plane-member.ts';
import { ControlPlane } from '../../lab/control-plane/control-plane.ts';
import { removeLogLinks } from '../../lab/host/log-links.ts';
import { removeFolder } from '../../lab/containerd/private-containerd.ts';
import { startDaemon, stopDaemon, type Daemon } from '../../lab/host/daemon.ts';
import type { ConformanceBinaries } from './binaries.ts';
import type { GinkgoSuite } from './ginkgo.ts';
import type { TestList } from './lists.ts';
import { TestRuntime } from './test-runtime.ts';

const project = join(import.meta.dirname, '../..');
const nodeName = 'conformance';
const readyDeadlineMs = 60_000;

interface Node {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message?: string }[] };
}

export class ClusterNode {
  readonly folder: string = mkdtempSync('/tmp/kc-');
  readonly #featureGates: readonly string[];
  readonly #cgroupRoot = `/${this.folder.slice('/tmp/'.length)}`;
  readonly #podLogs = join(this.folder, 'pod-logs');
  readonly #kubelet: Daemon = { pidFile: join(this.folder, 'kubelet.pid'), commandLineMark: join(this.folder, 'kubelet.yaml') };
  #controlPlane: ControlPlane | undefined;
  #runtime: TestRuntime | undefined;

  constructor({ featureGates = [] }: Pick<TestList, 'featureGates'>) {
    this.#featureGates = featureGates;
  }

  get kubeletLog(): string {
    return join(this.folder, 'kubelet.log');
  }

  /** Returns when the node is Ready. */
  async start(binaries: ConformanceBinaries, reports: string, progress: (what: string) => void): Promise<GinkgoSuite> {
    // The root of a user namespace must reach its container's root file system.
    chmodSync(this.folder, 0o711);
    for (const path of [join(this.folder, 'manifests'), this.#podLogs]) mkdirSync(path, { mode: 0o755 });
    progress('starting the control plane, and containerd with the images of the tests');
    const gates = this.#featureGates.map((gate) => `${gate}=true`).join();
    const gateFlags = gates === '' ? [] : [`--feature-gates=${gates}`];
    const folder = join(this.folder, 'control-plane');
    const [controlPlane, runtime] = await Promise.all([
      ControlPlane.start({ folder, progress, apiServerFlags: gateFlags, schedulerFlags: gateFlags }).then(
        (started) => (this.#controlPlane = started),
      ),
      TestRuntime.start(this.folder, binaries).then((started) => (this.#runtime = started)),
    ]);
    progress('starting the kubelet');
    writeFileSync(this.#kubelet.commandLineMark, this.#configuration(controlPlane, runtime.endpoint));
    const member = clusterMember(controlPlane, nodeName, 10250);
    const rootFolder = join(this.folder, 'kubelet');
    const args = ['--config', this.#kubelet.commandLineMark, '--kubeconfig', member.kubeconfig, '--root-dir', rootFolder];
    startDaemon(this.#kubelet, join(project, 'bin/kubelet'), [...args, '--hostname-override', nodeName, '-v=4'], this.kubeletLog);
    await this.#untilReady(controlPlane);
    const { adminKubeconfig, kubectl } = controlPlane;
    const flags = [`--kubeconfig=${adminKubeconfig}`, `--kubectl-path=${kubectl}`, `--kubelet-root-dir=${rootFolder}`];
    const dumps = [`--report-dir=${reports}`, '--disable-log-dump'];
    return {
      program: binaries['e2e.test'],
      flags: [...flags, '--provider=skeleton', '--num-nodes=1', ...dumps],
      env: { KUBECONFIG: adminKubeconfig },
    };
  }

  async destroy(): Promise<void> {
    await stopDaemon(this.#kubelet);
    await Promise.all([this.#controlPlane?.stop(), this.#runtime?.destroy()]);
    for (let attempt = 0; attempt < 100 && !removeCgroup(this.#cgroupRoot); attempt += 1) await sleep(50);
    removeLogLinks(this.#podLogs);
    removeFolder(this.folder);
  }

  #configuration(controlPlane: ControlPlane, endpoint: string): string {
    return stringify({
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      ...clusterMember(controlPlane, nodeName, 10250).configuration,
      containerRuntimeEndpoint: endpoint,
      staticPodPath: join(this.folder, 'manifests'),
      podLogsDir: this.#podLogs,
      cgroupDriver: 'cgroupfs',
      cgroupRoot: this.#cgroupRoot,
      failCgroupV1: false,
      // The chains would stay in the host's packet filter.
      makeIPTablesUtilChains: false,
      featureGates: Object.fromEntries(this.#featureGates.map((gate) => [gate, true])),
      failSwapOn: false,
      // A full disk of the host must not remove images between tests.
      imageGCHighThresholdPercent: 100,
    });
  }

  async #untilReady(controlPlane: ControlPlane): Promise<void> {
    const api = controlPlane.client();
    const endMs = performance.now() + readyDeadlineMs;
    try {
      for (;;) {
        const node = await api.find<Node>(`/api/v1/nodes/${nodeName}`);
        const ready = node?.status?.conditions?.find(({ type }) => type === 'Ready');
        if (ready?.status === 'True') return;
        if (performance.now() > endMs)
          throw new Error(`the node is not Ready (${ready?.message}); the kubelet's log is ${this.kubeletLog}`);
        await sleep(200);
      }
    } finally {
      await api.close();
    }
  }
}
