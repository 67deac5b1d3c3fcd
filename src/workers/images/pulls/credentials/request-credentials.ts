/**
 * The credentials of one request for an image, in the order in which a pull tries them: those of the pod's pull secrets, of the node and of
 * the plugins. Each part is read at most once, and not before it is needed (upstream makeLookupPullCredentialsFunc).
 */
import type { EnsureImageRequest } from '../../../../shared/contracts/images.ts';
import { parseImageName } from '../../../../shared/kubernetes/image-name.ts';
import type { ImagePullCredentials, ImagePullSecret } from '../records/image-pulled-record.ts';
import type { PodCredentials } from '../records/must-pull.ts';
import { findCredentials, type Credential, type ObjectCoordinates } from '../../../../shared/registry-credentials/keyring.ts';
import type { NodeCredentials } from './node-credentials.ts';
import type { CredentialPlugins } from './plugins/credential-plugins.ts';

export interface CredentialSources {
  readonly nodeCredentials: Pick<NodeCredentials, 'current'>;
  readonly plugins: Pick<CredentialPlugins, 'sources'>;
}

export class RequestCredentials implements PodCredentials {
  readonly #request: EnsureImageRequest;
  readonly #repository: string;
  readonly #sources: CredentialSources;
  #fromPlugins: Promise<Credential[]> | undefined;

  /** The image name must be valid. */
  constructor(request: EnsureImageRequest, sources: CredentialSources) {
    this.#request = request;
    this.#repository = parseImageName(request.image).repository;
    this.#sources = sources;
  }

  /** Throws an Error when the pod's secrets cannot be used. */
  secrets(): ImagePullSecret[] {
    return this.#secretCredentials().flatMap(toPullSecret);
  }

  async serviceAccount(): Promise<ObjectCoordinates | undefined> {
    return (await this.#pluginCredentials()).find(({ serviceAccount }) => serviceAccount)?.serviceAccount;
  }

  /** Rejects with an Error when the pod's secrets cannot be used. */
  async all(): Promise<Credential[]> {
    const fromSecrets = this.#secretCredentials();
    const { nodeCredentials } = this.#sources;
    const [config, fromPlugins] = await Promise.all([nodeCredentials.current(), this.#pluginCredentials()]);
    return [...fromSecrets, ...findCredentials(this.#repository, [{ config }]), ...fromPlugins];
  }

  #secretCredentials(): readonly Credential[] {
    const { credentials, problem } = this.#request.pullCredentials;
    if (problem !== null) throw new Error(problem);
    return credentials;
  }

  #pluginCredentials(): Promise<Credential[]> {
    const { podNamespace: namespace, podName: name, podUID: uid, serviceAccountName } = this.#request;
    this.#fromPlugins ??= this.#sources.plugins
      .sources(this.#repository, { namespace, name, uid, serviceAccountName })
      .then((sources) => findCredentials(this.#repository, sources));
    return this.#fromPlugins;
  }
}

/**
 * Returns the credentials to record for a pull with `used`. Pods with equal credentials in different secrets share a pull; each record
 * names the pod's own secret or service account.
 */
export function credentialsToRecord(used: Credential | undefined, podCredentials: readonly Credential[]): ImagePullCredentials {
  const equal = used ? podCredentials.filter(({ hash }) => hash === used.hash) : [];
  const isOfNode = equal.some(({ secret, serviceAccount }) => !secret && !serviceAccount);
  const [first] = equal;
  if (!first || isOfNode) return { nodePodsAccessible: true };
  const { uid, namespace, name } = first.serviceAccount ?? { uid: '', namespace: '', name: '' };
  return first.serviceAccount ? { kubernetesServiceAccounts: [{ uid, namespace, name }] } : { kubernetesSecrets: toPullSecret(first) };
}

function toPullSecret({ secret, hash }: Credential): ImagePullSecret[] {
  if (!secret) return [];
  const { uid, namespace, name } = secret;
  return [{ uid, namespace, name, credentialHash: hash }];
}
