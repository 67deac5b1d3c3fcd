/** Schema of objects other than pods. Only the fields that the kubelet reads. */
import { objectMeta } from './metadata.ts';
import { always, bool, int32, int64, list, map, quantity, struct, text } from './types.ts';

const metadata = always(objectMeta);

export const service = struct({
  metadata,
  spec: struct({ clusterIP: text, ports: list(struct({ name: text, port: always(int32), protocol: text })) }),
});
export const runtimeClass = struct({ metadata, handler: text });
export const csiDriver = struct({ metadata, spec: struct({ nodeAllocatableUpdatePeriodSeconds: int64 }) });
export const clusterTrustBundle = struct({ metadata, spec: struct({ signerName: text, trustBundle: text }) });
export const node = struct({
  metadata,
  spec: struct({
    podCIDRs: list(text),
    providerID: text,
    taints: list(struct({ key: always(text), value: text, effect: always(text) })),
    unschedulable: bool,
  }),
  status: struct({
    capacity: map(quantity),
    allocatable: map(quantity),
    addresses: list(struct({ type: always(text), address: always(text) })),
    conditions: list(struct({ type: always(text), status: always(text), reason: text, message: text })),
    volumesInUse: list(text),
    volumesAttached: list(struct({ name: always(text) })),
  }),
});
