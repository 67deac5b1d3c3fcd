/** Tokens of the pod's service account for a CSI driver that requests them (upstream podServiceAccountTokenAttrs in pkg/volume/csi). */
import type { GrantedToken, TokenRef } from '../../../shared/contracts/pod-objects.ts';
import type { PublishVolumeRequest } from '../../../shared/contracts/volumes.ts';
import type { Pod } from '../../../shared/kubernetes/api.ts';
import type { CsiDriverObject } from '../volume-objects.ts';

/** Rejects with the API server's reason. */
export type GetToken = (ref: TokenRef) => Promise<GrantedToken>;

const attribute = 'csi.storage.k8s.io/serviceAccount.tokens';
/** The API server's default. */
const defaultExpirationSeconds = 3600;
/** Each has about a kilobyte, and an audience of its own. */
const maxTokens = 32;

/** Adds the tokens to the secrets or the attributes of the publication, as the driver wants. Rejects with an Error. */
export async function withTokens(
  request: PublishVolumeRequest,
  pod: Pod,
  driver: CsiDriverObject | null,
  getToken: GetToken,
): Promise<PublishVolumeRequest> {
  const { tokenRequests = [], serviceAccountTokenInSecrets = false } = driver?.spec ?? {};
  if (tokenRequests.length === 0) return request;
  if (tokenRequests.length > maxTokens) throw new Error(`CSI driver ${request.driver} requests more than ${maxTokens} tokens`);
  const granted = await Promise.all(
    tokenRequests.map(async ({ audience = '', expirationSeconds = defaultExpirationSeconds }) => {
      const token = await getToken(tokenRef(pod, audience, expirationSeconds));
      return [audience, { token: token.token, expirationTimestamp: toTimestamp(token.expiresAtMs) }] as const;
    }),
  );
  const tokens = { [attribute]: JSON.stringify(Object.fromEntries(granted.toSorted(([a], [b]) => (a < b ? -1 : 1)))) };
  const hiddenTexts = granted.map(([, { token }]) => token);
  return serviceAccountTokenInSecrets
    ? { ...request, hiddenTexts, publishSecrets: { ...request.publishSecrets, ...tokens } }
    : { ...request, hiddenTexts, podAttributes: { ...request.podAttributes, ...tokens } };
}

function tokenRef({ metadata, spec }: Pod, audience: string, expirationSeconds: number): TokenRef {
  const { namespace, name: podName, uid: podUID } = metadata;
  return { kind: 'Token', namespace, serviceAccountName: spec.serviceAccountName ?? '', podName, podUID, audience, expirationSeconds };
}

/** As Go writes a time of the API: without fractions of a second. */
function toTimestamp(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d{3}Z$/, 'Z');
}
