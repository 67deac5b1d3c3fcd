/** The identity of a kubeconfig's user, from its client certificate, token, token file, password or exec plugin. */
import type { Logger } from '../../../shared/log/logger.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import type { Kubeconfig } from '../kubeconfig/kubeconfig.ts';
import { readBoundedFile } from '../../../shared/files/read-bounded-file.ts';
import { ClientCertificateFiles } from './client-certificate-files.ts';
import { execInfo } from './exec-credential.ts';
import { ExecPlugin } from './exec-plugin.ts';
import type { Identity, IdentitySource } from './identity.ts';
import { runPlugin } from '../../../shared/linux/run-plugin.ts';
import { TokenFile } from './token-file.ts';

export interface KubeconfigIdentityOptions {
  readonly kubeconfig: Kubeconfig;
  /** The environment of exec plugins. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Limits the file of a certificate with its chain, of a key or of a token. */
const maxFileBytes = 1024 * 1024;

export class KubeconfigIdentity implements IdentitySource {
  readonly #staticAuthorization: string | undefined;
  readonly #tokenFile: TokenFile | null;
  readonly #certificate: ClientCertificateFiles | null;
  readonly #plugin: ExecPlugin | null;
  #lastIdentity: Identity = { authorization: undefined, clientCertificate: undefined };

  constructor({ kubeconfig: { user, cluster }, environment, clock, logger }: KubeconfigIdentityOptions) {
    const readFile = (path: string) => readBoundedFile(path, maxFileBytes);
    // Credentials are never sent without TLS, which verifies the server (upstream client-go/tools/clientcmd, IsConfigTransportTLS).
    const isSecure = cluster.server.protocol === 'https:';
    const { clientCertificate, token, tokenFile, basic, exec } = user;
    this.#staticAuthorization = isSecure ? staticAuthorization(token, basic) : undefined;
    this.#certificate =
      isSecure && clientCertificate ? new ClientCertificateFiles({ ...clientCertificate, readFile, clock, logger }) : null;
    const readText = async (path: string) => (await readFile(path)).toString();
    this.#tokenFile =
      isSecure && tokenFile !== '' ? new TokenFile({ path: tokenFile, fallback: token, readFile: readText, clock, logger }) : null;
    // The plugin is not used if the kubeconfig itself has credentials.
    const needsPlugin = isSecure && !this.#staticAuthorization && !this.#tokenFile && !this.#certificate;
    const info = async () => {
      const { certificateAuthority: authority } = cluster;
      const bytes = authority && ('data' in authority ? authority.data : await readFile(authority.path));
      return execInfo(exec!, cluster, bytes);
    };
    this.#plugin = needsPlugin && exec ? new ExecPlugin({ plugin: exec, info, environment, run: runPlugin, clock, logger }) : null;
  }

  /** Rejects when a certificate, key or token file of the kubeconfig can't be read. Does not run the plugin. */
  async readFiles(): Promise<void> {
    await this.#readFileIdentity();
  }

  async current(signal: AbortSignal): Promise<Identity> {
    const identity = this.#plugin ? await this.#readPluginIdentity(this.#plugin, signal) : await this.#readFileIdentity();
    const lastIdentity = this.#lastIdentity;
    const isSame = identity.authorization === lastIdentity.authorization && identity.clientCertificate === lastIdentity.clientCertificate;
    return isSame ? lastIdentity : (this.#lastIdentity = identity);
  }

  refreshAfterUnauthorized(sentAtMs: number, signal: AbortSignal): Promise<Identity> {
    for (const source of [this.#tokenFile, this.#certificate, this.#plugin]) source?.invalidateBefore(sentAtMs);
    return this.current(signal);
  }

  close(): void {
    this.#plugin?.close();
  }

  async #readFileIdentity(): Promise<Identity> {
    const clientCertificate = await this.#certificate?.current();
    const authorization = this.#tokenFile ? `Bearer ${await this.#tokenFile.current()}` : this.#staticAuthorization;
    return { authorization, clientCertificate };
  }

  async #readPluginIdentity(plugin: ExecPlugin, signal: AbortSignal): Promise<Identity> {
    const { token, clientCertificate } = await plugin.current(signal);
    return { authorization: token === '' ? undefined : `Bearer ${token}`, clientCertificate };
  }
}

function staticAuthorization(token: string, basic: { readonly username: string; readonly password: string } | null): string | undefined {
  if (token !== '') return `Bearer ${token}`;
  return basic ? `Basic ${Buffer.from(`${basic.username}:${basic.password}`).toString('base64')}` : undefined;
}
