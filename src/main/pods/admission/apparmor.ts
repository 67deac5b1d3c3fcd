/** Refuses pods that ask for an AppArmor profile where the kernel has no AppArmor (upstream: pkg/security/apparmor). */
import { existsSync, readFileSync } from 'node:fs';
import type { Pod } from '../../../shared/kubernetes/api.ts';
import type { AdmitHandler } from './admit-handler.ts';

const annotationPrefix = 'container.apparmor.security.beta.kubernetes.io/';

/** @param isEnabled of the host: asked once */
export function apparmorAdmission(isEnabled: boolean): AdmitHandler {
  return (pod) => {
    // One that runs since before is not asked again.
    if (isEnabled || (pod.status?.phase ?? 'Pending') !== 'Pending' || !asksForProfile(pod)) return null;
    return { rejection: { reason: 'AppArmor', message: 'Cannot enforce AppArmor: AppArmor is not enabled on the host' } };
  };
}

function asksForProfile({ metadata, spec }: Pod): boolean {
  const containers = [...spec.containers, ...(spec.initContainers ?? []), ...(spec.ephemeralContainers ?? [])];
  const profiles = [spec.securityContext, ...containers.map(({ securityContext }) => securityContext)].map(
    (one) => one?.appArmorProfile?.type,
  );
  const annotated = Object.entries(metadata.annotations ?? {})
    .filter(([key]) => key.startsWith(annotationPrefix))
    .map(([, profile]) => (profile === 'unconfined' ? 'Unconfined' : profile));
  return [...profiles, ...annotated].some((profile) => profile && profile !== 'Unconfined');
}

/** Upstream asks the kernel module whether it is on. */
export function hostHasAppArmor(): boolean {
  const file = '/sys/module/apparmor/parameters/enabled';
  return existsSync('/sys/kernel/security/apparmor') && existsSync(file) && readFileSync(file, 'utf8').startsWith('Y');
}
