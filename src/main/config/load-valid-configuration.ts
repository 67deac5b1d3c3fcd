/**
 * Loads the configuration that the flags name, and validates it, at the start and for each reload. A short-lived thread runs this for a reload,
 * so this file imports only what loading needs.
 */
import type { ConfigurationInputs } from './configuration-inputs.ts';
import { ConfigurationError } from './configuration-error.ts';
import type { DecodingMode } from './read-config-file.ts';
import { loadConfiguration, type LoadedConfiguration } from './load-configuration.ts';
import { validateConfiguration } from './validation/validate-configuration.ts';
import { applyFlags } from './flags/apply-flags.ts';

/** Throws a ConfigurationError. */
export function loadValidConfiguration({ values, host }: ConfigurationInputs, decoding: DecodingMode): LoadedConfiguration {
  const loaded = loadConfiguration({ ...configurationPaths(values), decoding, applyFlags: (config) => applyFlags(config, values) });
  refuse(
    'failed to validate kubelet configuration, error: ',
    validateConfiguration({ config: loaded.config, gates: loaded.featureGates, host }),
  );
  return loaded;
}

/** The flags --config and --config-dir; empty when not set. */
export function configurationPaths(values: ReadonlyMap<string, unknown>): { readonly file: string; readonly dropInDir: string } {
  return { file: (values.get('config') as string | undefined) ?? '', dropInDir: (values.get('config-dir') as string | undefined) ?? '' };
}

/** Throws a ConfigurationError with all complaints, if there are any. */
export function refuse(prefix: string, complaints: readonly string[]): void {
  if (complaints.length === 0) return;
  throw new ConfigurationError(`${prefix}${complaints.length === 1 ? complaints.join('') : `[${complaints.join(', ')}]`}`);
}
