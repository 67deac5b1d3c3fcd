/**
 * Encodes a pod's JSON as protobuf, to the same bytes as `Marshal` of Go's v1.Pod: fields in the order of their numbers, entries of maps in
 * the order of their keys. A field that is no pointer in Go is written even when it is empty. Unknown fields are left out. The one-letter codes
 * of `presence` and `type` are explained in message-table.ts.
 */
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { canonicalQuantity, QuantityError } from '../../../shared/kubernetes/quantity.ts';
import { messageFields, type MessageField } from './message-table.ts';

type JsonObject = Readonly<Record<string, unknown>>;

export function encodePod(pod: object): Uint8Array {
  const writer = new BinaryWriter();
  writeFields(writer, 'Pod', pod as JsonObject);
  return writer.finish();
}

function writeFields(writer: BinaryWriter, message: string, object: JsonObject): void {
  for (const field of messageFields(message)) writeField(writer, field, field.name === '' ? object : (object[field.name] ?? null));
}

/** @param value null when the field is absent */
function writeField(writer: BinaryWriter, { number, presence, type }: MessageField, value: unknown): void {
  switch (presence) {
    case '!':
      return writeValue(writer, number, type, value);
    case '?':
      if (value !== null) writeValue(writer, number, type, value);
      return;
    case '*':
      for (const element of Array.isArray(value) ? (value as readonly unknown[]) : []) writeValue(writer, number, type, element);
      return;
    case '%':
      for (const [key, entry] of Object.entries((value ?? {}) as JsonObject).sort(byKey)) {
        // A map entry is a message: 1 is the key, 2 the value.
        writer.tag(number, WireType.LengthDelimited).fork();
        writeText(writer, 1, key);
        writeValue(writer, 2, type, entry);
        writer.join();
      }
      return;
    default:
      presence satisfies never;
  }
}

/** Go compares the bytes of strings. */
function byKey([a]: [string, unknown], [b]: [string, unknown]): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** Writes Go's zero value for null. */
function writeValue(writer: BinaryWriter, number: number, type: string, value: unknown): void {
  switch (type) {
    case 's':
      return writeText(writer, number, typeof value === 'string' ? value : '');
    case 'b':
      writer.tag(number, WireType.Varint).bool(value === true);
      return;
    case 'i':
      return writeInteger(writer, number, value);
    default:
      writer.tag(number, WireType.LengthDelimited).fork();
      writeMessage(writer, type, value);
      writer.join();
  }
}

function writeMessage(writer: BinaryWriter, type: string, value: unknown): void {
  switch (type) {
    case 'Q':
      return writeText(writer, 1, quantityText(value));
    case 'T':
      return writeTime(writer, value);
    case 'I':
      return writeIntOrString(writer, value);
    case 'F':
      return writeText(writer, 1, JSON.stringify(value));
    default:
      writeFields(writer, type, (value ?? {}) as JsonObject);
  }
}

function writeText(writer: BinaryWriter, number: number, text: string): void {
  writer.tag(number, WireType.LengthDelimited).string(text);
}

/** 32-bit and 64-bit integers have the same encoding. */
function writeInteger(writer: BinaryWriter, number: number, value: unknown): void {
  writer.tag(number, WireType.Varint).int64(Number.isSafeInteger(value) ? (value as number) : 0);
}

function quantityText(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value ?? 0);
  try {
    return canonicalQuantity(text);
  } catch (err) {
    if (err instanceof QuantityError) return text;
    throw err;
  }
}

/** Go writes this zero time as a message without fields. */
const zeroTimeMs = Date.parse('0001-01-01T00:00:00Z');

/** Whole seconds, as Go's `ProtoTime`: 1 is the seconds, 2 the nanoseconds. */
function writeTime(writer: BinaryWriter, value: unknown): void {
  const ms = typeof value === 'string' ? Date.parse(value) : NaN;
  if (Number.isNaN(ms) || ms === zeroTimeMs) return;
  writeInteger(writer, 1, Math.floor(ms / 1000));
  writeInteger(writer, 2, 0);
}

/** 1 is the type (0: int, 1: string), 2 the int, 3 the string. */
function writeIntOrString(writer: BinaryWriter, value: unknown): void {
  const isText = typeof value === 'string';
  writeInteger(writer, 1, isText ? 1 : 0);
  writeInteger(writer, 2, isText ? 0 : value);
  writeText(writer, 3, isText ? value : '');
}
