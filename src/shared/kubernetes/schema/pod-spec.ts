/** Schema of the pod spec, from the v1 API: field names, types and optionality. */
import { always, bool, int32, int64, list, map, pointer, quantity, struct, text } from './types.ts';
import { container, ephemeralContainer, resourceRequirements } from './containers.ts';
import { localObjectReference } from './references.ts';
import { affinity, toleration, topologySpreadConstraint } from './scheduling.ts';
import { podSecurityContext } from './security.ts';
import { volume } from './volumes.ts';

const hostAlias = struct({
  ip: always(text),
  hostnames: list(text),
});
const podDNSConfigOption = struct({
  name: text,
  value: pointer(text),
});
const podDNSConfig = struct({
  nameservers: list(text),
  searches: list(text),
  options: list(podDNSConfigOption),
});
const podReadinessGate = struct({
  conditionType: always(text),
});
const podOS = struct({
  name: always(text),
});
const podSchedulingGate = struct({
  name: always(text),
});
const podResourceClaim = struct({
  name: always(text),
  resourceClaimName: pointer(text),
  resourceClaimTemplateName: pointer(text),
});
const podSchedulingGroup = struct({
  podGroupName: pointer(text),
});
export const podSpec = struct({
  volumes: list(volume),
  initContainers: list(container),
  containers: always(list(container)),
  ephemeralContainers: list(ephemeralContainer),
  restartPolicy: text,
  terminationGracePeriodSeconds: pointer(int64),
  activeDeadlineSeconds: pointer(int64),
  dnsPolicy: text,
  nodeSelector: map(text),
  serviceAccountName: text,
  serviceAccount: text,
  automountServiceAccountToken: pointer(bool),
  nodeName: text,
  hostNetwork: bool,
  hostPID: bool,
  hostIPC: bool,
  shareProcessNamespace: pointer(bool),
  securityContext: pointer(podSecurityContext),
  imagePullSecrets: list(localObjectReference),
  hostname: text,
  subdomain: text,
  affinity: pointer(affinity),
  schedulerName: text,
  tolerations: list(toleration),
  hostAliases: list(hostAlias),
  priorityClassName: text,
  priority: pointer(int32),
  dnsConfig: pointer(podDNSConfig),
  readinessGates: list(podReadinessGate),
  runtimeClassName: pointer(text),
  enableServiceLinks: pointer(bool),
  preemptionPolicy: pointer(text),
  overhead: map(quantity),
  topologySpreadConstraints: list(topologySpreadConstraint),
  setHostnameAsFQDN: pointer(bool),
  os: pointer(podOS),
  hostUsers: pointer(bool),
  schedulingGates: list(podSchedulingGate),
  resourceClaims: list(podResourceClaim),
  resources: pointer(resourceRequirements),
  hostnameOverride: pointer(text),
  schedulingGroup: pointer(podSchedulingGroup),
});
