/**
 * Turns the bytes of a pod manifest into validated static pods. Pure: no files, no network, no clock.
 *
 *   bytes ─parse-document─▶ plain values ─decode-value─▶ pod ─defaults/─▶ make-static, static-pod-uid/ ─▶ validation/ ─▶ pods or errors
 *
 * Called by the sync pool, which decodes manifests for the file and HTTP sources, so that a large or malicious manifest never blocks the
 * main thread.
 */
export { decodeManifest } from './decode-manifest.ts';
