/**
 * Selects the credentials for one image from a pod's pull secrets. The images thread gets the credentials instead of the secrets: a request for an image may
 * wait long there, and a tenant's secrets have up to 1 MiB each, so that the requests of a few dozen pods could fill the thread's memory. Pure.
 */
import type { PullCredentials } from '../../../../shared/contracts/images.ts';
import type { PullSecret } from '../../../../shared/registry-credentials/keyring.ts';
import { messageOf } from '../../../../shared/errors/kubelet-error.ts';
import { parseImageName } from '../../../../shared/kubernetes/image-name.ts';
import { credentialsOfSecrets } from '../../../../shared/registry-credentials/keyring.ts';

/** Characters of all logins for one image. The tokens of registries have a few KiB. */
const maxLength = 128 * 1024;

/** Unreadable secrets are a problem only if the image has to be pulled, so they fail nothing here. */
export function pullCredentials(image: string, secrets: readonly PullSecret[]): PullCredentials {
  if (secrets.length === 0) return { credentials: [], problem: null };
  const repository = repositoryOf(image);
  // The image name is invalid: the images thread refuses it.
  if (repository === null) return { credentials: [], problem: null };
  try {
    const credentials = credentialsOfSecrets(repository, secrets);
    const length = credentials.reduce((sum, { login }) => sum + login.username.length + login.password.length + login.email.length, 0);
    if (length <= maxLength) return { credentials, problem: null };
    return { credentials: [], problem: `the image pull secrets have more than ${maxLength} bytes of credentials for image "${image}"` };
  } catch (err) {
    return { credentials: [], problem: messageOf(err) };
  }
}

function repositoryOf(image: string): string | null {
  try {
    return parseImageName(image).repository;
  } catch {
    return null;
  }
}
