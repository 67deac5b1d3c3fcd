/** A minimal valid manifest and its decoded pod, for tests of the decoder. */
import type { PodSyncGates } from '../../../src/shared/contracts/pod-sync/feature-gates.ts';
import { podSyncGatesWith } from './pod-sync-gates.ts';
import { decodeManifest } from '../../../src/workers/pod-sync/manifest/decode-manifest.ts';
import type { DecodeManifestResult } from '../../../src/shared/contracts/pod-sync/decode-manifest.ts';
import type { Pod } from '../../../src/shared/kubernetes/api.ts';
import type { Json } from './manifest-samples.ts';

export { aManifest, type Json } from './manifest-samples.ts';

/** Decodes like the file source on node `node-1`. */
export function decode(
  manifest: unknown,
  source: 'file' | 'http' = 'file',
  origin = '/manifests/web.yaml',
  gates: PodSyncGates = podSyncGatesWith(),
): DecodeManifestResult {
  const content = new TextEncoder().encode(typeof manifest === 'string' ? manifest : JSON.stringify(manifest));
  return decodeManifest({ source, origin, nodeName: 'node-1', content }, gates);
}

/** Returns the pod of a valid manifest. */
export function decodedPod(manifest: unknown): Pod {
  const { pods, errors } = decode(manifest);
  if (!pods[0] || errors.length > 0) throw new Error(errors.join('\n'));
  return pods[0];
}

/** Returns the errors of a manifest without its origin. A manifest object without a UID gets one, so no UID is computed. */
export function errorsOf(manifest: unknown, gates: PodSyncGates = podSyncGatesWith()): string[] {
  let given = manifest;
  if (typeof manifest === 'object' && manifest !== null && 'metadata' in manifest) {
    given = { ...manifest, metadata: { uid: 'u1', ...(manifest.metadata as Json) } };
  }
  return decode(given, 'file', '/manifests/web.yaml', gates).errors.map((each) => each.replace('/manifests/web.yaml: invalid pod: ', ''));
}
