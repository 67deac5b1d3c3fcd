/**
 * The host of upstream's node suite, `test/e2e_node`, which starts etcd, an API server and the kubelet itself: containerd with the images of the
 * tests, and a working folder. Runs on the private host of private-host.sh.
 */
import { copyFileSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { kubeletPath } from '../../../lab/kubelet/kubelet-program.ts';
import { configurationType, writeConfiguration } from '../../../lab/kubelet/node-configuration.ts';
import type { ConformanceBinaries } from '../binaries.ts';
import type { GinkgoSuite } from '../ginkgo.ts';
import { TestRuntime } from '../test-runtime.ts';

const nodeName = 'node-suite';

export class NodeSuite {
  readonly folder: string;
  readonly kubeletLog: string;
  #runtime: TestRuntime | undefined;

  /** @param folder that the private host was created for */
  constructor(folder: string, reports: string) {
    this.folder = folder;
    this.kubeletLog = join(reports, 'kubelet.log');
  }

  async start(binaries: ConformanceBinaries, reports: string, progress: (what: string) => void): Promise<GinkgoSuite> {
    progress('starting containerd with the images of the tests');
    this.#runtime = await TestRuntime.start(this.folder, binaries);
    // ginkgo starts the program in its folder, where it looks for `kubelet`, and writes the kubelet's configuration.
    const work = join(this.folder, 'suite');
    mkdirSync(work);
    copyFileSync(binaries['e2e_node.test'], join(work, 'e2e_node.test'));
    symlinkSync(kubeletPath, join(work, 'kubelet'));
    const configuration = join(work, 'base-configuration.yaml');
    writeConfiguration(configuration, { ...configurationType, ...baseConfiguration, cgroupDriver: 'cgroupfs' });
    return {
      program: join(work, 'e2e_node.test'),
      flags: [
        `--node-name=${nodeName}`,
        `--container-runtime-endpoint=${this.#runtime.endpoint}`,
        `--container-runtime-pid-file=${this.#runtime.pidFile}`,
        `--kubelet-config-file=${configuration}`,
        // The stand-in registry does not have all of them.
        '--prepull-images=false',
        `--report-dir=${reports}`,
      ],
      env: {},
    };
  }

  async destroy(): Promise<void> {
    await this.#runtime?.destroy();
  }
}

/** As in test/e2e_node/jenkins/default-kubelet-config.yaml without the driver of cgroups, with what test hosts need. The suite adds its own settings. */
export const baseConfiguration = {
  cgroupRoot: '/',
  podCIDR: '10.100.0.0/24',
  volumeStatsAggPeriod: '10s',
  fileCheckFrequency: '10s',
  evictionPressureTransitionPeriod: '30s',
  evictionHard: { 'memory.available': '250Mi', 'nodefs.available': '10%', 'nodefs.inodesFree': '5%' },
  evictionMinimumReclaim: { 'nodefs.available': '5%', 'nodefs.inodesFree': '5%' },
  serializeImagePulls: false,
  failCgroupV1: false,
  failSwapOn: false,
};
