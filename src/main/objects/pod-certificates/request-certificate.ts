/** Generates a key for one certificate and creates its PodCertificateRequest in the API server. */
import { KubeletError } from '../../../shared/errors/kubelet-error.ts';
import type { Pod } from '../../../shared/kubernetes/api.ts';
import { apiPath, type ApiClient } from '../../api/index.ts';
import { toCertificateRequest, requestsApi, type PodCertificateRequest, type PodCertificateSource } from './certificate-request.ts';
import type { GeneratedKey } from './key-generator.ts';

export interface Requester {
  readonly client: ApiClient;
  readonly nodeName: string;
  /** Undefined while the Node is unknown. */
  readonly nodeUID: () => string | undefined;
  readonly generateKey: (keyType: string) => Promise<GeneratedKey>;
}

/** The created request and its key. */
export interface CreatedRequest {
  readonly uid: string;
  readonly name: string;
  readonly keyPEM: string;
}

const deadlineMs = 10_000;

/** Rejects with an Error that names the failed step; with a KubeletError when the API server gave a reason. */
export async function requestPodCertificate(
  requester: Requester,
  pod: Pod,
  source: PodCertificateSource,
  signal: AbortSignal,
): Promise<CreatedRequest> {
  const { client, nodeName } = requester;
  const { namespace } = pod.metadata;
  // The client does not retry a creation without a response: the next attempt generates a new key.
  const common = { trafficClass: 'objects', deadlineMs, maxAttempts: 1, signal } as const;
  const { metadata: account } = await during('while fetching service account', () =>
    client.call<{ readonly metadata: { readonly uid: string } }>({
      ...common,
      method: 'GET',
      path: apiPath('api', 'v1', 'namespaces', namespace, 'serviceaccounts', pod.spec.serviceAccountName ?? ''),
    }),
  );
  const nodeUID = requester.nodeUID();
  if (nodeUID === undefined) throw new Error(`the Node ${nodeName} is not known yet`);
  // The stub is a request in PKCS#10 that proves the possession of the key, and names nothing.
  const { keyPEM, stubRequest } = await during('while generating keypair', () => requester.generateKey(source.keyType));
  const { group, version, plural } = requestsApi;
  const { metadata: created } = await during('while creating PodCertificateRequest', () =>
    client.call<PodCertificateRequest>({
      ...common,
      method: 'POST',
      path: apiPath('apis', group, version, 'namespaces', namespace, plural),
      body: toCertificateRequest({ pod, serviceAccountUID: account.uid, nodeName, nodeUID }, source, stubRequest),
    }),
  );
  return { uid: created.uid, name: created.name, keyPEM };
}

/** Wraps an error of the step in one that names the step. */
async function during<T>(step: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (err) {
    if (!(err instanceof KubeletError)) throw new Error(step, { cause: err });
    const { reason, retryAfterMs } = err;
    throw new KubeletError(reason, step, { cause: err, ...(retryAfterMs !== undefined && { retryAfterMs }) });
  }
}
