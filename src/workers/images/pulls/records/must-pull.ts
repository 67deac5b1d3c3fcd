/** Whether a pod may use an image that is there, or must show by a pull that it may (upstream PullManager.MustAttemptImagePull). Pure. */
import { withoutTagAndDigest, type ImagePulledRecord, type ImagePullSecret } from './records.ts';

/** `imagePullCredentialsVerificationPolicy`, with `preloadedImagesVerificationAllowlist`. */
export interface VerificationPolicy {
  readonly name: string;
  readonly allowlist: readonly string[];
}

/** Whether the policy wants credentials for the image at all. */
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

export type Access =
  | { readonly mustPull: true }
  /** `learned`: the record should name this secret too. */
  | { readonly mustPull: false; readonly learned?: ImagePullSecret };

/** Beyond so many secrets of one image no more are added by looking: the record would grow without end. */
const maxLearnedSecrets = 100;

/** What the record says of the pod's secrets. A secret whose credentials changed is trusted as long as it is the same secret. */
export function accessByRecord(record: ImagePulledRecord | undefined, image: string, podSecrets: () => readonly ImagePullSecret[]): Access {
  const known = record?.credentialMapping?.[withoutTagAndDigest(image)];
  if (!known) return { mustPull: true };
  if (known.nodePodsAccessible) return { mustPull: false };
  const { kubernetesSecrets = [], kubernetesServiceAccounts = [] } = known;
  if (kubernetesSecrets.length === 0 && kubernetesServiceAccounts.length === 0) return { mustPull: true };
  const mayLearn = kubernetesSecrets.length < maxLearnedSecrets;
  for (const secret of podSecrets()) {
    for (const recorded of kubernetesSecrets) {
      const isHash = recorded.credentialHash !== '' && recorded.credentialHash === secret.credentialHash;
      const isSecret = recorded.uid === secret.uid && recorded.namespace === secret.namespace && recorded.name === secret.name;
      if (isHash) return { mustPull: false, ...(!isSecret && mayLearn && { learned: secret }) };
      if (isSecret && mayLearn) return { mustPull: false, learned: secret };
    }
  }
  return { mustPull: true };
}
