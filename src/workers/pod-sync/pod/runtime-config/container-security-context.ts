/** Computes the security context of a container: users, capabilities, masked paths (upstream pkg/securitycontext, kuberuntime/security_context.go). */
import {
  type Capability,
  type LinuxContainerSecurityContext,
  type SELinuxOption,
  SupplementalGroupsPolicy,
} from '../../../../shared/cri/generated/cri-v1.ts';
import type { Container, EphemeralContainer, Pod, PodSecurityContext, SecurityContext } from '../../../../shared/kubernetes/api.ts';
import { goQuote } from '../../../../shared/kubernetes/go-text.ts';
import { truncateBytes } from '../../../../shared/timeline/shorten.ts';
import { formatPod } from '../format-pod.ts';
import { namespaceOptions } from './namespaces.ts';
import { appArmorProfile, seccompProfile } from './security-profiles.ts';
import type { ContainerConfigInput, ImageUser } from './config-inputs.ts';

/** The paths in /proc and /sys that reveal or change the host: containerd's and Docker's lists with upstream's additions. */
export const maskedPaths = [
  '/proc/asound',
  '/proc/acpi',
  '/proc/interrupts',
  '/proc/kcore',
  '/proc/keys',
  '/proc/latency_stats',
  '/proc/timer_list',
  '/proc/timer_stats',
  '/proc/sched_debug',
  '/proc/scsi',
  '/sys/firmware',
  '/sys/devices/virtual/powercap',
];
export const readonlyPaths = ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'];
const maxUserID = 2_147_483_647;
/** An image may declare a user of megabytes, which must not fill the pod's status. */
const maxShownUserBytes = 256;

/** Merges the contexts: each field of the container's replaces the pod's. */
export function effectiveSecurityContext(
  pod: Pod,
  { securityContext }: Pick<Container | EphemeralContainer, 'securityContext'>,
): SecurityContext {
  const { seLinuxOptions, runAsUser, runAsGroup, runAsNonRoot } = pod.spec.securityContext ?? {};
  const fromPod = { seLinuxOptions, runAsUser, runAsGroup, runAsNonRoot };
  return Object.fromEntries(Object.entries({ ...fromPod, ...omitUndefined(securityContext) }).filter(([, value]) => value !== undefined));
}

function omitUndefined(context: SecurityContext | undefined): SecurityContext {
  return Object.fromEntries(Object.entries(context ?? {}).filter(([, value]) => value !== undefined && value !== null));
}

/** Throws an Error when the spec has an invalid value. */
export function containerSecurityContext(input: ContainerConfigInput): LinuxContainerSecurityContext {
  const { pod, container, imageUser, hostInfo } = input;
  const effective = effectiveSecurityContext(pod, container);
  const podContext = pod.spec.securityContext;
  const unmasked = effective.procMount === 'Unmasked';
  const armor = appArmorProfile(pod, container);
  return {
    capabilities: capabilities(effective),
    privileged: effective.privileged ?? false,
    namespaceOptions: namespaceOptions(pod, input.userNamespace),
    selinuxOptions: seLinuxOptions(effective.seLinuxOptions),
    ...runAs(effective, imageUser),
    readonlyRootfs: effective.readOnlyRootFilesystem ?? false,
    supplementalGroups: supplementalGroups(podContext),
    supplementalGroupsPolicy: supplementalGroupsPolicy(podContext),
    noNewPrivs: effective.allowPrivilegeEscalation === false,
    maskedPaths: unmasked ? [] : [...maskedPaths, ...hostInfo.thermalThrottlePaths],
    readonlyPaths: unmasked ? [] : readonlyPaths,
    seccomp: seccompProfile(pod, container, input.settings),
    apparmor: armor?.apparmor,
    apparmorProfile: armor?.apparmorProfile ?? '',
    seccompProfilePath: '',
  };
}

type RunAs = Pick<LinuxContainerSecurityContext, 'runAsUser' | 'runAsGroup' | 'runAsUsername'>;

/** Uses the spec's user, else the image's. */
function runAs({ runAsUser, runAsGroup }: SecurityContext, image: ImageUser): RunAs {
  const group = runAsGroup === undefined ? undefined : { value: BigInt(runAsGroup) };
  if (runAsUser !== undefined) return { runAsUser: { value: BigInt(runAsUser) }, runAsGroup: group, runAsUsername: '' };
  const { uid, username } = imageIdentity(image);
  return { runAsUser: uid === undefined ? undefined : { value: uid }, runAsGroup: group, runAsUsername: username };
}

/** The UID wins over the name. Root when the image declares no user. */
function imageIdentity({ uid, username }: ImageUser): { readonly uid: bigint | undefined; readonly username: string } {
  if (uid !== undefined) return { uid: BigInt(uid), username: '' };
  return username ? { uid: undefined, username } : { uid: 0n, username: '' };
}

function capabilities({ capabilities: requested }: SecurityContext): Capability | undefined {
  return (
    requested && { addCapabilities: [...(requested.add ?? [])], dropCapabilities: [...(requested.drop ?? [])], addAmbientCapabilities: [] }
  );
}

export function seLinuxOptions(options: SecurityContext['seLinuxOptions']): SELinuxOption | undefined {
  return options && { user: options.user ?? '', role: options.role ?? '', type: options.type ?? '', level: options.level ?? '' };
}

/** Returns the fsGroup, then the supplementalGroups. */
export function supplementalGroups(context: PodSecurityContext | undefined): bigint[] {
  const groups = [...(context?.fsGroup === undefined ? [] : [context.fsGroup]), ...(context?.supplementalGroups ?? [])];
  return groups.map((group) => BigInt(group));
}

export function supplementalGroupsPolicy(context: PodSecurityContext | undefined): SupplementalGroupsPolicy {
  const policy = context?.supplementalGroupsPolicy ?? 'Merge';
  if (policy === 'Merge') return SupplementalGroupsPolicy.Merge;
  if (policy === 'Strict') return SupplementalGroupsPolicy.Strict;
  throw new Error(`unsupported supplementalGroupsPolicy: ${policy}`);
}

/** Throws an Error when the container must not run as root but would, or when its user cannot be verified. */
export function verifyRunAsNonRoot(pod: Pod, container: Container | EphemeralContainer, image: ImageUser): void {
  const { runAsNonRoot, runAsUser } = effectiveSecurityContext(pod, container);
  if (!runAsNonRoot) return;
  const subject = `(pod: ${goQuote(formatPod(pod.metadata))}, container: ${container.name})`;
  if (runAsUser !== undefined) {
    if (runAsUser === 0) throw new Error(`container's runAsUser breaks non-root policy ${subject}`);
    return;
  }
  const { uid, username } = imageIdentity(image);
  if (uid === undefined) {
    const user = truncateBytes(username, maxShownUserBytes);
    throw new Error(`container has runAsNonRoot and image has non-numeric user (${user}), cannot verify user is non-root ${subject}`);
  }
  if (uid === 0n) throw new Error(`container has runAsNonRoot and image will run as root ${subject}`);
  if (uid < 0n || uid > maxUserID) {
    throw new Error(
      `container has runAsNonRoot and image has an invalid user id (${uid}). (Must be 1-(${maxUserID})): must be between 0 and ${maxUserID}, inclusive ${subject}`,
    );
  }
}
