/**
 * Decodes an event of GetContainerEvents without the statuses of its pod's containers. containerd adds all of them to every event, and nobody
 * reads them: the decoding of n events of a pod with n dead instances would cost n².
 */
import { BinaryReader } from '@bufbuild/protobuf/wire';
import { ContainerEventResponse } from './generated/cri-v1.ts';

const containersStatusesField = 5;

export type RuntimeEvent = Omit<ContainerEventResponse, 'containersStatuses'>;

/** Throws for malformed bytes. */
export function decodeEvent(bytes: Uint8Array): RuntimeEvent {
  const reader = new BinaryReader(bytes);
  const fields: Uint8Array[] = [];
  while (reader.pos < reader.len) {
    const start = reader.pos;
    const [field, wireType] = reader.tag();
    reader.skip(wireType, field);
    if (field !== containersStatusesField) fields.push(bytes.subarray(start, reader.pos));
  }
  return ContainerEventResponse.decode(Buffer.concat(fields));
}
