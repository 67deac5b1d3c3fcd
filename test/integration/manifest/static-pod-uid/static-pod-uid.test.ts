/**
 * Compares UIDs with vectors that the Go kubelet's own packages printed (scripts/upstream/values/staticpods). The Go kubelet's sources also read the
 * manifests that it would run.
 */
import { podSyncGatesWith } from '../../../support/pods/pod-sync-gates.ts';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import type { Draft, Pod } from '../../../../src/shared/kubernetes/api.ts';
import { decodeManifest } from '../../../../src/workers/pod-sync/manifest/decode-manifest.ts';
import { defaultPod } from '../../../../src/workers/pod-sync/manifest/defaults/default-pod.ts';
import { parseDocument } from '../../../../src/workers/pod-sync/manifest/parse-document.ts';
import { decodeValue } from '../../../../src/workers/pod-sync/manifest/decode-value.ts';
import { objectMeta } from '../../../../src/shared/kubernetes/schema/metadata.ts';
import { podSpec } from '../../../../src/shared/kubernetes/schema/pod-spec.ts';
import { always, struct } from '../../../../src/shared/kubernetes/schema/types.ts';
import { dumpPointer } from '../../../../src/workers/pod-sync/manifest/static-pod-uid/dump.ts';
import { toInternalPod } from '../../../../src/workers/pod-sync/manifest/static-pod-uid/internal-pod.ts';
import { dumpBudget, staticPodUID, type ManifestOrigin } from '../../../../src/workers/pod-sync/manifest/static-pod-uid/static-pod-uid.ts';
import { table } from '../../../support/table.ts';

interface Vector extends ManifestOrigin {
  readonly manifest: string;
  readonly pods: readonly { readonly uid: string; readonly dump: string }[];
}

const folder = new URL('vectors/', import.meta.url);
const vectors = readFileSync(new URL('expected.jsonl', folder), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as Vector);
const contentOf = ({ manifest }: Vector) => readFileSync(new URL(`${manifest}.manifest`, folder));

/** Manifests that this kubelet rejects for static pods. Their UIDs still equal upstream's. */
const isRefused = ({ manifest }: Vector) => manifest.startsWith('refused');

const podSchema = struct({ metadata: always(objectMeta), spec: always(podSpec) });

/** Returns the pods of a document with their defaults, whether or not a static pod may have these fields. */
function defaultedPods(content: Uint8Array): { document: unknown; pod: Draft<Pod> }[] {
  const parsed = parseDocument(content) as { items?: unknown[] };
  return (parsed.items ?? [parsed]).map((document) => {
    const decoding = { errors: [], values: 0 };
    const pod = decodeValue(podSchema, document, '', decoding) as Draft<Pod>;
    assert.deepEqual(decoding.errors, []);
    defaultPod(pod, podSyncGatesWith());
    return { document, pod };
  });
}

function dumpOf({ document, pod }: { document: unknown; pod: Draft<Pod> }, inList: boolean): string {
  let dump = '';
  dumpPointer('core.Pod', toInternalPod(document, pod, podSyncGatesWith(), inList), (piece) => {
    dump += piece;
  });
  return dump;
}

/** Compares the dumps only when the UIDs differ: a UID is the hash of the whole dump. */
function uidsOf(vector: Vector): string[] {
  const { source, origin, nodeName } = vector;
  if (isRefused(vector)) {
    return defaultedPods(contentOf(vector)).map(({ document, pod }) =>
      staticPodUID(document, pod, vector, podSyncGatesWith(), dumpBudget()),
    );
  }
  const { pods, errors } = decodeManifest({ source, origin, nodeName, content: contentOf(vector) }, podSyncGatesWith());
  assert.deepEqual(errors, []);
  return pods.map(({ metadata }) => metadata.uid);
}

table('a static pod has the UID that the Go kubelet computes', (row) => {
  for (const vector of vectors) {
    row(`a static pod from ${vector.manifest} has the Go kubelet’s UID`, () => {
      const [uids, want] = [uidsOf(vector), vector.pods.map(({ uid }) => uid)];
      if (isDeepStrictEqual(uids, want)) return;
      const inList = vector.manifest === 'url-list';
      const dumps = defaultedPods(contentOf(vector)).map((each) => dumpOf(each, inList));
      assert.deepEqual([dumps, uids], [vector.pods.map(({ dump }) => dump), want]);
    });
  }
});
