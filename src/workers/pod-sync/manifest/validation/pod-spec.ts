/**
 * Validates a pod's spec (upstream ValidatePodSpec). This file has the rules for the spec's own fields; other files have the rules for
 * its parts.
 */
import type { Pod, PodSpec } from '../../../../shared/kubernetes/api.ts';
import { dns1123SubdomainErrors, labelKeyErrors, rangeErrors } from '../../../../shared/kubernetes/names.ts';
import type { ManifestGates } from '../manifest-gates.ts';
import { checkDNSLabel, checkLabelKey, checkName, checkRequiredEnum } from './checks.ts';
import { validateContainers, validateInitContainers } from './containers.ts';
import { validateDNSConfig, validateHostAliases, validateHostnameOverride } from './dns.ts';
import { duplicate, invalid, notSupported, required } from '../../../../shared/kubernetes/field-error.ts';
import { validateLabels } from './labels.ts';
import { validateContainerResources, validatePodResources } from './resources.ts';
import { validateAffinity, validateTolerations } from './scheduling.ts';
import { validateHostUsers, validatePodSecurityContext } from './security-context.ts';
import { validateTopologySpread } from './topology-spread.ts';
import { validateVolumes } from './volumes.ts';
import { validateHostProcess, validateOSFields } from './windows-options.ts';

export function validatePodSpec(pod: Pod, gates: ManifestGates, path: string, errors: string[]): void {
  const { spec } = pod;
  const volumes = validateVolumes(pod, `${path}.volumes`, errors);
  const claimNames = new Set((spec.resourceClaims ?? []).map(({ name }) => name).filter(Boolean));
  validateResourceClaims(spec, `${path}.resourceClaims`, errors);
  validateContainers({ pod, gates, volumes, claimNames }, `${path}.containers`, errors);
  validateInitContainers({ pod, gates, volumes, claimNames }, `${path}.initContainers`, errors);
  if (gates.PodLevelResources) validatePodResources(spec, `${path}.resources`, errors);
  validateHostPorts(spec, `${path}.containers`, errors);
  validateEnums(spec, path, errors);
  validateLabels(spec.nodeSelector, `${path}.nodeSelector`, errors);
  validatePodSecurityContext(spec, gates, `${path}.securityContext`, errors);
  validateAffinity(spec.affinity, `${path}.affinity`, errors);
  validateDNSConfig(spec, `${path}.dnsConfig`, errors);
  validateGates(spec, path, errors);
  validateTopologySpread(spec.topologySpreadConstraints ?? [], gates, `${path}.topologySpreadConstraints`, errors);
  validateHostProcess(spec, path, errors);
  validateHostUsers(spec, gates, path, errors);
  validateHostnameOverride(spec, `${path}.hostnameOverride`, errors);
  validateNames(spec, path, errors);
  validateTolerations(spec.tolerations ?? [], gates, `${path}.tolerations`, errors);
  validateHostAliases(spec.hostAliases ?? [], `${path}.hostAliases`, errors);
  if (spec.overhead) validateContainerResources({ limits: spec.overhead }, new Set(), `${path}.overhead`, errors);
  validateOS(spec, path, errors);
}

function validateEnums(spec: PodSpec, path: string, errors: string[]): void {
  checkRequiredEnum(spec.restartPolicy, `${path}.restartPolicy`, ['Always', 'OnFailure', 'Never'], errors);
  checkRequiredEnum(spec.dnsPolicy, `${path}.dnsPolicy`, ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None'], errors);
  if (spec.preemptionPolicy !== undefined) {
    checkRequiredEnum(spec.preemptionPolicy, `${path}.preemptionPolicy`, ['PreemptLowerPriority', 'Never'], errors);
  }
  const { activeDeadlineSeconds: deadline } = spec;
  if (deadline === undefined) return;
  for (const each of rangeErrors(deadline, 1, 2 ** 31 - 1)) errors.push(invalid(`${path}.activeDeadlineSeconds`, deadline, each));
}

function validateNames(spec: PodSpec, path: string, errors: string[]): void {
  for (const field of ['serviceAccountName', 'nodeName', 'priorityClassName'] as const) {
    if (spec[field]) checkName(spec[field], `${path}.${field}`, dns1123SubdomainErrors, errors);
  }
  if (spec.runtimeClassName !== undefined) {
    checkName(spec.runtimeClassName, `${path}.runtimeClassName`, dns1123SubdomainErrors, errors);
  }
  if (spec.hostname) checkDNSLabel(spec.hostname, `${path}.hostname`, errors);
  if (spec.subdomain) checkDNSLabel(spec.subdomain, `${path}.subdomain`, errors);
  if (!spec.schedulingGroup) return;
  const podGroupNamePath = `${path}.schedulingGroup.podGroupName`;
  const { podGroupName } = spec.schedulingGroup;
  if (podGroupName === undefined) errors.push(invalid(podGroupNamePath, null, 'must specify one of: `podGroupName`'));
  else checkName(podGroupName, podGroupNamePath, dns1123SubdomainErrors, errors);
}

function validateGates({ readinessGates = [], schedulingGates = [] }: PodSpec, path: string, errors: string[]): void {
  for (const [index, { conditionType }] of readinessGates.entries()) {
    checkLabelKey(conditionType, `${path}.readinessGates[${index}].conditionType`, errors);
  }
  const seen = new Set<string>();
  for (const [index, { name }] of schedulingGates.entries()) {
    const gatePath = `${path}.schedulingGates[${index}]`;
    checkName(name, gatePath, labelKeyErrors, errors);
    if (seen.has(name)) errors.push(duplicate(gatePath, name));
    seen.add(name);
  }
}

function validateHostPorts({ hostNetwork, containers }: PodSpec, path: string, errors: string[]): void {
  if (!hostNetwork) return;
  for (const [index, { ports = [] }] of containers.entries()) {
    for (const [at, { hostPort, containerPort }] of ports.entries()) {
      if (!hostPort || hostPort === containerPort) continue;
      const detail = 'must match `containerPort` when `hostNetwork` is true';
      errors.push(invalid(`${path}[${index}].ports[${at}].hostPort`, hostPort, detail));
    }
  }
}

function validateResourceClaims({ resourceClaims = [] }: PodSpec, path: string, errors: string[]): void {
  const names = new Set<string>();
  for (const [index, claim] of resourceClaims.entries()) {
    const { name, resourceClaimName, resourceClaimTemplateName } = claim;
    const claimPath = `${path}[${index}]`;
    if (!name) errors.push(required(`${claimPath}.name`));
    else if (names.has(name)) errors.push(duplicate(`${claimPath}.name`, name));
    else checkDNSLabel(name, `${claimPath}.name`, errors);
    names.add(name);
    if (resourceClaimName !== undefined && resourceClaimTemplateName !== undefined) {
      errors.push(invalid(claimPath, claim, 'at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified'));
    }
    if (resourceClaimName === undefined && resourceClaimTemplateName === undefined) {
      errors.push(invalid(claimPath, claim, 'must specify one of: `resourceClaimName`, `resourceClaimTemplateName`'));
    }
    for (const [field, value] of Object.entries({ resourceClaimName, resourceClaimTemplateName })) {
      if (value !== undefined) checkName(value, `${claimPath}.${field}`, dns1123SubdomainErrors, errors);
    }
  }
}

function validateOS(spec: PodSpec, path: string, errors: string[]): void {
  if (!spec.os) return;
  if (!spec.os.name) errors.push(required(`${path}.os.name`));
  else if (spec.os.name !== 'linux' && spec.os.name !== 'windows')
    errors.push(notSupported(`${path}.os`, spec.os.name, ['linux', 'windows']));
  else validateOSFields(spec, path, errors);
}
