/** The files that the programs of values/ and inventory/ print. `npm run upstream` writes them. */

/** The manifests whose UIDs are computed by upstream's functions. */
export const uidVectors = 'test/integration/manifest/static-pod-uid/vectors';

export interface GeneratedFile {
  /** Relative to the project. */
  readonly file: string;
  /** What prints it: a program of values/ and its arguments, or inventory and a kind of things. */
  readonly command: readonly [program: string, ...args: string[]];
}

/** @param project the folder of the project */
export function generatedFiles(project: string): readonly GeneratedFile[] {
  return [
    { file: 'proto/cri-v1.json', command: ['values', 'protocol', 'cri-v1'] },
    { file: 'proto/pods-v1alpha1.json', command: ['values', 'protocol', 'pods-v1alpha1'] },
    { file: 'proto/podresources-v1.json', command: ['values', 'protocol', 'podresources-v1'] },
    { file: 'src/workers/server/pods-api/generated/pod-messages.ts', command: ['values', 'pod-protobuf'] },
    { file: 'src/main/config/generated/feature-gate-table.ts', command: ['featuregates'] },
    { file: 'src/workers/pod-sync/manifest/static-pod-uid/generated/go-types.ts', command: ['values', 'static-pod-types'] },
    { file: 'test/conformance/upstream-images.json', command: ['inventory', 'images'] },
    { file: `${uidVectors}/expected.jsonl`, command: ['values', 'static-pod-uids', `${project}/${uidVectors}`] },
    { file: 'test/unit/shared/cgroups/cgroup-vectors.jsonl', command: ['values', 'cgroups'] },
    { file: 'test/unit/main/eviction/eviction-vectors.jsonl', command: ['values', 'evictions'] },
    { file: 'test/unit/shared/metrics/exposition/histogram-vectors.jsonl', command: ['values', 'histograms'] },
    { file: 'test/unit/main/pods/admission/admission-vectors.jsonl', command: ['values', 'admission'] },
    { file: 'test/unit/workers/server/pods-api/pod-protobuf-vectors.jsonl', command: ['values', 'pods-as-protobuf'] },
  ];
}

/** What determines the generated files beside the version: glob patterns of the programs and of their input. */
export const generatorSources: readonly string[] = ['scripts/upstream/{values,inventory}/**/*', `${uidVectors}/*.manifest`];
