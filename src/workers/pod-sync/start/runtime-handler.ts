/** The runtime's handler that the pod's RuntimeClass stands for, as main has found it. */
import { KubeletError } from '../../../shared/errors/kubelet-error.ts';
import type { TaskContext } from '../dependencies.ts';

/** Empty: the runtime's default. Throws KubeletError when there is no such class. */
export function runtimeHandlerOf({ runtimeHandler }: Pick<TaskContext, 'runtimeHandler'>): string {
  if ('handler' in runtimeHandler) return runtimeHandler.handler;
  throw new KubeletError('CreatePodSandboxError', runtimeHandler.problem);
}

/**
 * The same for calls about images: runtimes that keep images by handler are told it behind the gate (upstream getPodRuntimeHandler in
 * kuberuntime_container.go).
 */
export function imageRuntimeHandlerOf(context: Pick<TaskContext, 'runtimeHandler' | 'settings'>): string {
  return context.settings.featureGates.RuntimeClassInImageCriApi ? runtimeHandlerOf(context) : '';
}
