/** Selects the seccomp and AppArmor profiles of a container (upstream kuberuntime/helpers.go and pkg/security/apparmor). */
import { join } from 'node:path';
import type { PodSyncSettings } from '../../../../shared/contracts/pod-sync/worker-data.ts';
import { type SecurityProfile, SecurityProfile_ProfileType as ProfileType } from '../../../../shared/cri/generated/cri-v1.ts';
import type { Container, EphemeralContainer, Pod } from '../../../../shared/kubernetes/api.ts';
import { appArmorProfileOf, localhostPrefix } from '../../../../shared/kubernetes/apparmor-profile.ts';
import { goQuote } from '../../../../shared/kubernetes/go-text.ts';

const runtimeDefault: SecurityProfile = { profileType: ProfileType.RuntimeDefault, localhostRef: '' };
const unconfined: SecurityProfile = { profileType: ProfileType.Unconfined, localhostRef: '' };

type Confined = Pick<Container | EphemeralContainer, 'name' | 'securityContext'>;

/** Uses the container's profile, else the pod's, else the node's default. Throws an Error for a Localhost profile without a valid path. */
export function seccompProfile(
  pod: Pod,
  { securityContext }: Confined,
  settings: Pick<PodSyncSettings, 'seccompDefault' | 'seccompProfileRoot'>,
): SecurityProfile {
  const profile = securityContext?.seccompProfile ?? pod.spec.securityContext?.seccompProfile;
  switch (profile?.type) {
    case undefined:
      return settings.seccompDefault ? runtimeDefault : unconfined;
    case 'RuntimeDefault':
      return runtimeDefault;
    case 'Localhost':
      if (!profile.localhostProfile) throw new Error('localhostProfile must be set if seccompProfile type is Localhost.');
      return { profileType: ProfileType.Localhost, localhostRef: pathBelow(settings.seccompProfileRoot, profile.localhostProfile) };
    default:
      return unconfined;
  }
}

/** Checks the path again, although the API server refuses `..`: the runtime would read any file of the host as a profile. */
function pathBelow(folder: string, path: string): string {
  if (path.split('/').includes('..')) throw new Error(`invalid localhostProfile ${goQuote(path)}: must not contain '..'`);
  return join(folder, path);
}

export interface AppArmor {
  readonly apparmor: SecurityProfile;
  /** The same profile in the deprecated field that older runtimes read. */
  readonly apparmorProfile: string;
}

/** Returns undefined when neither the fields nor the deprecated annotation, which static pods may have, name a profile. */
export function appArmorProfile(pod: Pod, container: Confined): AppArmor | undefined {
  const profile = appArmorProfileOf(pod, container);
  switch (profile?.type) {
    case undefined:
      return undefined;
    case 'RuntimeDefault':
      return { apparmor: runtimeDefault, apparmorProfile: 'runtime/default' };
    case 'Unconfined':
      return { apparmor: unconfined, apparmorProfile: 'unconfined' };
    case 'Localhost':
      if (profile.localhostProfile === undefined) throw new Error('missing localhost apparmor profile name');
      return {
        apparmor: { profileType: ProfileType.Localhost, localhostRef: profile.localhostProfile },
        apparmorProfile: localhostPrefix + profile.localhostProfile,
      };
    default:
      throw new Error(`unknown apparmor profile type: ${goQuote(profile?.type ?? '')}`);
  }
}
