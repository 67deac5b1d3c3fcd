/**
 * The credential providers of the node: plugins that print registry logins (upstream pkg/credentialprovider/plugin). Main reads and
 * validates their configuration. The image manager calls this for each pull, and for the proof of access to a present image that was
 * pulled with the token of a service account.
 */
import type { CredentialProvider } from '../../../../../shared/contracts/credential-providers.ts';
import type { CredentialSource } from '../../../../../shared/registry-credentials/keyring.ts';
import { CredentialPlugin, type CredentialPluginOptions, type PullingPod } from './credential-plugin.ts';

export type { PullingPod } from './credential-plugin.ts';

export interface CredentialPluginsOptions extends Omit<CredentialPluginOptions, 'provider'> {
  readonly providers: readonly CredentialProvider[];
}

export class CredentialPlugins {
  readonly #plugins: readonly CredentialPlugin[];

  constructor({ providers, ...options }: CredentialPluginsOptions) {
    this.#plugins = providers.map((provider) => new CredentialPlugin({ ...options, provider }));
  }

  /** Returns the logins for the repository in the order of the providers. Runs the plugins in parallel. Never rejects. */
  async sources(image: string, pod: PullingPod): Promise<CredentialSource[]> {
    const sources = await Promise.all(this.#plugins.map((plugin) => plugin.provide(image, pod)));
    return sources.filter((source) => source !== undefined);
  }
}
