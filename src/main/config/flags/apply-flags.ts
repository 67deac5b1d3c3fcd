/** Applies parsed flags: to fields of the configuration, where they override the file, and to the settings that exist only as flags. */
import { resolve } from 'node:path';
import type { VModuleItem } from '../kubelet-configuration.ts';
import type { RawConfiguration } from '../schema.ts';
import type { KubeletFlags } from '../options.ts';
import { flagTable } from './flag-table.ts';

const defaults: KubeletFlags = {
  kubeconfig: '',
  bootstrapKubeconfig: '',
  hostnameOverride: '',
  nodeIP: '',
  certDirectory: '/var/lib/kubelet/pki',
  cloudProvider: '',
  rootDirectory: '/var/lib/kubelet',
  runtimeCgroups: '',
  imageCredentialProviderConfig: '',
  imageCredentialProviderBinDir: '',
  nodeLabels: {},
  lockFile: '',
  exitOnLockContention: false,
  minimumContainerTTL: 0,
  maximumDeadContainersPerContainer: 1,
  maximumDeadContainers: -1,
  seccompDefault: false,
  experimentalMounterPath: '',
  experimentalAllocatableIgnoreEviction: false,
  housekeepingInterval: 10_000,
};

/** Returns the settings that exist only as flags, with their defaults. */
export function toKubeletFlags(values: ReadonlyMap<string, unknown>): KubeletFlags {
  const given = flagTable.flatMap(({ name, setting }) =>
    setting !== undefined && values.has(name) ? [[setting, values.get(name)] as const] : [],
  );
  const flags = { ...defaults, ...(Object.fromEntries(given) as Partial<KubeletFlags>) };
  // As upstream, normalizes the path; paths passed to the runtime must be absolute. root-dir.ts rejects an empty path.
  return flags.rootDirectory === '' ? flags : { ...flags, rootDirectory: resolve(flags.rootDirectory) };
}

/**
 * Returns the configuration with the flags applied. Feature gates are merged by name and --vmodule patterns are appended to the file's. All
 * other flags replace the field.
 */
export function applyFlags<T extends RawConfiguration>(config: T, values: ReadonlyMap<string, unknown>): T {
  let updatedConfig: T = config;
  for (const { name, field } of flagTable) {
    if (field === undefined || !values.has(name)) continue;
    const path = field.split('.');
    const value = values.get(name);
    if (name === 'feature-gates')
      updatedConfig = setField(updatedConfig, path, { ...config.featureGates, ...(value as Record<string, boolean>) });
    else if (name === 'vmodule') updatedConfig = setField(updatedConfig, path, [...config.logging.vmodule, ...(value as VModuleItem[])]);
    else updatedConfig = setField(updatedConfig, path, value);
  }
  return updatedConfig;
}

/** Returns a copy of the object with a new value at a field path. */
function setField<T extends object>(target: T, path: readonly string[], value: unknown): T {
  const [name = '', ...rest] = path;
  const inner = (target as Record<string, unknown>)[name];
  return { ...target, [name]: rest.length === 0 ? value : setField(inner as object, rest, value) };
}
