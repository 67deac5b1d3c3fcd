/** Validates the security contexts of a pod and its containers. The limits and patterns are the API's. */
import type { PodSpec, SecurityContext } from '../../../../shared/kubernetes/api.ts';
import { normalizeSysctl } from '../../../../shared/kubernetes/sysctls.ts';
import type { ManifestGates } from '../manifest-gates.ts';
import { checkID, checkSupported } from './checks.ts';
import { duplicate, forbidden, invalid, required } from '../../../../shared/kubernetes/field-error.ts';
import { validateAppArmor, validateSeccomp } from './profiles.ts';
import { eachContainer } from './each-container.ts';
import { validateWindowsOptions } from './windows-options.ts';

/** With `hostUsers` the pod has no user namespace. */
export function validateSecurityContext(context: SecurityContext | undefined, hostUsers: boolean, path: string, errors: string[]): void {
  if (!context) return;
  const { procMount, privileged, allowPrivilegeEscalation, capabilities } = context;
  checkID(context.runAsUser, `${path}.runAsUser`, errors);
  checkID(context.runAsGroup, `${path}.runAsGroup`, errors);
  checkSupported(procMount, `${path}.procMount`, ['Default', 'Unmasked'], errors);
  if (hostUsers && procMount === 'Unmasked') {
    errors.push(invalid(`${path}.procMount`, procMount, '`hostUsers` must be false to use `Unmasked`'));
  }
  validateSeccomp(context.seccompProfile, `${path}.seccompProfile`, errors);
  if (allowPrivilegeEscalation === false) {
    const conflicts = [
      privileged && '`privileged` to true',
      capabilities?.add?.includes('CAP_SYS_ADMIN') && '`capabilities.Add` CAP_SYS_ADMIN',
    ];
    for (const each of conflicts.filter(Boolean)) {
      errors.push(invalid(path, context, `cannot set \`allowPrivilegeEscalation\` to false and ${each}`));
    }
  }
  validateWindowsOptions(context.windowsOptions, `${path}.windowsOptions`, errors);
  validateAppArmor(context.appArmorProfile, `${path}.appArmorProfile`, errors);
}

export function validatePodSecurityContext(spec: PodSpec, gates: ManifestGates, path: string, errors: string[]): void {
  const { securityContext: context } = spec;
  if (!context) return;
  checkID(context.fsGroup, `${path}.fsGroup`, errors);
  checkID(context.runAsUser, `${path}.runAsUser`, errors);
  checkID(context.runAsGroup, `${path}.runAsGroup`, errors);
  for (const [index, group] of (context.supplementalGroups ?? []).entries()) checkID(group, `${path}.supplementalGroups[${index}]`, errors);
  if (spec.hostPID && spec.shareProcessNamespace) {
    errors.push(invalid(`${path}.shareProcessNamespace`, true, 'ShareProcessNamespace and HostPID cannot both be enabled'));
  }
  validateSysctls(spec, `${path}.sysctls`, errors);
  checkSupported(context.fsGroupChangePolicy, `${path}.fsGroupChangePolicy`, ['OnRootMismatch', 'Always'], errors);
  validateSeccomp(context.seccompProfile, `${path}.seccompProfile`, errors);
  validateWindowsOptions(context.windowsOptions, `${path}.windowsOptions`, errors);
  validateAppArmor(context.appArmorProfile, `${path}.appArmorProfile`, errors);
  checkSupported(context.supplementalGroupsPolicy, `${path}.supplementalGroupsPolicy`, ['Merge', 'Strict'], errors);
  const changePolicies = gates.SELinuxMount ? ['MountOption', 'Recursive'] : ['Recursive'];
  checkSupported(context.seLinuxChangePolicy, `${path}.seLinuxChangePolicy`, changePolicies, errors);
}

const segment = '[a-z0-9]([-_a-z0-9]*[a-z0-9])?';
const sysctlName = `^(${segment}[\\./])*${segment}$`;
const maxSysctlLength = 253;

function validateSysctls({ securityContext, hostNetwork, hostIPC }: PodSpec, path: string, errors: string[]): void {
  const names = new Set<string>();
  for (const [index, { name }] of (securityContext?.sysctls ?? []).entries()) {
    const sysctlPath = `${path}[${index}].name`;
    if (!name) errors.push(required(sysctlPath));
    else if (name.length > maxSysctlLength || !new RegExp(sysctlName).test(name)) {
      errors.push(invalid(sysctlPath, name, `must have at most ${maxSysctlLength} characters and match regex ${sysctlName}`));
    } else if (names.has(name)) errors.push(duplicate(sysctlPath, name));
    names.add(name);
    const namespace = namespaceOf(name);
    if (hostNetwork && namespace === 'net') errors.push(invalid(sysctlPath, name, "may not be specified when 'hostNetwork' is true"));
    else if (hostIPC && namespace === 'ipc') errors.push(invalid(sysctlPath, name, "may not be specified when 'hostIPC' is true"));
  }
}

const ipcSysctls = /^(?:kernel\.(?:sem|shmall|shmmax|shmmni|shm_rmid_forced|shm|msgmax|msgmnb|msgmni|msg)$|fs\.mqueue\.)/;

/** Returns the namespace that a sysctl belongs to. */
function namespaceOf(sysctl: string): 'net' | 'ipc' | null {
  const name = normalizeSysctl(sysctl);
  if (name.startsWith('net.')) return 'net';
  return ipcSysctls.test(name) ? 'ipc' : null;
}

/** A pod with a user namespace cannot use the host's other namespaces. */
export function validateHostUsers(spec: PodSpec, gates: ManifestGates, path: string, errors: string[]): void {
  if (spec.hostUsers !== false) return;
  const detail = 'when `hostUsers` is false';
  if (spec.hostNetwork && !gates.UserNamespacesHostNetworkSupport) errors.push(forbidden(`${path}.hostNetwork`, detail));
  // These paths are spelled as upstream spells them.
  if (spec.hostPID) errors.push(forbidden(`${path}.HostPID`, detail));
  if (spec.hostIPC) errors.push(forbidden(`${path}.HostIPC`, detail));
  for (const { container, path: containerPath } of eachContainer(spec, path)) {
    if (container.volumeDevices) errors.push(forbidden(`${containerPath}.volumeDevices`, detail));
  }
}
