/**
 * Where pods come from: a folder or file of manifests, a URL, and the API server; merged into one stream of
 * changes for the sync loop. Owns the watching, reading and merging; decoding happens in the sync pool.
 */
export type { PodChanges, PodOperation, PodSource, PodUpdate } from './merge-pods.ts';
export { PodConfig, SourcesReady, type PodConfigOptions } from './pod-config.ts';
export { PodSources, type PodSourcesOptions } from './pod-sources.ts';
export type { DecodeManifest, SourceError } from './manifest-source.ts';
