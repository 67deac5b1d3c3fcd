/** Compares decisions of admission and preemption with those that upstream's own code made (scripts/admission-values). */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { AllocatedPod } from '../../../../../src/main/allocation/index.ts';
import { predicateAdmission, type AdmissionNode } from '../../../../../src/main/pods/admission/index.ts';
import type { Pod } from '../../../../../src/shared/kubernetes/api.ts';
import { table } from '../../../../support/table.ts';

interface Decision {
  readonly node: string;
  readonly pod: string;
  readonly active: readonly string[];
  readonly admit: boolean;
  readonly reason?: string;
  readonly message?: string;
  readonly victims?: readonly string[];
  /** The label of kubelet_preemptions. */
  readonly signal?: string;
}

const rows = readFileSync(new URL('./admission-vectors.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as { readonly kind: string; readonly row: unknown });
const rowsOf = <T>(kind: string) => rows.flatMap((line) => (line.kind === kind ? [line.row as T] : []));
const pods = new Map(rowsOf<AllocatedPod>('pods').map((pod) => [pod.metadata.name, pod]));
const nodes = new Map(rowsOf<AdmissionNode>('nodes').map((node) => [node.metadata.name, node]));

function decide({ node, pod, active }: Decision): Omit<Decision, 'node' | 'pod' | 'active'> {
  const result = predicateAdmission({ node: () => nodes.get(node)!, tolerationComparisons: false })(
    pods.get(pod)!,
    active.map((name) => pods.get(name)!),
  );
  if (!result) return { admit: true };
  if ('rejection' in result) return { admit: false, reason: result.rejection.reason, message: result.rejection.message };
  const { victims, resources } = result.preemption;
  return { admit: true, victims: victims.map(({ metadata }) => metadata.name), signal: resources[0]! };
}

/** Of pods with the same requests upstream preempts any: the kubelet's pods have no order. */
function bySignature({ victims, ...decision }: ReturnType<typeof decide>): object {
  return victims ? { ...decision, victims: victims.map((name) => requestsOf(pods.get(name)!)) } : decision;
}

function requestsOf({ spec: { containers, initContainers = [], overhead, resources } }: Pod): string {
  return JSON.stringify([[...containers, ...initContainers].map((container) => container.resources), overhead, resources]);
}

table('the decision of upstream’s admission', (row) => {
  for (const decision of rowsOf<Decision>('decisions')) {
    const { node, pod, active, ...want } = decision;
    row(`${pod} on ${node} with ${active.join(', ')}`, () => assert.deepEqual(bySignature(decide(decision)), bySignature(want)));
  }
});

test('the decisions have preemptions of each size, and rejections for each reason', () => {
  const all = rowsOf<Decision>('decisions');
  const sizes = new Set(all.map(({ victims }) => victims?.length ?? 0));
  assert.deepEqual(
    [0, 1, 2, 3, 4, 5].filter((size) => !sizes.has(size)),
    [],
  );
  const reasons = new Set(all.map(({ reason }) => reason));
  assert.ok(reasons.has('UnexpectedAdmissionError') && reasons.has('TaintToleration') && reasons.size > 10, [...reasons].join());
});
