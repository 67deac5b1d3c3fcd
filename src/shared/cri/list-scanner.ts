/**
 * Scans ListPodSandboxResponse and ListContainersResponse without allocating an object per item. Both lists arrive every second
 * and rarely differ from the previous ones. Decoding 1,000 containers costs 3 to 5 ms and 9 MB; finding id, sandbox and state in
 * the bytes costs 0.35 ms and no memory. A caller that needs a whole item decodes its byte range. The messages of
 * StreamPodSandboxes and StreamContainers have the same form: their items are field 1 too.
 */

/** The bytes are not a valid list. The message has the name of the list and the offset. */
export class ListScanError extends Error {
  override readonly name = 'ListScanError';
  constructor(list: string, offset: number, problem: string) {
    super(`${list}: malformed reply at byte ${offset}: ${problem}`);
  }
}

/** The field numbers of an item, from CRI's api.proto (PodSandbox, Container). Sandboxes have no field for a parent sandbox: 0. */
export interface ListLayout {
  /** The name of the call, for errors. */
  readonly list: string;
  readonly idField: number;
  readonly sandboxIdField: number;
  readonly stateField: number;
}

export const sandboxList: ListLayout = { list: 'ListPodSandbox', idField: 1, sandboxIdField: 0, stateField: 3 };
export const containerList: ListLayout = { list: 'ListContainers', idField: 1, sandboxIdField: 2, stateField: 6 };

/**
 * Called for each item in order. The arguments but `state` are offsets into the list's bytes; ends are exclusive. `start` and
 * `end` are those of the whole item. An absent field is an empty range; an absent state is 0.
 */
export interface ListVisitor {
  item(
    bytes: Uint8Array,
    idStart: number,
    idEnd: number,
    sandboxIdStart: number,
    sandboxIdEnd: number,
    state: number,
    start: number,
    end: number,
  ): void;
}

/**
 * The position of the scan. One object serves the module, so a scan allocates nothing. Scans never overlap, because a scan never
 * awaits and a visitor never starts a scan.
 */
const cursor = { offset: 0, listText: '' };

/** Calls `visitor` for every item. Throws ListScanError at the first malformed byte, after visiting the items before it. */
export function scanList(layout: ListLayout, bytes: Uint8Array, visitor: ListVisitor): void {
  cursor.offset = 0;
  cursor.listText = layout.list;
  const end = bytes.length;
  while (cursor.offset < end) {
    const tag = readTag(bytes, end);
    if (tag === itemTag) {
      const itemEnd = readLength(bytes, end);
      scanItem(layout, bytes, cursor.offset, itemEnd, visitor);
      cursor.offset = itemEnd;
    } else skipField(bytes, tag, end, 0);
  }
}

const varint = 0;
const fixed64 = 1;
const lengthDelimited = 2;
const startGroup = 3;
const endGroup = 4;
const fixed32 = 5;
/** Field 1, length-delimited. */
const itemTag = (1 << 3) | lengthDelimited;
/** The limit for nested groups. proto3 has no groups, so only a malicious sender reaches it. */
const maxGroupDepth = 100;

/** Reads like any protobuf parser: fields in any order, unknown fields skipped, the last value of a repeated scalar. */
function scanItem(layout: ListLayout, bytes: Uint8Array, start: number, end: number, visitor: ListVisitor): void {
  let idStart = start;
  let idEnd = start;
  let sandboxIdStart = start;
  let sandboxIdEnd = start;
  let state = 0;
  cursor.offset = start;
  while (cursor.offset < end) {
    const tag = readTag(bytes, end);
    const field = tag >>> 3;
    const type = tag & 7;
    if (field === layout.stateField && type === varint) state = readVarint(bytes, end);
    else if (type === lengthDelimited) {
      const valueEnd = readLength(bytes, end);
      if (field === layout.idField) {
        idStart = cursor.offset;
        idEnd = valueEnd;
      } else if (field === layout.sandboxIdField) {
        sandboxIdStart = cursor.offset;
        sandboxIdEnd = valueEnd;
      }
      cursor.offset = valueEnd;
    } else skipField(bytes, tag, end, 0);
  }
  visitor.item(bytes, idStart, idEnd, sandboxIdStart, sandboxIdEnd, state, start, end);
}

function readTag(bytes: Uint8Array, end: number): number {
  const start = cursor.offset;
  const tag = readVarint(bytes, end);
  if (tag >>> 3 === 0) throw new ListScanError(cursor.listText, start, 'field number 0');
  return tag;
}

/** Reads a length and returns the end of the value. The value starts at the cursor. */
function readLength(bytes: Uint8Array, end: number): number {
  const start = cursor.offset;
  const length = readVarint(bytes, end);
  const valueEnd = cursor.offset + length;
  if (length < 0 || valueEnd > end)
    throw new ListScanError(cursor.listText, start, `${length >>> 0} bytes announced, ${end - cursor.offset} left`);
  return valueEnd;
}

/** Returns the low 32 bits as a signed number. No scanned field is larger. */
function readVarint(bytes: Uint8Array, end: number): number {
  const start = cursor.offset;
  let value = 0;
  // A varint has at most ten bytes, of seven bits each.
  for (let shift = 0; shift < 70; shift += 7) {
    if (cursor.offset >= end) throw new ListScanError(cursor.listText, start, 'ends within a number');
    const byte = bytes[cursor.offset]!;
    cursor.offset += 1;
    if (shift < 32) value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  throw new ListScanError(cursor.listText, start, 'a number longer than 10 bytes');
}

function skipField(bytes: Uint8Array, tag: number, end: number, depth: number): void {
  const start = cursor.offset;
  switch (tag & 7) {
    case varint:
      readVarint(bytes, end);
      return;
    case fixed64:
      cursor.offset += 8;
      break;
    case lengthDelimited:
      cursor.offset = readLength(bytes, end);
      break;
    case startGroup:
      if (depth >= maxGroupDepth) throw new ListScanError(cursor.listText, start, 'groups nested too deep');
      skipGroup(bytes, tag >>> 3, end, depth);
      break;
    case fixed32:
      cursor.offset += 4;
      break;
    default:
      throw new ListScanError(cursor.listText, start, `wire type ${tag & 7}`);
  }
  if (cursor.offset > end) throw new ListScanError(cursor.listText, start, 'ends within a field');
}

function skipGroup(bytes: Uint8Array, field: number, end: number, depth: number): void {
  for (;;) {
    const tag = readTag(bytes, end);
    if ((tag & 7) === endGroup && tag >>> 3 === field) return;
    skipField(bytes, tag, end, depth + 1);
  }
}
