/** Every vector was printed by the Go kubelet's own packages (scripts/static-pod-uid); those it would run were read by its sources too. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { Draft, Pod } from '../../../../../../src/shared/kubernetes/api.ts';
import { decodeManifest } from '../../../../../../src/workers/pod-sync/manifest/decode-manifest.ts';
import { defaultPod } from '../../../../../../src/workers/pod-sync/manifest/defaults/default-pod.ts';
import { parseDocument } from '../../../../../../src/workers/pod-sync/manifest/parse-document.ts';
import { decodeValue } from '../../../../../../src/workers/pod-sync/manifest/schema/decode-value.ts';
import { objectMeta } from '../../../../../../src/workers/pod-sync/manifest/schema/metadata.ts';
import { podSpec } from '../../../../../../src/workers/pod-sync/manifest/schema/pod-spec.ts';
import { always, struct } from '../../../../../../src/workers/pod-sync/manifest/schema/types.ts';
import { dumpPointer } from '../../../../../../src/workers/pod-sync/manifest/static-pod-uid/dump.ts';
import { toInternalPod } from '../../../../../../src/workers/pod-sync/manifest/static-pod-uid/internal-pod.ts';
import {
  dumpBudget,
  staticPodUID,
  type ManifestOrigin,
} from '../../../../../../src/workers/pod-sync/manifest/static-pod-uid/static-pod-uid.ts';
import { decodedPod, errorsOf, aManifest } from '../../../../../support/manifests.ts';
import { table } from '../../../../../support/table.ts';

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

/** By this kubelet, which a static pod may not be; its UID is that of Go all the same. */
const isRefused = ({ manifest }: Vector) => manifest.startsWith('refused');

const podSchema = struct({ metadata: always(objectMeta), spec: always(podSpec) });

/** The pods of a document beside what it says of each, whether or not a static pod may be like that. */
function defaultedPods(content: Uint8Array): { document: unknown; pod: Draft<Pod> }[] {
  const parsed = parseDocument(content) as { items?: unknown[] };
  return (parsed.items ?? [parsed]).map((document) => {
    const decoding = { errors: [], values: 0 };
    const pod = decodeValue(podSchema, document, '', decoding) as Draft<Pod>;
    assert.deepEqual(decoding.errors, []);
    defaultPod(pod);
    return { document, pod };
  });
}

function dumpOf({ document, pod }: { document: unknown; pod: Draft<Pod> }): string {
  let dump = '';
  dumpPointer('core.Pod', toInternalPod(document, pod), (piece) => {
    dump += piece;
  });
  return dump;
}

table('pods are printed and hashed as in Go', (row) => {
  for (const vector of vectors) {
    row(`the pods of ${vector.manifest} are printed and hashed as in Go`, () => {
      const pods = defaultedPods(contentOf(vector));
      assert.equal(pods.length, vector.pods.length);
      for (const [index, each] of pods.entries()) {
        assert.equal(dumpOf(each), vector.pods[index]?.dump);
        // The others' UIDs are looked at below, as the kubelet makes them.
        if (isRefused(vector)) assert.equal(staticPodUID(each.document, each.pod, vector, dumpBudget()), vector.pods[index]?.uid);
      }
    });
  }
});

table('a static pod has the UID that a Go kubelet gives it', (row) => {
  for (const vector of vectors.filter((each) => !isRefused(each))) {
    row(`a static pod from ${vector.manifest} has the UID that a Go kubelet gives it`, () => {
      const { source, origin, nodeName } = vector;
      const { pods, errors } = decodeManifest({ source, origin, nodeName, content: contentOf(vector) }, {});
      assert.deepEqual(errors, []);
      assert.deepEqual(
        pods.map(({ metadata }) => metadata.uid),
        vector.pods.map(({ uid }) => uid),
      );
    });
  }
});

test('a status of no known form still gives a UID, and always the same one', () => {
  const odd = {
    ...aManifest(),
    status: { phase: 5, conditions: 'none', containerStatuses: [null, 3, { resources: { limits: { cpu: 'much' } } }] },
  };
  const { uid } = decodedPod(odd).metadata;
  assert.match(uid, /^[0-9a-f]{32}$/);
  assert.equal(decodedPod(odd).metadata.uid, uid);
  assert.notEqual(uid, decodedPod(aManifest()).metadata.uid);
});

test('what a manifest inherits from JavaScript is no part of its UID', () => {
  const odd = { ...aManifest(), constructor: { name: 'x' }, toString: 'x' };
  assert.equal(decodedPod(odd).metadata.uid, decodedPod(aManifest()).metadata.uid);
});

test('a status that is larger than any is refused', () => {
  const containerStatuses = Array.from({ length: 100_001 }, () => 0);
  assert.deepEqual(errorsOf({ ...aManifest(), status: { containerStatuses } }), ['more than 100000 values, which no pod needs']);
});

test('a status that nests without end is refused', () => {
  const deep = `${'['.repeat(2000)}${']'.repeat(2000)}`;
  const manifest = `${JSON.stringify(aManifest()).slice(0, -1)},"status":${deep}}`;
  assert.deepEqual(errorsOf(manifest), ['nested deeper than 1000 levels, which no pod needs']);
});

test('pods that would print without end share one budget, and are refused beyond it', () => {
  const [vector, content] = [vectors[0], vectors[0] && contentOf(vectors[0])];
  assert.ok(vector && content);
  const [first] = defaultedPods(content);
  assert.ok(first);
  const budget = { characters: dumpOf(first).length + 1000 };
  staticPodUID(first.document, first.pod, vector, budget);
  assert.throws(() => staticPodUID(first.document, first.pod, vector, budget), /^Error: pods of more than 67108864 characters in print/);
});
