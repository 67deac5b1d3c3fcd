/** What the command line hands to the composition root: everything that was decided before the first thread starts. */
import type { LoggingOptions } from '../../shared/log/logger.ts';
import type { FeatureGates } from '../config/feature-gates.ts';
import type { KubeletConfiguration, Milliseconds, StringMap } from '../config/kubelet-configuration.ts';

/** Settings that are this node's alone, so they have a flag and no field in the configuration (upstream: KubeletFlags). */
export interface KubeletFlags {
  /** Empty: standalone. */
  readonly kubeconfig: string;
  readonly bootstrapKubeconfig: string;
  /** Empty: the host's own name. */
  readonly hostnameOverride: string;
  /** One address, or two separated by a comma; empty: found out. */
  readonly nodeIP: string;
  readonly certDirectory: string;
  readonly cloudProvider: string;
  /** `/var/lib/kubelet` unless told. */
  readonly rootDirectory: string;
  readonly runtimeCgroups: string;
  readonly imageCredentialProviderConfig: string;
  readonly imageCredentialProviderBinDir: string;
  readonly nodeLabels: StringMap;
  /** Empty: no lock. */
  readonly lockFile: string;
  readonly exitOnLockContention: boolean;
  /** Age below which a dead container is kept. */
  readonly minimumContainerTTL: Milliseconds;
  readonly maximumDeadContainersPerContainer: number;
  /** −1: no limit. */
  readonly maximumDeadContainers: number;
  /** Or'ed with the configuration's seccompDefault, already done in KubeletOptions.seccompDefault. */
  readonly seccompDefault: boolean;
  readonly experimentalMounterPath: string;
  readonly experimentalAllocatableIgnoreEviction: boolean;
  readonly housekeepingInterval: Milliseconds;
  readonly maxHousekeepingInterval: Milliseconds;
}

export interface KubeletOptions {
  readonly flags: KubeletFlags;
  readonly config: KubeletConfiguration;
  readonly featureGates: FeatureGates;
  /** `--seccomp-default` or the configuration's seccompDefault. */
  readonly seccompDefault: boolean;
  /** Handed to every thread at birth. */
  readonly logging: LoggingOptions;
  /** The body of `/configz`: `{"kubeletconfig":{…}}`, in the form on the wire. */
  readonly configz: string;
}
