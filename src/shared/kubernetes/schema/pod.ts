/** Schema of a pod that the API server sends. */
import { objectMeta } from './metadata.ts';
import { podSpec } from './pod-spec.ts';
import { podStatus } from './pod-status.ts';
import { always, struct, text } from './types.ts';

export const pod = struct({
  apiVersion: text,
  kind: text,
  metadata: always(objectMeta),
  spec: always(podSpec),
  status: podStatus,
});
