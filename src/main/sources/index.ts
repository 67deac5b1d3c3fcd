/**
 * The sources of pods: a folder or file of manifests, a URL, and the API server, merged into one stream of updates. Owns the watching,
 * reading and merging; the sync pool decodes manifests. The composition root starts the sources; the sync loop takes the updates.
 */
export type { SourceChanges, PodOperation, PodSource, PodUpdate } from './merge-pods.ts';
export { PodConfig, SourcesReady, type PodConfigOptions } from './pod-config.ts';
export { configuredSources, PodSources, type PodSourcesOptions } from './pod-sources.ts';
export type { DecodeManifest, SourceError } from './manifest-source.ts';
