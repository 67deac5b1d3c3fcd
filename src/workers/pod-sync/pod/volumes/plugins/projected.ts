/**
 * projected: objects of several kinds, tokens and fields of the pod as files of one volume (upstream pkg/volume/projected). When several sources write one
 * path, the last one wins.
 */
import type { PodObjectRef, PodObjectResult } from '../../../../../shared/contracts/pod-objects.ts';
import { messageOf } from '../../../../../shared/errors/kubelet-error.ts';
import type { Pod } from '../../../../../shared/kubernetes/api.ts';
import type { VolumeSource } from '../../../../../shared/kubernetes/volume-kind.ts';
import type { FileProjection, Payload } from '../atomic-writer.ts';
import { requireSecretOrConfigMap, requirePodObject } from '../pod-object-results.ts';
import type { VolumeContext } from '../volume-context.ts';
import { defaultFileMode } from '../file-mode.ts';
import { kubeletWritten } from '../kubelet-written-volume.ts';
import { makeDownwardAPIPayload } from './downward-api.ts';
import type { VolumePlugin } from './volume-plugin.ts';
import { commonRunAsUser } from '../common-run-as-user.ts';
import { LargeWorkError } from '../../large-work.ts';
import { checkLength } from '../check-payload.ts';
import { makeObjectPayload } from '../object-payload.ts';

type Projected = VolumeSource<'projected'>;
type Source = NonNullable<Projected['sources']>[number];

/** The API server's default. */
const defaultExpirationSeconds = 3600;
/** The mode of tokens and certificates whose readers are known: the file's owner, or the fsGroup, which adds its own bits. */
const privateMode = 0o600;

export const projected: VolumePlugin<Projected> = kubeletWritten({
  kind: 'projected',
  medium: 'Memory',
  makePayload: makeProjectedPayload,
});

/**
 * Requests the objects of all sources in one message. Rejects with an Error that names the failures of all sources.
 * @param readPublished reads a file that the volume contains now
 */
async function makeProjectedPayload(
  context: VolumeContext,
  volume: string,
  source: Projected,
  readPublished: (path: string) => Promise<string | undefined>,
): Promise<Payload> {
  const sources = source.sources ?? [];
  const refs = await Promise.all(
    sources.map(async (one, sourceIndex) => {
      const ref = toPodObjectRef(one, context.pod, { volume, sourceIndex });
      // Main keeps the token that the volume has, as long as the token is valid.
      const token = ref?.kind === 'Token' ? await readPublished(one.serviceAccountToken?.path ?? '') : undefined;
      return ref?.kind === 'Token' && token !== undefined ? { ...ref, onDisk: token } : ref;
    }),
  );
  const requested = refs.filter((ref) => ref !== undefined);
  const replies = (requested.length === 0 ? [] : await context.requestPodObjects(requested, context.maxBytes)).values();
  const results = refs.map((ref) => (ref ? replies.next().value : undefined));
  const payload = new Map<string, FileProjection>();
  let bytes = 0;
  const failures = new Set<string>();
  for (const [index, one] of sources.entries()) {
    try {
      for (const [path, file] of makeSourcePayload(context, volume, one, source, results[index])) {
        bytes += file.content.length - (payload.get(path)?.content.length ?? 0);
        payload.set(path, file);
      }
      checkLength(bytes, context.maxBytes);
    } catch (err) {
      if (err instanceof LargeWorkError || bytes > context.maxBytes) throw err;
      failures.add(messageOf(err));
    }
  }
  if (failures.size > 0) throw new Error(failures.size === 1 ? [...failures][0] : `[${[...failures].join(', ')}]`);
  return payload;
}

function toPodObjectRef(
  { secret, configMap, serviceAccountToken, clusterTrustBundle, podCertificate }: Source,
  { metadata, spec }: Pod,
  position: { readonly volume: string; readonly sourceIndex: number },
): PodObjectRef | undefined {
  const { namespace, name, uid } = metadata;
  if (secret) return { kind: 'Secret', namespace, name: secret.name ?? '' };
  if (configMap) return { kind: 'ConfigMap', namespace, name: configMap.name ?? '' };
  if (serviceAccountToken) {
    return {
      kind: 'Token',
      namespace,
      serviceAccountName: spec.serviceAccountName ?? '',
      podName: name,
      podUID: uid,
      audience: serviceAccountToken.audience ?? '',
      expirationSeconds: serviceAccountToken.expirationSeconds ?? defaultExpirationSeconds,
    };
  }
  if (podCertificate) return { kind: 'PodCertificate', ...position };
  if (!clusterTrustBundle) return undefined;
  const { signerName, labelSelector, optional = false } = clusterTrustBundle;
  if (clusterTrustBundle.name) return { kind: 'TrustBundle', name: clusterTrustBundle.name, optional };
  return signerName ? { kind: 'SignerTrustBundles', signerName, labelSelector, optional } : undefined;
}

function makeSourcePayload(
  context: VolumeContext,
  volume: string,
  { secret, configMap, downwardAPI, serviceAccountToken, clusterTrustBundle, podCertificate }: Source,
  { defaultMode: mode = defaultFileMode, defaultUser }: Projected,
  result: PodObjectResult | undefined,
): Payload {
  const { pod, resolveFileUser } = context;
  const credentialFile = (content: string, itemUser: number | undefined): FileProjection => {
    const user = resolveFileUser(itemUser, defaultUser) ?? commonRunAsUser(pod);
    const isPrivate = user !== undefined || pod.spec.securityContext?.fsGroup !== undefined;
    return { content, mode: isPrivate ? privateMode : mode, user };
  };
  const object = secret ?? configMap;
  if (object) {
    const kind = secret ? 'Secret' : 'ConfigMap';
    const { items, optional = false } = object;
    const description = `projected ${secret ? 'secret' : 'configMap'} volume ${volume}`;
    return makeObjectPayload(requireSecretOrConfigMap(kind, result, optional, description), {
      items,
      mode,
      optional,
      defaultUser,
      resolveFileUser,
      maxBytes: context.maxBytes,
    });
  }
  if (downwardAPI) return makeDownwardAPIPayload(context, downwardAPI.items ?? [], { defaultMode: mode, defaultUser });
  if (serviceAccountToken) {
    const { token } = requirePodObject('Token', result, `projected serviceAccountToken volume ${volume}`);
    return new Map([[serviceAccountToken.path, credentialFile(token, serviceAccountToken.user)]]);
  }
  if (clusterTrustBundle) {
    const { name, signerName, path } = clusterTrustBundle;
    if (!name && !signerName) throw new Error('ClusterTrustBundle projection requires either name or signerName to be set');
    const { pem } = requirePodObject('TrustAnchors', result, `projected clusterTrustBundle volume ${volume}`);
    return new Map([[path, credentialFile(pem, clusterTrustBundle.user)]]);
  }
  if (podCertificate) {
    const { keyPEM, chainPEM } = requirePodObject('Credentials', result, `projected podCertificate volume ${volume}`);
    const { credentialBundlePath, keyPath, certificateChainPath } = podCertificate;
    const files: [path: string | undefined, content: string][] = [
      [credentialBundlePath, keyPEM + chainPEM],
      [keyPath, keyPEM],
      [certificateChainPath, chainPEM],
    ];
    return new Map(files.flatMap(([path, content]) => (path ? [[path, credentialFile(content, podCertificate.user)]] : [])));
  }
  return new Map();
}
