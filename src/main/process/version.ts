/** The answers to `--version` (upstream: component-base/version). */
import { kubernetesVersion } from '../../shared/kubernetes/version.ts';

/** The output of `--version`. */
export const versionText = `Kubernetes ${kubernetesVersion}\n`;

/** The output of `--version=raw` in upstream's form, without the fields that this build does not have. */
export function rawVersion(): string {
  const [major = '', minor = ''] = kubernetesVersion.slice(1).split('.');
  const platform = `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`;
  return `version.Info{Major:"${major}", Minor:"${minor}", GitVersion:"${kubernetesVersion}", RuntimeVersion:"node ${process.version}", Platform:"${platform}"}`;
}
