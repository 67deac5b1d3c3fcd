/** Validates Windows options like the API, although this kubelet runs no Windows pods. */
import type { PodSpec, SecurityContext } from '../../../../shared/kubernetes/api.ts';
import { dns1123SubdomainErrors } from '../../../../shared/kubernetes/names.ts';
import { checkName } from './checks.ts';
import { eachContainer } from './each-container.ts';
import { forbidden, invalid } from '../../../../shared/kubernetes/field-error.ts';

type WindowsOptions = NonNullable<SecurityContext['windowsOptions']>;

const maxCredentialSpecLength = 64 * 1024;

export function validateWindowsOptions(options: WindowsOptions | undefined, path: string, errors: string[]): void {
  if (!options) return;
  const { gmsaCredentialSpecName: specName, gmsaCredentialSpec: spec, runAsUserName: user } = options;
  if (specName !== undefined) checkName(specName, `${path}.gmsaCredentialSpecName`, dns1123SubdomainErrors, errors);
  const credentialSpecPath = `${path}.gmsaCredentialSpec`;
  if (spec === '') errors.push(invalid(credentialSpecPath, spec, 'gmsaCredentialSpec cannot be an empty string'));
  else if (spec && spec.length > maxCredentialSpecLength)
    errors.push(invalid(credentialSpecPath, spec, 'gmsaCredentialSpec size must be under 64 KiB'));
  if (user !== undefined) for (const each of userNameErrors(user)) errors.push(invalid(`${path}.runAsUserName`, user, each));
}

const maxDomainLength = 256;
const maxUserLength = 104;
const netBIOSName = /^[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}$/;
const dnsLabel = '[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?';
const dnsName = new RegExp(`^${dnsLabel}(?:\\.${dnsLabel})*$`);

/** The form is `user` or `domain\user`. */
function userNameErrors(name: string): string[] {
  if (name === '') return ['runAsUserName cannot be an empty string'];
  // oxlint-disable-next-line no-control-regex
  if (/[\0-\x1f\x7f]/.test(name)) return ['runAsUserName cannot contain control characters'];
  const parts = name.split('\\');
  if (parts.length > 2) return ['runAsUserName cannot contain more than one backslash'];
  const user = parts.at(-1) ?? '';
  const domain = parts.length === 2 ? parts[0] : undefined;
  const errors: string[] = [];
  if (domain !== undefined) {
    if (domain.length >= maxDomainLength) errors.push(`runAsUserName's Domain length must be under ${maxDomainLength} characters`);
    else if (!netBIOSName.test(domain) && !dnsName.test(domain)) {
      errors.push("runAsUserName's Domain doesn't match the NetBios nor the DNS format");
    }
  }
  if (user === '') errors.push("runAsUserName's User cannot be empty");
  if (user.length > maxUserLength) errors.push(`runAsUserName's User length must not be longer than ${maxUserLength} characters`);
  if (/^[. ]+$/.test(user)) errors.push("runAsUserName's User cannot contain only periods or spaces");
  if (/["/\\:;|=,+*?<>@[\]]/.test(user)) {
    errors.push(`runAsUserName's User cannot contain the following characters: "/\\:;|=,+*?<>@[]`);
  }
  return errors;
}

/** Host-process containers: either all containers of a pod or none, and only in the host network. */
export function validateHostProcess(spec: PodSpec, path: string, errors: string[]): void {
  const podHostProcess = spec.securityContext?.windowsOptions?.hostProcess;
  const allContainers = eachContainer(spec, path);
  for (const { container, path: containerPath } of allContainers) {
    const containerHostProcess = container.securityContext?.windowsOptions?.hostProcess;
    if (podHostProcess === undefined || containerHostProcess === undefined || podHostProcess === containerHostProcess) continue;
    const detail = `pod hostProcess value must be identical if both are specified, was ${podHostProcess}`;
    errors.push(invalid(`${containerPath}.securityContext.windowsOptions.hostProcess`, containerHostProcess, detail));
  }
  const hostProcesses = allContainers.filter(({ container }) => container.securityContext?.windowsOptions?.hostProcess ?? podHostProcess);
  if (hostProcesses.length === 0) return;
  if (hostProcesses.length !== allContainers.length) {
    errors.push(invalid(path, '', 'If pod contains any hostProcess containers then all containers must be HostProcess containers'));
  }
  if (!spec.hostNetwork) {
    errors.push(invalid(`${path}.hostNetwork`, false, 'hostNetwork must be true if pod contains any hostProcess containers'));
  }
}

/** Rejects fields that the pod's `os` does not support. */
export function validateOSFields(spec: PodSpec, path: string, errors: string[]): void {
  if (spec.os?.name === 'linux') {
    const detail = 'windows options cannot be set for a linux pod';
    if (spec.securityContext?.windowsOptions) errors.push(forbidden(`${path}.securityContext.windowsOptions`, detail));
    for (const { container, path: containerPath } of eachContainer(spec, path)) {
      if (container.securityContext?.windowsOptions) errors.push(forbidden(`${containerPath}.securityContext.windowsOptions`, detail));
    }
    return;
  }
  if (spec.os?.name !== 'windows') return;
  forbidFields(spec, linuxSpecFields, path, errors);
  if (spec.securityContext) forbidFields(spec.securityContext, linuxPodContextFields, `${path}.securityContext`, errors);
  for (const { container, path: containerPath } of eachContainer(spec, path)) {
    if (container.securityContext) forbidFields(container.securityContext, linuxContextFields, `${containerPath}.securityContext`, errors);
  }
}

const linuxSpecFields = ['hostUsers', 'hostPID', 'hostIPC', 'shareProcessNamespace'];
const linuxPodContextFields = (
  'appArmorProfile seLinuxOptions seccompProfile fsGroup fsGroupChangePolicy sysctls runAsUser runAsGroup supplementalGroups ' +
  'supplementalGroupsPolicy seLinuxChangePolicy'
).split(' ');
const linuxContextFields = (
  'appArmorProfile seLinuxOptions seccompProfile capabilities readOnlyRootFilesystem privileged allowPrivilegeEscalation procMount ' +
  'runAsUser runAsGroup'
).split(' ');

function forbidFields(from: object, fields: readonly string[], path: string, errors: string[]): void {
  for (const field of fields) if (field in from) errors.push(forbidden(`${path}.${field}`, 'cannot be set for a windows pod'));
}
