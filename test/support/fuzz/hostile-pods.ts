/**
 * Generates hostile pods from the schema of a pod, so that no field is forgotten: valid pods with some fields of
 * absurd values or wrong types, and pods with random fields only. A pod is determined by its seed and its index.
 */
import * as fc from 'fast-check';
import type { Arbitrary } from 'fast-check';
import type { Pod } from '../../../src/shared/kubernetes/api.ts';
import { conform } from '../../../src/shared/kubernetes/schema/conform.ts';
import { pod as podSchema } from '../../../src/shared/kubernetes/schema/pod.ts';
import type { Schema } from '../../../src/shared/kubernetes/schema/types.ts';
import { absurd, foreign } from './hostile-values.ts';

const key = absurd.text as Arbitrary<string>;

/** A step from an object to its content; lists and maps have one step for all elements. */
type Step = { readonly field: string } | 'element' | 'entry';
export interface FieldPath {
  readonly steps: readonly Step[];
  readonly schema: Schema;
}

/** Every field of a pod, including structs and lists, in the order of the schema. */
export const fieldPaths: readonly FieldPath[] = pathsOf(podSchema, []);

function pathsOf(schema: Schema, steps: readonly Step[]): FieldPath[] {
  switch (schema.kind) {
    case 'struct': {
      const fields = Object.entries(schema.fields).flatMap(([field, fieldSchema]) => pathsOf(fieldSchema, [...steps, { field }]));
      return steps.length === 0 ? fields : [{ steps, schema }, ...fields];
    }
    case 'list':
    case 'map':
      return [{ steps, schema }, ...pathsOf(schema.element, [...steps, schema.kind === 'list' ? 'element' : 'entry'])];
    case 'pointer':
    case 'always':
      return pathsOf(schema.element, steps);
    case 'text':
    case 'bool':
    case 'int32':
    case 'int64':
    case 'quantity':
    case 'intOrString':
    case 'time':
      return [{ steps, schema }];
    default:
      return schema satisfies never;
  }
}

/** A value of the type with absurd parts; a share `foreignShare` of the fields has another type. */
function valueOf(schema: Schema, foreignShare: number, depth = 0): Arbitrary<unknown> {
  const own = ownValueOf(schema, foreignShare, depth);
  if (foreignShare === 0) return own;
  return fc.oneof({ weight: 100 - foreignShare, arbitrary: own }, { weight: foreignShare, arbitrary: foreign });
}

function ownValueOf(schema: Schema, foreignShare: number, depth: number): Arbitrary<unknown> {
  switch (schema.kind) {
    case 'struct': {
      const fields = Object.fromEntries(
        Object.entries(schema.fields).map(([name, field]) => [name, optionalValue(valueOf(field, foreignShare, depth + 1), field, depth)]),
      );
      return fc.record(fields, { noNullPrototype: true }).map(withoutUndefined);
    }
    case 'list':
      return fc.array(valueOf(schema.element, foreignShare, depth + 1), { maxLength: 3 });
    case 'map':
      return fc.dictionary(key, valueOf(schema.element, foreignShare, depth + 1), { maxKeys: 4 });
    case 'pointer':
    case 'always':
      return ownValueOf(schema.element, foreignShare, depth);
    case 'text':
    case 'bool':
    case 'int32':
    case 'int64':
    case 'quantity':
    case 'intOrString':
    case 'time':
      return absurd[schema.kind];
    default:
      return schema satisfies never;
  }
}

/** Required fields are usually present, deeply nested ones usually absent. */
function optionalValue(value: Arbitrary<unknown>, schema: Schema, depth: number): Arbitrary<unknown> {
  const [present, absent] = schema.kind === 'always' ? [20, 1] : depth < 3 ? [1, 2] : [1, 5];
  return fc.oneof({ weight: present, arbitrary: value }, { weight: absent, arbitrary: fc.constant(undefined) });
}

function withoutUndefined(object: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));
}

interface Change {
  readonly path: FieldPath;
  readonly value: unknown;
  /** The element to use where the path passes a list. */
  readonly index: number;
  readonly key: string;
}

const changesByPath = new Map<FieldPath, Arbitrary<Change>>();

function changeTo(path: FieldPath): Arbitrary<Change> {
  const cached = changesByPath.get(path);
  if (cached) return cached;
  const value = fc.oneof({ weight: 12, arbitrary: valueOf(path.schema, 0) }, { weight: 1, arbitrary: foreign });
  const change = fc.record({ path: fc.constant(path), value, index: fc.nat(2), key });
  changesByPath.set(path, change);
  return change;
}

/** The fields that a container needs to run on the simulated runtime. */
const basePod = (image: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {},
  spec: {
    dnsPolicy: 'Default',
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 1,
    enableServiceLinks: false,
    automountServiceAccountToken: false,
    containers: [{ name: 'app', image, imagePullPolicy: 'IfNotPresent', resources: {} }],
  },
});

const images = fc.constantFrom('sim/run:1', 'sim/exit:0', 'sim/exit:1', 'sim/createfails:1', 'sim/unpullable:1');
const anyChange = fc.constantFrom(...fieldPaths).chain(changeTo);
const randomPod = (foreignShare: number) => ownValueOf(podSchema, foreignShare, 0) as Arbitrary<Record<string, unknown>>;
const [wellTypedPod, illTypedPod] = [randomPod(0), randomPod(1)];

/** A valid pod with some absurd fields, including `field`; sometimes a pod with absurd fields only. */
export function hostilePod(field: FieldPath): Arbitrary<Record<string, unknown>> {
  const changed = fc
    .tuple(changeTo(field), fc.array(anyChange, { maxLength: 4 }), images)
    .map(([own, others, image]) => [...others, own].reduce<unknown>(applyChange, basePod(image)) as Record<string, unknown>);
  return fc.oneof({ weight: 8, arbitrary: changed }, { weight: 1, arbitrary: wellTypedPod }, { weight: 1, arbitrary: illTypedPod });
}

/** Returns the object with the field set. Creates missing parents; keeps parents of another type. */
function applyChange(object: unknown, { path, value, index, key: entry }: Change): unknown {
  const set = (target: unknown, steps: readonly Step[]): unknown => {
    const [step, ...rest] = steps;
    if (step === undefined) return value;
    if (step === 'element') {
      const list = Array.isArray(target) ? [...(target as unknown[])] : [];
      const position = Math.min(index, list.length);
      list[position] = set(list[position], rest);
      return list;
    }
    const fields =
      typeof target === 'object' && target !== null && !Array.isArray(target) ? { ...(target as Record<string, unknown>) } : {};
    const name = step === 'entry' ? entry : step.field;
    const before = Object.hasOwn(fields, name) ? fields[name] : undefined;
    Object.defineProperty(fields, name, { value: set(before, rest), enumerable: true, configurable: true, writable: true });
    return fields;
  };
  return set(object, path.steps);
}

/** The pods of a seed, as decoded JSON. Each field of the schema is the subject of one pod in rotation. */
export function hostilePods(seed: number, count: number): Record<string, unknown>[] {
  return Array.from({ length: count }, (_, index) => {
    const field = fieldPaths[(seed + index) % fieldPaths.length] ?? fieldPaths[0]!;
    const [pod] = fc.sample(hostilePod(field), { numRuns: 1, seed: seed + index });
    return JSON.parse(JSON.stringify(pod)) as Record<string, unknown>;
  });
}

/** The pods that the API source accepts, with unique names. */
export function acceptedPods(seed: number, count: number): Pod[] {
  return hostilePods(seed, count).flatMap((pod, index) => {
    const metadata = typeof pod['metadata'] === 'object' && !Array.isArray(pod['metadata']) ? pod['metadata'] : {};
    const { value, problem } = conform(podSchema, {
      ...pod,
      metadata: { ...metadata, name: `pod-${index}`, namespace: 'default', uid: `uid-${index}` },
    });
    const accepted = value as Pod;
    return problem === null && accepted.spec.containers.length > 0 ? [accepted] : [];
  });
}

const defaultSeed = 20_261_123;

/** Fixed by default, so that a test run depends on the code only. `FUZZ_SEED=7` selects another seed, `FUZZ_SEED=random` a random one. */
export function fuzzSeeds(): readonly number[] {
  const given = process.env['FUZZ_SEED'] ?? defaultSeed;
  return [given === 'random' ? Math.trunc(Math.random() * 2 ** 31) : Number(given)];
}
