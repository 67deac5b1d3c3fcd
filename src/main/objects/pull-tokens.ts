/**
 * Service account tokens for the plugins of image credentials (upstream pkg/credentialprovider/plugin, serviceAccountProvider). The
 * account is read from the API server for each pull, as upstream does: its UID and its annotations must be current.
 */
import type { PullTokenReply, PullTokenRequest } from '../../shared/contracts/credential-providers.ts';
import { SingleFlight } from '../../shared/concurrency/single-flight.ts';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import { apiPath, type ApiClient, type ApiObject } from '../api/index.ts';
import type { TokenManager } from './token-manager.ts';

interface ServiceAccount extends ApiObject {
  readonly metadata: ApiObject['metadata'] & { readonly annotations?: Readonly<Record<string, string>> };
}

/** The answer without an API server. */
export const noPullToken: PullTokenReply = {
  outcome: 'failed',
  failure: { reason: 'NoClient', message: 'cannot get ServiceAccounts when kubelet is in standalone mode' },
};

const deadlineMs = 10_000;
/** The API server's default. */
const expirationSeconds = 3600;

export class PullTokens {
  readonly #client: ApiClient;
  readonly #tokens: Pick<TokenManager, 'get'>;
  readonly #reads = new SingleFlight<string, ServiceAccount>();

  constructor(client: ApiClient, tokens: Pick<TokenManager, 'get'>) {
    this.#client = client;
    this.#tokens = tokens;
  }

  /** Rejects with the API server's error. */
  async get(request: PullTokenRequest): Promise<PullTokenReply> {
    const { namespace, serviceAccountName, podName, podUID, audience, requiredAnnotations, optionalAnnotations } = request;
    const { metadata } = await this.#account(namespace, serviceAccountName);
    const found = metadata.annotations ?? {};
    const missing = requiredAnnotations.find((key) => !Object.hasOwn(found, key));
    if (missing !== undefined) return { outcome: 'missing annotation', annotation: missing };
    const keys = [...requiredAnnotations, ...optionalAnnotations].filter((key) => Object.hasOwn(found, key));
    const ref = { kind: 'Token', namespace, serviceAccountName, podName, podUID, audience, expirationSeconds } as const;
    const token = await this.#tokens.get({ ...ref, serviceAccountUID: metadata.uid }).catch((err: unknown) => {
      throw new Error(`failed to get service account token: ${messageOf(err)}`, { cause: err });
    });
    const annotations = Object.fromEntries(keys.map((key) => [key, found[key] ?? '']));
    return { outcome: 'granted', serviceAccountUID: metadata.uid, token, annotations };
  }

  #account(namespace: string, name: string): Promise<ServiceAccount> {
    const path = apiPath('api', 'v1', 'namespaces', namespace, 'serviceaccounts', name);
    return this.#reads.run(path, () =>
      this.#client
        .call<ServiceAccount>({ method: 'GET', path, trafficClass: 'objects', deadlineMs, maxAttempts: 1 })
        .catch((err: unknown) => {
          throw new Error(`failed to get service account: ${messageOf(err)}`, { cause: err });
        }),
    );
  }
}
