/** Decides whether a pod may use a present image, or must prove access by a pull (upstream PullManager.MustAttemptImagePull). Pure. */
import { withoutTagAndDigest, type ImagePulledRecord, type ImagePullSecret } from './image-pulled-record.ts';

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

/** Matches the pod's secrets against the record. A recorded secret stays trusted when its credentials change. */
export function checkRecordedAccess(
  record: ImagePulledRecord | undefined,
  image: string,
  podSecrets: () => readonly ImagePullSecret[],
): AccessCheck {
  const known = record?.credentialMapping?.[withoutTagAndDigest(image)];
  if (!known) return { mustPull: true };
  if (known.nodePodsAccessible) return { mustPull: false };
  const { kubernetesSecrets = [], kubernetesServiceAccounts = [] } = known;
  if (kubernetesSecrets.length === 0 && kubernetesServiceAccounts.length === 0) return { mustPull: true };
  const mayRecord = kubernetesSecrets.length < maxRecordedSecrets;
  for (const secret of podSecrets()) {
    for (const recorded of kubernetesSecrets) {
      const hasSameHash = recorded.credentialHash !== '' && recorded.credentialHash === secret.credentialHash;
      const isSameSecret = recorded.uid === secret.uid && recorded.namespace === secret.namespace && recorded.name === secret.name;
      if (hasSameHash) return { mustPull: false, ...(!isSameSecret && mayRecord && { secretToRecord: secret }) };
      if (isSameSecret && mayRecord) return { mustPull: false, secretToRecord: secret };
    }
  }
  return { mustPull: true };
}
