/** Manifests as they are written, and what stands in for their decoder where main alone is tested: the decoder is another thread's. */
import type { DecodeManifestTask, DecodeManifestResult } from '../../src/shared/contracts/pod-sync.ts';
import { aPod } from './pods.ts';

export type Json = Record<string, unknown>;

/** A manifest as it is written: `spec` and `container` are added to the smallest pod that is valid. */
export function aManifest({ metadata = {}, spec = {}, container = {} }: { metadata?: Json; spec?: Json; container?: Json } = {}): Json {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', ...metadata },
    spec: { containers: [{ name: 'main', image: 'registry.example/web:1', ...container }], ...spec },
  };
}

/** JSON of a Pod or a PodList, with nothing wrong in it but pods without an image: as node `node-1` would have it decoded. */
export function decodeInMain({ origin, content }: Pick<DecodeManifestTask, 'origin' | 'content'>): DecodeManifestResult {
  let manifest: Json;
  try {
    manifest = JSON.parse(new TextDecoder().decode(content)) as Json;
  } catch (err) {
    return { pods: [], errors: [`${origin}: couldn't parse as pod: ${String(err)}`], readable: false };
  }
  const written = (manifest['kind'] === 'PodList' ? manifest['items'] : [manifest]) as ReturnType<typeof aPod>[];
  const isGood = ({ spec }: ReturnType<typeof aPod>) => spec.containers[0]!.image !== '';
  return {
    pods: written.filter(isGood).map(({ metadata, spec }) => aPod({ metadata: { name: `${metadata.name}-node-1` }, spec })),
    errors: written.filter((each) => !isGood(each)).map(({ metadata }) => `${origin}: invalid pod: ${metadata.name} has no image`),
    readable: true,
  };
}
