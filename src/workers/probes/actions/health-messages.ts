/** The two messages of grpc.health.v1.Health/Check: a request with a service name, a response with a status. */
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';

const statusNames = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'];

export function encodeHealthRequest(service: string): Buffer {
  const writer = new BinaryWriter();
  if (service !== '') writer.tag(1, WireType.LengthDelimited).string(service);
  return Buffer.from(writer.finish());
}

/** Returns the name of the status, or the number of an unknown status, as Go prints it. Throws for bytes that are not a message. */
export function decodeHealthStatus(bytes: Uint8Array): string {
  const reader = new BinaryReader(bytes);
  let status = 0;
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (field === 1 && wireType === WireType.Varint) status = reader.int32();
    else reader.skip(wireType);
  }
  return statusNames[status] ?? String(status);
}
