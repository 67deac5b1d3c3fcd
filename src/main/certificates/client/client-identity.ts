/** The kubelet's identity towards the API server while its client certificate is issued and renewed by the cluster. */
import type { ClientCertificate, Identity, IdentitySource } from '../../api/index.ts';
import type { CertificatePair } from '../certificate-pair.ts';

export class ClientIdentity implements IdentitySource {
  /** Called when the API server answers 401 to a call with the certificate. */
  onRefused: () => void = () => {};
  #identity: Identity | null = null;
  #successor: IdentitySource | null = null;

  /** Makes calls present this certificate. Connections with the previous one are replaced at the next call. */
  use({ cert, key }: CertificatePair): void {
    const clientCertificate: ClientCertificate = { cert, key };
    this.#identity = { authorization: undefined, clientCertificate };
  }

  /**
   * All later calls have the successor's identity: a kubelet that does not renew its certificate stores it once, and reads it from its kubeconfig then, as
   * after a restart.
   */
  handOver(successor: IdentitySource): void {
    this.#successor = successor;
  }

  /** Makes calls anonymous until there is a certificate, for a server that needs no credentials. */
  allowAnonymous(): void {
    this.#identity ??= { authorization: undefined, clientCertificate: undefined };
  }

  /** Without a certificate no request is sent: an anonymous one would be refused. */
  current(signal: AbortSignal): Promise<Identity> {
    if (this.#successor) return this.#successor.current(signal);
    return this.#identity
      ? Promise.resolve(this.#identity)
      : Promise.reject(new Error('the cluster has not issued a client certificate yet'));
  }

  refreshAfterUnauthorized(sentAtMs: number, signal: AbortSignal): Promise<Identity> {
    if (this.#successor) return this.#successor.refreshAfterUnauthorized(sentAtMs, signal);
    this.onRefused();
    return this.current(signal);
  }
}
