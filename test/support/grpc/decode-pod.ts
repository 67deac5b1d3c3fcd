/** Decodes the fields of a v1.Pod that tests compare. The encoder's own table has the numbers; its vectors verify them. */
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import type { Pod } from '../../../src/shared/kubernetes/api.ts';
import { messageFields } from '../../../src/workers/server/pods-api/message-table.ts';

/** Times are messages of seconds; quantities and integers-or-strings are left out. */
export function decodePod(bytes: Uint8Array): Pod {
  return decode('Pod', bytes) as unknown as Pod;
}

function decode(message: string, bytes: Uint8Array): Record<string, unknown> {
  const reader = new BinaryReader(bytes);
  const object: Record<string, unknown> = {};
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    const field = messageFields(message).find((one) => one.number === number);
    if (!field) {
      reader.skip(wireType);
      continue;
    }
    const { presence, type, name } = field;
    if (wireType === WireType.Varint) object[name] = type === 'b' ? reader.bool() : Number(reader.int64());
    else if (presence === '%') Object.assign((object[name] ??= {}), decodeEntry(type, reader.bytes()));
    else {
      const value = decodeValue(type, reader.bytes());
      if (presence === '*') ((object[name] ??= []) as unknown[]).push(value);
      else if (name === '') Object.assign(object, value);
      else object[name] = value;
    }
  }
  return object;
}

function decodeValue(type: string, bytes: Uint8Array): unknown {
  if (type === 's') return Buffer.from(bytes).toString();
  return 'QTIF'.includes(type) ? { bytes } : decode(type, bytes);
}

function decodeEntry(type: string, bytes: Uint8Array): Record<string, unknown> {
  const reader = new BinaryReader(bytes);
  reader.tag();
  const key = reader.string();
  reader.tag();
  return { [key]: decodeValue(type, reader.bytes()) };
}
