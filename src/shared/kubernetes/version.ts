/**
 * The version of Kubernetes that this kubelet is compatible with. Only this file states it: after a change, `npm run upstream` generates everything that
 * comes from that version's modules (docs/following-upstream.md).
 */
export const kubernetesVersion = 'v1.37.2';

/** `1.37` */
export const kubernetesMinor = minorOf(kubernetesVersion);

/** The minor release before: `1.36`. */
export const previousMinor = previousOf(kubernetesMinor);

/** @param version `v1.37.2` */
export function minorOf(version: string): string {
  const [major = '', minor = ''] = version.slice(1).split('.');
  return `${major}.${minor}`;
}

function previousOf(release: string): string {
  const [major = '', minor = ''] = release.split('.');
  return `${major}.${Number(minor) - 1}`;
}
