/** Decides whether a pod may use a present image, or must prove access by a pull (upstream PullManager.MustAttemptImagePull). Pure. */
import { withoutTagAndDigest, type ImagePulledRecord, type ImagePullSecret, type ObjectCoordinates } from './image-pulled-record.ts';

/** `imagePullCredentialsVerificationPolicy`, with `preloadedImagesVerificationAllowlist`. */
export interface VerificationPolicy {
  readonly name: string;
  readonly allowlist: readonly string[];
}

/** Whether the policy requires credentials for the image. */
export function requiresVerification({ name, allowlist }: VerificationPolicy, image: string, pulledByKubelet: boolean): boolean {
  switch (name) {
    case 'NeverVerify':
      return false;
    case 'AlwaysVerify':
      return true;
    case 'NeverVerifyAllowlistedImages': {
      const repository = withoutTagAndDigest(image);
      return !allowlist.some((pattern) => (pattern.endsWith('/*') ? repository.startsWith(pattern.slice(0, -1)) : repository === pattern));
    }
    // NeverVerifyPreloadedImages.
    default:
      return pulledByKubelet;
  }
}

export type AccessCheck =
  | { readonly mustPull: true }
  /** `secretToRecord` is a secret to add to the record. */
  | { readonly mustPull: false; readonly secretToRecord?: ImagePullSecret };

/** Bounds the size of a record: above this number of secrets per image, a lookup adds no more. */
const maxRecordedSecrets = 100;

/** The credentials of the requesting pod. Each is read only when the result depends on it. */
export interface PodCredentials {
  secrets(): readonly ImagePullSecret[];
  /** The service account for which a plugin has credentials. */
  serviceAccount(): Promise<ObjectCoordinates | undefined>;
}

/**
 * Matches the pod's credentials against the record. A recorded secret stays trusted when its content changes. Rejects with the errors of
 * `pod`.
 */
export async function checkRecordedAccess(record: ImagePulledRecord | undefined, image: string, pod: PodCredentials): Promise<AccessCheck> {
  const known = record?.credentialMapping?.[withoutTagAndDigest(image)];
  if (!known) return { mustPull: true };
  if (known.nodePodsAccessible) return { mustPull: false };
  const { kubernetesSecrets = [], kubernetesServiceAccounts = [] } = known;
  if (kubernetesSecrets.length === 0 && kubernetesServiceAccounts.length === 0) return { mustPull: true };
  // Upstream reports an invalid secret also when only service accounts are recorded.
  const access = matchSecrets(kubernetesSecrets, pod.secrets());
  if (access) return access;
  const account = kubernetesServiceAccounts.length === 0 ? undefined : await pod.serviceAccount();
  return { mustPull: !account || !kubernetesServiceAccounts.some((recorded) => isSameObject(recorded, account)) };
}

function matchSecrets(recordedSecrets: readonly ImagePullSecret[], podSecrets: readonly ImagePullSecret[]): AccessCheck | undefined {
  const mayRecord = recordedSecrets.length < maxRecordedSecrets;
  for (const secret of podSecrets) {
    for (const recorded of recordedSecrets) {
      const hasSameHash = recorded.credentialHash !== '' && recorded.credentialHash === secret.credentialHash;
      const isSameSecret = isSameObject(recorded, secret);
      if (hasSameHash) return { mustPull: false, ...(!isSameSecret && mayRecord && { secretToRecord: secret }) };
      if (isSameSecret && mayRecord) return { mustPull: false, secretToRecord: secret };
    }
  }
  return undefined;
}

function isSameObject(a: ObjectCoordinates, b: ObjectCoordinates): boolean {
  return a.uid === b.uid && a.namespace === b.namespace && a.name === b.name;
}
