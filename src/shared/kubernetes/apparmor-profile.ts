/** Selects the AppArmor profile of a container, for admission and pod syncs (upstream pkg/security/apparmor helpers.go). */
import type { Container, EphemeralContainer, Pod } from './api.ts';

/** The prefix of the deprecated annotation, which the container's name follows. */
export const appArmorAnnotation = 'container.apparmor.security.beta.kubernetes.io/';
/** The prefix of a node-local profile in the annotation. */
export const localhostPrefix = 'localhost/';

export interface AppArmorProfile {
  readonly type: string;
  readonly localhostProfile?: string;
}

/**
 * Returns undefined when nothing names a profile. The annotation comes before the pod's field, since static pods may have annotations without
 * the fields that the API server would make of them.
 */
export function appArmorProfileOf(
  pod: Pod,
  { name, securityContext }: Pick<Container | EphemeralContainer, 'name' | 'securityContext'>,
): AppArmorProfile | undefined {
  return (
    securityContext?.appArmorProfile ??
    fromAnnotation(pod.metadata.annotations?.[appArmorAnnotation + name]) ??
    pod.spec.securityContext?.appArmorProfile
  );
}

function fromAnnotation(value: string | undefined): AppArmorProfile | undefined {
  if (value === 'runtime/default') return { type: 'RuntimeDefault' };
  if (value === 'unconfined') return { type: 'Unconfined' };
  return value?.startsWith(localhostPrefix) ? { type: 'Localhost', localhostProfile: value.slice(localhostPrefix.length) } : undefined;
}
