/** The PodCertificateRequest that a kubelet writes for a pod of its own, and what it reads of the signer's answer (certificates.k8s.io/v1beta1). Pure. */
import type { Pod, Volume } from '../../../shared/kubernetes/api.ts';
import type { ApiObject } from '../../api/index.ts';

export type PodCertificateSource = NonNullable<
  NonNullable<NonNullable<NonNullable<Volume['projected']>['sources']>[number]['podCertificate']>
>;

export interface PodCertificateRequest extends ApiObject {
  readonly spec?: { readonly podUID?: string };
  /** At most one of the conditions is `Issued`, `Denied` or `Failed`. */
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly reason?: string; readonly message?: string }[];
    /** PEM. */
    readonly certificateChain?: string;
    readonly beginRefreshAt?: string;
    readonly notAfter?: string;
  };
}

export const requestsApi = { group: 'certificates.k8s.io', version: 'v1beta1', plural: 'podcertificaterequests' } as const;

/** Whom the request is for: the API server compares each with what it knows of this node. */
export interface RequestSubject {
  readonly pod: Pod;
  readonly serviceAccountUID: string;
  readonly nodeName: string;
  readonly nodeUID: string;
}

/** The body of its creation. It goes with its pod. `stubRequest`: PKCS#10 in DER. */
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
