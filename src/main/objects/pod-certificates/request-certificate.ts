/** One request for one certificate: for whom, with which key, and its creation in the API server. */
import { KubeletError } from '../../../shared/errors/kubelet-error.ts';
import type { Pod } from '../../../shared/kubernetes/api.ts';
import { apiPath, type ApiClient } from '../../api/index.ts';
import { toCertificateRequest, requestsApi, type PodCertificateRequest, type PodCertificateSource } from './certificate-request.ts';
import type { GeneratedKey } from './key-generator.ts';

export interface Requester {
  readonly client: ApiClient;
  readonly nodeName: string;
  /** Undefined: the Node is not known yet. */
  readonly nodeUID: () => string | undefined;
  readonly generateKey: (keyType: string) => Promise<GeneratedKey>;
}

/** The request as it was created, and the key that it is for. */
export interface CreatedRequest {
  readonly uid: string;
  readonly name: string;
  readonly keyPEM: string;
}

const deadlineMs = 10_000;

/** Rejects with an Error that names the step that failed, a KubeletError where the API server gave a reason. */
export async function requestCertificate(
  asker: Requester,
  pod: Pod,
  source: PodCertificateSource,
  signal: AbortSignal,
): Promise<CreatedRequest> {
  const { client, nodeName } = asker;
  const { namespace } = pod.metadata;
  // A creation that went unanswered is not sent again by the client: the next try has a key of its own.
  const common = { trafficClass: 'objects', deadlineMs, maxAttempts: 1, signal } as const;
  const { metadata: account } = await during('while fetching service account', () =>
    client.call<{ readonly metadata: { readonly uid: string } }>({
      ...common,
      method: 'GET',
      path: apiPath('api', 'v1', 'namespaces', namespace, 'serviceaccounts', pod.spec.serviceAccountName ?? ''),
    }),
  );
  const nodeUID = asker.nodeUID();
  if (nodeUID === undefined) throw new Error(`the Node ${nodeName} is not known yet`);
  const { keyPEM, stubRequest } = await during('while generating keypair', () => asker.generateKey(source.keyType));
  const { group, version, plural } = requestsApi;
  const { metadata: made } = await during('while creating PodCertificateRequest', () =>
    client.call<PodCertificateRequest>({
      ...common,
      method: 'POST',
      path: apiPath('apis', group, version, 'namespaces', namespace, plural),
      body: toCertificateRequest({ pod, serviceAccountUID: account.uid, nodeName, nodeUID }, source, stubRequest),
    }),
  );
  return { uid: made.uid, name: made.name, keyPEM };
}

async function during<T>(what: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (err) {
    if (!(err instanceof KubeletError)) throw new Error(what, { cause: err });
    const { reason, retryAfterMs } = err;
    throw new KubeletError(reason, what, { cause: err, ...(retryAfterMs !== undefined && { retryAfterMs }) });
  }
}
