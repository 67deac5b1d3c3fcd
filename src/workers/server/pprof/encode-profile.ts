/**
 * Encodes V8 profiles for `go tool pprof` (github.com/google/pprof, proto/profile.proto): a tree of frames with weights becomes samples
 * of stacks. Pure.
 */
import { BinaryWriter } from '@bufbuild/protobuf/wire';

export interface Frame {
  readonly functionName: string;
  readonly url: string;
  /** Zero-based; negative when unknown. */
  readonly lineNumber: number;
}

/** A node of the call tree. Its stack is its frame and the frames of its ancestors. */
export interface StackNode {
  readonly frame: Frame;
  /** Weights of this stack without its children, one per sample type. */
  readonly values: readonly number[];
  readonly children: readonly StackNode[];
}

export interface ProfileDescription {
  /** For example `['samples', 'count'], ['cpu', 'nanoseconds']`. */
  readonly sampleTypes: readonly (readonly [type: string, unit: string])[];
  readonly periodType: readonly [type: string, unit: string];
  readonly period: number;
  readonly startedAtMs: number;
  readonly durationMs: number;
}

/**
 * Field numbers of the message Profile in profile.proto. The fields of the messages inside are written as whole tags, `number << 3 | wire type`: 8, 16, 24,
 * 32 and 40 are the integer fields 1 to 5, and 10, 18 and 34 the length-delimited fields 1, 2 and 4.
 */
const field = { sampleType: 1, sample: 2, location: 4, function: 5, strings: 6, time: 9, duration: 10, periodType: 11, period: 12 };

export function encodeProfile(root: StackNode, description: ProfileDescription): Uint8Array {
  const strings = new Map([['', 0]]);
  const text = (value: string): number => {
    const existingIndex = strings.get(value) ?? strings.size;
    strings.set(value, existingIndex);
    return existingIndex;
  };
  const frames = new Map<string, { id: number; frame: Frame }>();
  const locate = (frame: Frame): number => {
    const key = `${frame.functionName}\0${frame.url}\0${frame.lineNumber}`;
    const entry = frames.get(key) ?? { id: frames.size + 1, frame };
    frames.set(key, entry);
    return entry.id;
  };
  const out = new BinaryWriter();
  const message = (number: number, write: (inner: BinaryWriter) => void) => {
    out.uint32((number << 3) | 2).fork();
    write(out);
    out.join();
  };
  const valueType = (number: number, [type, unit]: readonly [string, string]) =>
    message(number, (inner) => inner.uint32(8).int64(text(type)).uint32(16).int64(text(unit)));

  for (const each of description.sampleTypes) valueType(field.sampleType, each);
  walk(root, (stack, values) => {
    message(field.sample, (inner) => {
      inner.uint32(10).fork();
      for (const frame of stack) inner.uint64(locate(frame));
      inner.join().uint32(18).fork();
      for (const value of values) inner.int64(Math.round(value));
      inner.join();
    });
  });
  for (const { id, frame } of frames.values()) {
    const line = Math.max(0, frame.lineNumber + 1);
    message(field.location, (inner) => inner.uint32(8).uint64(id).uint32(34).fork().uint32(8).uint64(id).uint32(16).int64(line).join());
    const name = text(frame.functionName === '' ? '(anonymous)' : frame.functionName);
    message(field.function, (inner) =>
      inner.uint32(8).uint64(id).uint32(16).int64(name).uint32(24).int64(name).uint32(32).int64(text(frame.url)).uint32(40).int64(line),
    );
  }
  valueType(field.periodType, description.periodType);
  for (const value of strings.keys()) out.uint32((field.strings << 3) | 2).string(value);
  out.uint32(field.time << 3).int64(BigInt(Math.round(description.startedAtMs)) * 1_000_000n);
  out.uint32(field.duration << 3).int64(Math.round(description.durationMs * 1e6));
  out.uint32(field.period << 3).int64(description.period);
  return out.finish();
}

/** Calls `onStack` for each stack with a weight, innermost frame first. Avoids recursion, because stacks may be deep. */
function walk(root: StackNode, onStack: (stack: readonly Frame[], values: readonly number[]) => void): void {
  interface PathNode {
    readonly node: StackNode;
    readonly caller: PathNode | null;
  }
  const todo: PathNode[] = [{ node: root, caller: null }];
  for (let pathNode = todo.pop(); pathNode !== undefined; pathNode = todo.pop()) {
    const { node } = pathNode;
    if (node.values.some((value) => value !== 0)) {
      const stack: Frame[] = [];
      // Skips the root, which is not a function.
      for (let ancestor: PathNode | null = pathNode; ancestor?.caller; ancestor = ancestor.caller) stack.push(ancestor.node.frame);
      onStack(stack, node.values);
    }
    for (const child of node.children) todo.push({ node: child, caller: pathNode });
  }
}
