/** The validated flags and configuration: everything that is decided before the first thread starts. */
import type { LoggingOptions } from '../../shared/log/logger.ts';
import type { CredentialProviders } from './credential-providers/load-credential-providers.ts';
import type { FeatureGates } from './feature-gates.ts';
import type { FixedConfiguration, LiveConfiguration } from './live-configuration.ts';
import type { ConfigurationInputs } from './configuration-inputs.ts';
import type { Milliseconds, StringMap } from './kubelet-configuration.ts';

/** Settings of a single node: they have a flag and no configuration field (upstream: KubeletFlags). */
export interface KubeletFlags {
  /** Empty when standalone. */
  readonly kubeconfig: string;
  readonly bootstrapKubeconfig: string;
  /** Empty when the host's name is used. */
  readonly hostnameOverride: string;
  /** One address, or two separated by a comma; empty when the kubelet detects it. */
  readonly nodeIP: string;
  readonly certDirectory: string;
  readonly cloudProvider: string;
  /** Default: `/var/lib/kubelet`. */
  readonly rootDirectory: string;
  readonly runtimeCgroups: string;
  readonly imageCredentialProviderConfig: string;
  readonly imageCredentialProviderBinDir: string;
  readonly nodeLabels: StringMap;
  /** Empty when no lock is wanted. */
  readonly lockFile: string;
  readonly exitOnLockContention: boolean;
  /** Age below which a dead container is kept. */
  readonly minimumContainerTTL: Milliseconds;
  readonly maximumDeadContainersPerContainer: number;
  /** −1 when unlimited. */
  readonly maximumDeadContainers: number;
  /** Only the flag; KubeletOptions.seccompDefault includes the configuration's field. */
  readonly seccompDefault: boolean;
  readonly experimentalMounterPath: string;
  readonly experimentalAllocatableIgnoreEviction: boolean;
  readonly housekeepingInterval: Milliseconds;
}

export interface KubeletOptions {
  readonly flags: KubeletFlags;
  /** The fields that don't change while the kubelet runs. Those that do are read from `live`, at each use. */
  readonly config: FixedConfiguration;
  readonly featureGates: FeatureGates;
  readonly credentialProviders: CredentialProviders;
  /** `--seccomp-default` or the configuration's seccompDefault. */
  readonly seccompDefault: boolean;
  /** Every thread gets it in its worker data. */
  readonly logging: LoggingOptions;
  /** Has the current values of all configuration fields, including those that change. */
  readonly live: LiveConfiguration;
  /** What a reload reads. Null: the configuration never changes. */
  readonly reloadInputs: ConfigurationInputs | null;
}
