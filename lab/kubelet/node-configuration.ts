/**
 * The KubeletConfiguration of a node that shares its host with other nodes: it has folders, ports and a root of cgroups of its own, and leaves nothing in
 * the host's network. Every kubelet that is started outside of a guest has it. What a node is for are further fields, which the caller adds: the ports that it
 * serves, what it evicts, and of a member of a cluster those of control-plane-member.ts. Other settings than these are Kubernetes' defaults.
 */
import { writeFileSync } from 'node:fs';
import { stringify } from 'yaml';

export interface NodeSettings {
  /** `unix:///…` */
  readonly runtimeEndpoint: string;
  /** The folder of static pods. */
  readonly manifests: string;
  readonly podLogs: string;
  /** Null: no cgroups. The simulated runtime creates none, and only root may. */
  readonly cgroupRoot: string | null;
}

/** The type of the object that a file of the configuration has. */
export const configurationType = { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' } as const;

/** Upstream's defaults, 10 % and 15 % of the disks, would evict the pods on many people's hosts. */
export const lateEvictions = {
  evictionHard: {
    'memory.available': '100Mi',
    'nodefs.available': '1%',
    'nodefs.inodesFree': '1%',
    'imagefs.available': '1%',
    'imagefs.inodesFree': '1%',
  },
} as const;

/** A full disk of the test host must cost no pod. */
export const noEvictions = { evictionHard: {} } as const;

/** A full disk of the test host must cost no image: none can be pulled again. */
export const noImageRemovals = { imageGCHighThresholdPercent: 100 } as const;

export function nodeConfiguration({ runtimeEndpoint, manifests, podLogs, cgroupRoot }: NodeSettings) {
  return {
    ...configurationType,
    containerRuntimeEndpoint: runtimeEndpoint,
    staticPodPath: manifests,
    podLogsDir: podLogs,
    ...(cgroupRoot === null ? { cgroupsPerQOS: false, enforceNodeAllocatable: [] } : { cgroupDriver: 'cgroupfs', cgroupRoot }),
    failCgroupV1: false,
    failSwapOn: false,
    // The chains would be created in the host's packet filter and never be removed.
    makeIPTablesUtilChains: false,
  };
}

/** @param writtenBy the command, which the file names */
export function writeConfiguration(path: string, configuration: object, writtenBy?: string): void {
  writeFileSync(path, `${writtenBy === undefined ? '' : `# Written by ${writtenBy}.\n`}${stringify(configuration)}`);
}
