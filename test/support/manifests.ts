/** Manifests for tests of the decoder: a small pod that is valid, and what it is decoded to. */
import { decodeManifest } from '../../src/shared/manifest/decode-manifest.ts';
import type { DecodeManifestResult } from '../../src/shared/contracts/pod-sync.ts';
import type { Pod } from '../../src/shared/kubernetes/api.ts';
import type { Json } from './manifest-samples.ts';

export { aManifest, type Json } from './manifest-samples.ts';

/** As the file source would have it decoded on node `node-1`. */
export function decode(
  manifest: unknown,
  source: 'file' | 'http' = 'file',
  origin = '/manifests/web.yaml',
  gates: Readonly<Record<string, boolean>> = {},
): DecodeManifestResult {
  const content = new TextEncoder().encode(typeof manifest === 'string' ? manifest : JSON.stringify(manifest));
  return decodeManifest({ source, origin, nodeName: 'node-1', content }, gates);
}

/** The pod of a manifest that must be valid. */
export function decodedPod(manifest: unknown): Pod {
  const { pods, errors } = decode(manifest);
  if (!pods[0] || errors.length > 0) throw new Error(errors.join('\n'));
  return pods[0];
}

/** What is wrong with a manifest, without the origin before it. One that is no text gets a UID, so that none is computed of it. */
export function errorsOf(manifest: unknown, gates: Readonly<Record<string, boolean>> = {}): string[] {
  let given = manifest;
  if (typeof manifest === 'object' && manifest !== null && 'metadata' in manifest) {
    given = { ...manifest, metadata: { uid: 'u1', ...(manifest.metadata as Json) } };
  }
  return decode(given, 'file', '/manifests/web.yaml', gates).errors.map((each) => each.replace('/manifests/web.yaml: invalid pod: ', ''));
}
