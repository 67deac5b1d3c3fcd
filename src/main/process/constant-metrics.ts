/** The metrics that never change: the kubelet's version, the node's name, the feature gates, the credential providers, the cgroup version. */
import { credentialProviderConfigInfo } from '../../shared/metrics/definitions/images.ts';
import { buildInfo, cgroupVersion, featureEnabled, nodeName } from '../../shared/metrics/definitions/kubernetes.ts';
import { restartedPods } from '../../shared/metrics/definitions/pods.ts';
import type { FeatureGates } from '../config/feature-gates.ts';
import { kubernetesVersion } from '../../shared/kubernetes/version.ts';

export interface ConstantMetrics {
  readonly nodeName: string;
  readonly featureGates: FeatureGates;
  /** Null: no credential provider is configured. */
  readonly credentialProviderHash: string | null;
}

/** Must be called after main's metrics segment is bound. Go's build labels are empty; `go_version` and `compiler` name Node.js. */
export function setConstantMetrics(facts: ConstantMetrics): void {
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
  if (facts.credentialProviderHash !== null) credentialProviderConfigInfo.set(1, { hash: facts.credentialProviderHash });
  nodeName.set(1, { node: facts.nodeName });
  // As upstream, both series are shown from the start.
  for (const isStatic of ['', 'true']) restartedPods.inc({ static: isStatic }, 0);
  for (const { name, stage, enabled } of facts.featureGates.all()) {
    featureEnabled.set(enabled ? 1 : 0, { name, stage: stage === 'GA' ? '' : stage.toUpperCase() });
  }
}

export function setCgroupVersionMetric(version: 1 | 2): void {
  cgroupVersion.set(version);
}
