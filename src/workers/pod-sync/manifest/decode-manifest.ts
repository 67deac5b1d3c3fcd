/**
 * Decodes the bytes of a manifest into pods: parses, decodes by schema, applies defaults, makes the pods static and validates them
 * (upstream pkg/kubelet/config/common.go). Runs in the sync pool. The result is pods or errors for any input; the function never throws.
 */
import type { DecodeManifestResult, DecodeManifestTask } from '../../../shared/contracts/pod-sync/decode-manifest.ts';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { Draft, Pod } from '../../../shared/kubernetes/api.ts';
import { apiReferenceError } from './api-references.ts';
import { defaultPod } from './defaults/default-pod.ts';
import type { ManifestGates } from './manifest-gates.ts';
import { parseDocument } from './parse-document.ts';
import { decodeValue } from './decode-value.ts';
import { objectMeta } from '../../../shared/kubernetes/schema/metadata.ts';
import { podSpec } from '../../../shared/kubernetes/schema/pod-spec.ts';
import { always, struct } from '../../../shared/kubernetes/schema/types.ts';
import { documentSizeError } from './static-pod-uid/document-size.ts';
import { dumpBudget, type DumpBudget, type ManifestOrigin } from './static-pod-uid/static-pod-uid.ts';
import { makeStatic } from './make-static.ts';
import { validatePod } from './validation/validate-pod.ts';

/** A manifest's status is ignored, because the kubelet computes the status. */
const podSchema = struct({ metadata: always(objectMeta), spec: always(podSpec) });

/** Limits the output for a malicious manifest. */
const maxErrors = 100;
/** Exceeds by far the number of pods that a node can run. */
const maxListedPods = 10_000;

/** A file contains one Pod. A URL returns a Pod or a PodList. */
export function decodeManifest(task: DecodeManifestTask, gates: ManifestGates): DecodeManifestResult {
  const unreadable = (reason: string) => ({
    pods: [],
    errors: [`${redactedOrigin(task)}: couldn't parse as pod: ${reason}`],
    readable: false,
  });
  try {
    const document = parseDocument(task.content);
    if (!isObject(document)) return unreadable('not an object');
    const { apiVersion, kind, items } = document;
    if (typeof kind !== 'string' || kind === '') return unreadable("Object 'Kind' is missing");
    if (typeof apiVersion !== 'string' || apiVersion === '') return unreadable("Object 'apiVersion' is missing");
    if (apiVersion === 'v1' && kind === 'Pod') return decodePods(task, gates, [document], () => '');
    if (apiVersion !== 'v1' || kind !== 'PodList')
      return unreadable(`a Pod of v1 is needed, not a ${shorten(kind)} of ${shorten(apiVersion)}`);
    if (task.source === 'file') return unreadable('a file must hold a Pod, not a PodList');
    if (items !== undefined && items !== null && !Array.isArray(items)) return unreadable('items: must be a list');
    if (items && items.length > maxListedPods)
      return unreadable(`items: Too many: ${items.length}: must have at most ${maxListedPods} items`);
    return decodePods({ ...task, inList: true }, gates, items ?? [], (index) => `items[${index}].`);
  } catch (err) {
    return unreadable(messageOf(err));
  }
}

function decodePods(
  task: DecodeManifestTask & ManifestOrigin,
  gates: ManifestGates,
  documents: readonly unknown[],
  prefix: (index: number) => string,
): DecodeManifestResult {
  const pods: Pod[] = [];
  const errors: string[] = [];
  const budget = dumpBudget();
  let omitted = 0;
  for (const [index, document] of documents.entries()) {
    const result = decodePod(task, gates, document, budget);
    if (result.pod) pods.push(result.pod);
    const reported = result.errors.slice(0, maxErrors - errors.length);
    for (const each of reported) errors.push(`${redactedOrigin(task)}: invalid pod: ${prefix(index)}${each}`);
    omitted += result.errors.length - reported.length;
  }
  if (omitted > 0) errors.push(`${redactedOrigin(task)}: and ${omitted} more errors`);
  return { pods, errors, readable: true };
}

interface DecodedPod {
  readonly pod: Pod | null;
  readonly errors: readonly string[];
}

function decodePod(task: DecodeManifestTask & ManifestOrigin, gates: ManifestGates, document: unknown, budget: DumpBudget): DecodedPod {
  if (!isObject(document)) return { pod: null, errors: ['not an object'] };
  const sizeError = documentSizeError(document);
  if (sizeError !== null) return { pod: null, errors: [sizeError] };
  const decoding = { errors: [], values: 0 };
  const decoded = decodeValue(podSchema, document, '', decoding) as Pick<Draft<Pod>, 'metadata' | 'spec'>;
  if (decoding.errors.length > 0) return { pod: null, errors: decoding.errors };
  const pod: Draft<Pod> = { apiVersion: 'v1', kind: 'Pod', ...decoded };
  if (!pod.metadata.name) return { pod: null, errors: ['name is needed for the pod'] };
  defaultPod(pod, gates);
  makeStatic(pod, document, task, gates, budget);
  const validationErrors = validatePod(pod, gates);
  if (validationErrors.length > 0) return { pod: null, errors: validationErrors };
  const reference = apiReferenceError(pod);
  if (reference !== null) return { pod: null, errors: [reference] };
  return { pod, errors: [] };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Removes the password from a URL. */
function redactedOrigin({ source, origin }: DecodeManifestTask): string {
  return source === 'http' ? origin.replace(/\/\/[^/@]*@/, '//') : origin;
}

function shorten(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);
}
