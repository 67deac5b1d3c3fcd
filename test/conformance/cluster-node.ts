/** A one-node cluster for the tests of `test/e2e`: control plane, containerd with the images of the tests, and `bin/kubelet`. */
import { chmodSync, mkdirSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { clusterMember, type ClusterMember } from '../../lab/control-plane/control-plane-member.ts';
import { ControlPlane } from '../../lab/control-plane/control-plane.ts';
import { removeFolder } from '../../lab/host/remove-folder.ts';
import { DetachedKubelet } from '../../lab/kubelet/detached-kubelet.ts';
import { nodeConfiguration, noImageRemovals } from '../../lab/kubelet/node-configuration.ts';
import { waitUntilNodeReady } from '../../lab/kubelet/node-ready.ts';
import type { ConformanceBinaries } from './binaries.ts';
import type { GinkgoSuite } from './ginkgo.ts';
import type { TestList } from './lists.ts';
import { TestRuntime } from './test-runtime.ts';

const nodeName = 'conformance';

export class ClusterNode {
  readonly folder: string = mkdtempSync('/tmp/kc-');
  readonly #featureGates: readonly string[];
  readonly #manifests = join(this.folder, 'manifests');
  readonly #cgroupRoot = `/${this.folder.slice('/tmp/'.length)}`;
  readonly #kubelet = new DetachedKubelet(this.folder);
  #controlPlane: ControlPlane | undefined;
  #runtime: TestRuntime | undefined;

  constructor({ featureGates = [] }: Pick<TestList, 'featureGates'>) {
    this.#featureGates = featureGates;
  }

  get kubeletLog(): string {
    return this.#kubelet.logFile;
  }

  /** Returns when the node is Ready. */
  async start(binaries: ConformanceBinaries, reports: string, progress: (what: string) => void): Promise<GinkgoSuite> {
    // The root of a user namespace must reach its container's root file system.
    chmodSync(this.folder, 0o711);
    for (const path of [this.#manifests, this.#kubelet.podLogs]) mkdirSync(path, { mode: 0o755 });
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
    const member = clusterMember(controlPlane, nodeName, 10250);
    const configuration = this.#configuration(member, runtime.endpoint);
    const { kubeconfig } = member;
    this.#kubelet.start({ nodeName, kubeconfig, configuration, writtenBy: 'npm run test:conformance', flags: ['-v=4'] });
    await this.#untilReady(controlPlane);
    const { adminKubeconfig, kubectl } = controlPlane;
    const flags = [`--kubeconfig=${adminKubeconfig}`, `--kubectl-path=${kubectl}`, `--kubelet-root-dir=${this.#kubelet.rootDir}`];
    const dumps = [`--report-dir=${reports}`, '--disable-log-dump'];
    return {
      program: binaries['e2e.test'],
      flags: [...flags, '--provider=skeleton', '--num-nodes=1', ...dumps],
      env: { KUBECONFIG: adminKubeconfig },
    };
  }

  async destroy(): Promise<void> {
    await this.#kubelet.stop();
    await Promise.all([this.#controlPlane?.stop(), this.#runtime?.destroy()]);
    await this.#kubelet.removeTraces(this.#cgroupRoot);
    removeFolder(this.folder);
  }

  #configuration(member: ClusterMember, runtimeEndpoint: string): object {
    const manifests = this.#manifests;
    return {
      ...nodeConfiguration({ runtimeEndpoint, manifests, podLogs: this.#kubelet.podLogs, cgroupRoot: this.#cgroupRoot }),
      ...member.configuration,
      featureGates: Object.fromEntries(this.#featureGates.map((gate) => [gate, true])),
      ...noImageRemovals,
    };
  }

  async #untilReady(controlPlane: ControlPlane): Promise<void> {
    const api = controlPlane.client();
    try {
      await waitUntilNodeReady(api, nodeName, () => {
        this.#kubelet.assertRunning();
        return null;
      });
    } finally {
      await api.close();
    }
  }
}
