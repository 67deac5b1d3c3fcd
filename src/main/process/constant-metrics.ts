/** What the kubelet's metrics say of itself and never change: its version, its node's name, its feature gates, the host's cgroups. */
import { buildInfo, cgroupVersion, featureEnabled, nodeName } from '../../shared/metrics/definitions/kubernetes.ts';
import type { FeatureGates } from '../config/feature-gates.ts';
import { kubernetesVersion } from '../cli/version.ts';

export interface ConstantFacts {
  readonly nodeName: string;
  readonly featureGates: FeatureGates;
}

/** Once main counts in its segment. Labels of the build that mean nothing here are empty; `go_version` and `compiler` name Node. */
export function countConstants(facts: ConstantFacts): void {
  const [major = '', minor = ''] = kubernetesVersion.slice(1).split('.');
  const arch = process.arch === 'x64' ? 'amd64' : process.arch;
  buildInfo.set(1, {
    major,
    minor,
    git_version: kubernetesVersion,
    git_commit: '',
    git_tree_state: '',
    build_date: '',
    go_version: `node ${process.version}`,
    compiler: 'v8',
    platform: `${process.platform}/${arch}`,
  });
  nodeName.set(1, { node: facts.nodeName });
  for (const { name, stage, enabled } of facts.featureGates.all()) {
    featureEnabled.set(enabled ? 1 : 0, { name, stage: stage === 'GA' ? '' : stage.toUpperCase() });
  }
}

export function countCgroupVersion(version: 1 | 2): void {
  cgroupVersion.set(version);
}
