/** The PodCertificateRequest that the kubelet creates, and the fields of its status that the kubelet reads (certificates.k8s.io/v1). Pure. */
import type { Pod, Volume } from '../../../shared/kubernetes/api.ts';
import type { ApiObject } from '../../api/index.ts';

export type PodCertificateSource = NonNullable<
  NonNullable<NonNullable<NonNullable<Volume['projected']>['sources']>[number]['podCertificate']>
>;

export interface PodCertificateRequest extends ApiObject {
  readonly spec?: { readonly podUID?: string };
  /** At most one condition has the type `Issued`, `Denied` or `Failed`. */
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly reason?: string; readonly message?: string }[];
    /** PEM. */
    readonly certificateChain?: string;
    readonly beginRefreshAt?: string;
    readonly notAfter?: string;
  };
}

export const requestsApi = { group: 'certificates.k8s.io', version: 'v1', plural: 'podcertificaterequests' } as const;

/** The pod, service account and Node of the request. The API server verifies each for this node. */
export interface RequestSubject {
  readonly pod: Pod;
  readonly serviceAccountUID: string;
  readonly nodeName: string;
  readonly nodeUID: string;
}

/** The object to create. The garbage collector removes it with its pod. `stubRequest` is PKCS#10 in DER. */
export function toCertificateRequest(
  { pod, serviceAccountUID, nodeName, nodeUID }: RequestSubject,
  source: PodCertificateSource,
  stubRequest: Buffer,
): object {
  const { namespace, name, uid } = pod.metadata;
  const { signerName, maxExpirationSeconds, userAnnotations } = source;
  return {
    apiVersion: `${requestsApi.group}/${requestsApi.version}`,
    kind: 'PodCertificateRequest',
    metadata: { namespace, generateName: 'req-', ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name, uid }] },
    spec: {
      signerName,
      podName: name,
      podUID: uid,
      serviceAccountName: pod.spec.serviceAccountName ?? '',
      serviceAccountUID,
      nodeName,
      nodeUID,
      ...(maxExpirationSeconds !== undefined && { maxExpirationSeconds }),
      stubPKCS10Request: stubRequest.toString('base64'),
      ...(userAnnotations && { unverifiedUserAnnotations: userAnnotations }),
    },
  };
}
