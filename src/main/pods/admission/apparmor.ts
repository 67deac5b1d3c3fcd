/** Rejects pods whose AppArmor profile cannot be enforced (upstream: pkg/security/apparmor). */
import { existsSync, readFileSync } from 'node:fs';
import type { Pod } from '../../../shared/kubernetes/api.ts';
import { goQuote } from '../../../shared/kubernetes/go-text.ts';
import { appArmorProfileOf, appArmorAnnotation, type AppArmorProfile } from '../../../shared/kubernetes/apparmor-profile.ts';
import type { AdmitHandler } from './admit-handler.ts';

/** @param isEnabled whether the host enables AppArmor */
export function apparmorAdmission(isEnabled: boolean): AdmitHandler {
  return (pod) => {
    // As upstream, a pod that was started before is not rejected.
    if ((pod.status?.phase ?? 'Pending') !== 'Pending' || !requiresAppArmor(pod)) return null;
    const problem = isEnabled ? emptyProfile(pod) : 'AppArmor is not enabled on the host';
    return problem === null ? null : { rejection: { reason: 'AppArmor', message: `Cannot enforce AppArmor: ${problem}` } };
  };
}

/** Any profile but Unconfined requires AppArmor. Upstream looks at one annotation of several, whichever comes first. */
function requiresAppArmor({ metadata, spec }: Pod): boolean {
  const fields = [spec.securityContext, ...containersOf(spec).map(({ securityContext }) => securityContext)];
  if (fields.some((context) => context?.appArmorProfile && context.appArmorProfile.type !== 'Unconfined')) return true;
  return Object.entries(metadata.annotations ?? {}).some(([key, value]) => key.startsWith(appArmorAnnotation) && value !== 'unconfined');
}

/** The API accepts profile names of spaces in annotations. Such a container would start with a profile that does not exist. */
function emptyProfile(pod: Pod): string | null {
  for (const container of containersOf(pod.spec)) {
    const profile = appArmorProfileOf(pod, container);
    if (profile?.type === 'Localhost' && !profile.localhostProfile?.trim()) {
      return `invalid empty AppArmor profile name: ${goQuote(goText(profile))}`;
    }
  }
  return null;
}

/** Prints the profile as Go prints it. */
function goText({ type, localhostProfile }: AppArmorProfile): string {
  const name = localhostProfile === undefined ? 'nil' : `*${localhostProfile}`;
  return `&AppArmorProfile{Type:${type},LocalhostProfile:${name},}`;
}

function containersOf({
  initContainers = [],
  containers,
  ephemeralContainers = [],
}: Pod['spec']): readonly Pod['spec']['containers'][number][] {
  return [...initContainers, ...containers, ...ephemeralContainers];
}

/** Reads the kernel module's parameter, as upstream. */
export function hostHasAppArmor(): boolean {
  const file = '/sys/module/apparmor/parameters/enabled';
  return existsSync('/sys/kernel/security/apparmor') && existsSync(file) && readFileSync(file, 'utf8').startsWith('Y');
}
