/** Rejects pods with an AppArmor profile when the kernel does not enable AppArmor (upstream: pkg/security/apparmor). */
import { existsSync, readFileSync } from 'node:fs';
import type { Pod } from '../../../shared/kubernetes/api.ts';
import type { AdmitHandler } from './admit-handler.ts';

const annotationPrefix = 'container.apparmor.security.beta.kubernetes.io/';

/** @param isEnabled whether the host enables AppArmor */
export function apparmorAdmission(isEnabled: boolean): AdmitHandler {
  return (pod) => {
    // As upstream, a pod that was started before is not rejected.
    if (isEnabled || (pod.status?.phase ?? 'Pending') !== 'Pending' || !hasProfile(pod)) return null;
    return { rejection: { reason: 'AppArmor', message: 'Cannot enforce AppArmor: AppArmor is not enabled on the host' } };
  };
}

function hasProfile({ metadata, spec }: Pod): boolean {
  const containers = [...spec.containers, ...(spec.initContainers ?? []), ...(spec.ephemeralContainers ?? [])];
  const profiles = [spec.securityContext, ...containers.map(({ securityContext }) => securityContext)].map(
    (context) => context?.appArmorProfile?.type,
  );
  const annotated = Object.entries(metadata.annotations ?? {})
    .filter(([key]) => key.startsWith(annotationPrefix))
    .map(([, profile]) => (profile === 'unconfined' ? 'Unconfined' : profile));
  return [...profiles, ...annotated].some((profile) => profile && profile !== 'Unconfined');
}

/** Reads the kernel module's parameter, as upstream. */
export function hostHasAppArmor(): boolean {
  const file = '/sys/module/apparmor/parameters/enabled';
  return existsSync('/sys/kernel/security/apparmor') && existsSync(file) && readFileSync(file, 'utf8').startsWith('Y');
}
