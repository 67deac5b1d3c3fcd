/** Names that two files export, with the reason why both have one meaning. */
import type { SharedName } from './check-exports.ts';

export const sharedNames: readonly SharedName[] = [
  {
    name: 'decodeManifest',
    files: ['src/workers/pod-sync/index.ts', 'src/workers/pod-sync/manifest/decode-manifest.ts'],
    reason: 'the entry of the sync pool loads the decoder with the first manifest, and calls it',
  },
  {
    name: 'runIPTables',
    files: ['src/workers/pod-sync/index.ts', 'src/workers/pod-sync/node/network-chains.ts'],
    reason: 'the entry of the sync pool loads the other with the first call, and calls it',
  },
];
