/** Rules for reserved resources and their enforcement (upstream: validation.go, validation_reserved_memory.go, and parsing at start). */
import { isZeroQuantity, parseQuantity } from '../../../shared/kubernetes/quantity.ts';
import { parseCPUList } from '../../../shared/linux/cpu-list.ts';
import type { KubeletConfiguration, StringMap } from '../kubelet-configuration.ts';
import { quotedList, collectErrors, thrownMessage, invalidConfiguration, type ValidationRule } from './rules.ts';

const enforcements = ['pods', 'system-reserved', 'system-reserved-compressible', 'kube-reserved', 'kube-reserved-compressible', 'none'];
const field = 'enforceNodeAllocatable (--enforce-node-allocatable)';
const reservable = ['cpu', 'memory', 'ephemeral-storage', 'pid'];

const checkEnforcements: ValidationRule = ({ config }) => {
  const enforced = config.enforceNodeAllocatable;
  const exclusive = ['system-reserved', 'kube-reserved']
    .filter((name) => enforced.includes(name) && enforced.includes(`${name}-compressible`))
    .map((name) => invalidConfiguration(`both "${name}-compressible" and "${name}" cannot be specified together in ${field}`));
  return [
    ...exclusive,
    ...enforced.flatMap((name, index) =>
      enforced.indexOf(name) < index
        ? [invalidConfiguration(`duplicated enforcements "${name}" in ${field}`)]
        : checkEnforcement(name, config),
    ),
  ];
};

function checkEnforcement(name: string, config: KubeletConfiguration): string[] {
  if (!enforcements.includes(name)) {
    return [invalidConfiguration(`option "${name}" specified for ${field}. Valid options are ${quotedList(enforcements)}`)];
  }
  if (name === 'none') {
    return collectErrors([
      config.enforceNodeAllocatable.length > 1,
      `${field} may not contain additional enforcements when "none" is specified`,
    ]);
  }
  const needs = (cgroup: string, flag: string, prefix: string): readonly [boolean, string] => [
    name.startsWith(prefix) && cgroup === '',
    `${flag} must be specified when "${prefix}" or "${prefix}-compressible" included in ${field}`,
  ];
  return collectErrors(
    needs(config.systemReservedCgroup, 'systemReservedCgroup (--system-reserved-cgroup)', 'system-reserved'),
    needs(config.kubeReservedCgroup, 'kubeReservedCgroup (--kube-reserved-cgroup)', 'kube-reserved'),
    [!config.cgroupsPerQOS, `cgroupsPerQOS (--cgroups-per-qos) must be set to true when "${name}" contained in ${field}`],
  );
}

const checkReservedMemory: ValidationRule = ({ config }) => {
  const seen = new Set<string>();
  return config.reservedMemory.flatMap(({ numaNode, limits }) =>
    Object.entries(limits).flatMap(([resource, quantity]) => {
      const key = `${numaNode} ${resource}`;
      const isDuplicate = seen.has(key);
      seen.add(key);
      return collectErrors(
        [
          resource !== 'memory' && !resource.startsWith('hugepages-'),
          `the limit type "${resource}" for NUMA node ${numaNode} is not supported, only [memory hugepages-<HugePageSize>] is accepted`,
        ],
        [isZeroQuantity(quantity), `reserved memory may not be zero for NUMA node ${numaNode} and resource "${resource}"`],
        [isDuplicate, `the reserved memory has a duplicate value for NUMA node ${numaNode} and resource "${resource}"`],
      );
    }),
  );
};

function checkReservations(name: string, reservations: StringMap): string[] {
  return Object.entries(reservations).flatMap(([resource, text]) => {
    if (!reservable.includes(resource)) return [invalidConfiguration(`${name}: cannot reserve "${resource}" resource`)];
    const failure = thrownMessage(() => parseQuantity(text));
    if (failure !== undefined)
      return [invalidConfiguration(`${name}: failed to parse quantity "${text}" for "${resource}" resource: ${failure}`)];
    return collectErrors([parseQuantity(text).nanos < 0n, `${name}: resource quantity for "${resource}" cannot be negative: ${text}`]);
  });
}

function checkQOSReserved(reservations: StringMap): string[] {
  return Object.entries(reservations).flatMap(([resource, text]) => {
    if (resource !== 'memory') return [invalidConfiguration(`qosReserved (--qos-reserved): cannot reserve "${resource}" resource`)];
    const isPercentage = /^[+-]?[0-9]+%+$/.test(text) && Number.parseInt(text, 10) >= 0 && Number.parseInt(text, 10) <= 100;
    return collectErrors([
      !isPercentage,
      `qosReserved (--qos-reserved): "${text}" for "${resource}" must be a percentage between 0% and 100%`,
    ]);
  });
}

/** Returns a message when a reserved CPU is not online, or null. */
function offlineCPUs(cpus: string, onlineCPUs: string | undefined): string | null {
  if (onlineCPUs === undefined) return null;
  const online = parseCPUList(onlineCPUs);
  const isSubset = [...parseCPUList(cpus)].every((cpu) => online.has(cpu));
  return isSubset ? null : `reservedCPUs: ${cpus} is not a subset of online CPUs: ${onlineCPUs}`;
}

const checkReservedCPUs: ValidationRule = ({ config, host }) => {
  const cpus = config.reservedSystemCPUs;
  if (cpus === '') return [];
  const failure = thrownMessage(() => parseCPUList(cpus));
  const offline = failure === undefined ? offlineCPUs(cpus, host.onlineCPUs) : null;
  return collectErrors(
    [
      config.systemReservedCgroup !== '' || config.kubeReservedCgroup !== '',
      "can't use reservedSystemCPUs (--reserved-cpus) with systemReservedCgroup (--system-reserved-cgroup) or kubeReservedCgroup (--kube-reserved-cgroup)",
    ],
    [failure !== undefined, `unable to parse reservedSystemCPUs (--reserved-cpus) ${cpus}, error: ${failure}`],
    [offline !== null, offline ?? ''],
  );
};

export const checkReservedResources: ValidationRule = (input) => [
  ...checkEnforcements(input),
  ...checkReservedCPUs(input),
  ...checkReservedMemory(input),
  ...checkReservations('systemReserved (--system-reserved)', input.config.systemReserved),
  ...checkReservations('kubeReserved (--kube-reserved)', input.config.kubeReserved),
  ...checkQOSReserved(input.config.qosReserved),
];
