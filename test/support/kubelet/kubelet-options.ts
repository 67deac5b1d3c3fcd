/** The options of a kubelet that was started without a configuration file and without flags, for tests of what is derived from them. */
import type { KubeletOptions } from '../../../src/main/config/options.ts';
import { LiveConfiguration } from '../../../src/main/config/live-configuration.ts';
import type { KubeletConfiguration } from '../../../src/main/config/kubelet-configuration.ts';
import { loadConfiguration } from '../../../src/main/config/load-configuration.ts';
import { toLoggingOptions } from '../../../src/main/config/logging-options.ts';
import { toKubeletFlags } from '../../../src/main/config/flags/apply-flags.ts';

/** @param gates as the flag --feature-gates: defaults of the configuration depend on them */
export function kubeletOptions(fields: Partial<KubeletConfiguration> = {}, gates: Record<string, boolean> = {}): KubeletOptions {
  const { config: defaults, featureGates } = loadConfiguration({
    file: '',
    dropInDir: '',
    decoding: 'strict',
    applyFlags: (raw) => ({ ...raw, featureGates: gates }),
  });
  const config = { ...defaults, ...fields };
  return {
    flags: toKubeletFlags(new Map()),
    config,
    featureGates,
    seccompDefault: false,
    logging: toLoggingOptions(config.logging),
    credentialProviders: { providers: [], configHash: null },
    live: new LiveConfiguration(config),
    reloadInputs: null,
  };
}
