/** Sample manifests, and a substitute for the decoder in tests of main, because the decoder belongs to another thread. */
import type { DecodeManifestTask, DecodeManifestResult } from '../../../src/shared/contracts/pod-sync/decode-manifest.ts';
import { aPod } from './pods.ts';

export type Json = Record<string, unknown>;

/** A minimal valid manifest with additional `spec` and `container` fields. */
export function aManifest({ metadata = {}, spec = {}, container = {} }: { metadata?: Json; spec?: Json; container?: Json } = {}): Json {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', ...metadata },
    spec: { containers: [{ name: 'main', image: 'registry.example/web:1', ...container }], ...spec },
  };
}

/** Decodes the JSON of a Pod or a PodList for node `node-1`. The only error is a pod without an image. */
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
