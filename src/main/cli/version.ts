/** Which Kubernetes this kubelet is, as `--version` says it (upstream: component-base/version). */
export const kubernetesVersion = 'v1.36.3';

/** The answer to `--version`. */
export const versionText = `Kubernetes ${kubernetesVersion}\n`;

/** The answer to `--version=raw`: in the form of upstream, with nothing where this build has nothing to say. */
export function rawVersion(): string {
  const [major = '', minor = ''] = kubernetesVersion.slice(1).split('.');
  const platform = `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`;
  return `version.Info{Major:"${major}", Minor:"${minor}", GitVersion:"${kubernetesVersion}", RuntimeVersion:"node ${process.version}", Platform:"${platform}"}`;
}
