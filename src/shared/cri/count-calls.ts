/**
 * Counts CRI calls in the runtime operation metrics, under upstream's operation names
 * (pkg/kubelet/kuberuntime/instrumented_services.go). Passed to CriClient as `onCall`.
 */
import { runtimeOperations, runtimeOperationsDuration, runtimeOperationsErrors } from '../metrics/definitions/runtime-operations.ts';
import type { CallObserver } from './client.ts';

/** Operations whose name is not the call's name in snake case. A streamed list counts as the same operation as a unary one. */
const irregularNames: Readonly<Record<string, string>> = {
  UpdateContainerResources: 'update_container',
  StreamPodSandboxes: 'list_podsandbox',
  StreamContainers: 'list_containers',
  StreamImages: 'list_images',
};
const names = new Map<string, string>();

/** `ListPodSandbox` → `list_podsandbox`. */
export function operationType(method: string): string {
  let name = names.get(method);
  if (name === undefined) {
    const words = method.replace('PodSandbox', 'Podsandbox').replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_');
    name = Object.hasOwn(irregularNames, method) ? irregularNames[method]! : words.toLowerCase();
    names.set(method, name);
  }
  return name;
}

export const countRuntimeOperation: CallObserver = (method, durationMs, errorCode) => {
  const labels = { operation_type: operationType(method) };
  runtimeOperations.inc(labels);
  runtimeOperationsDuration.observe(durationMs / 1000, labels);
  if (errorCode !== undefined) runtimeOperationsErrors.inc(labels);
};
