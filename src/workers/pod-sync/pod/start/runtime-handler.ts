/** Resolves the runtime handler of the pod's RuntimeClass, which main has looked up. */
import { KubeletError } from '../../../../shared/errors/kubelet-error.ts';
import type { TaskContext } from '../dependencies.ts';

/** Empty for the runtime's default. Throws KubeletError when the RuntimeClass does not exist. */
export function runtimeHandlerOf({ runtimeHandler }: Pick<TaskContext, 'runtimeHandler'>): string {
  if ('handler' in runtimeHandler) return runtimeHandler.handler;
  throw new KubeletError('CreatePodSandboxError', runtimeHandler.problem);
}

/**
 * Returns the handler for image calls. Only runtimes that keep images per handler need it, so upstream sends it behind a feature gate
 * (getPodRuntimeHandler in kuberuntime_container.go).
 */
export function imageRuntimeHandlerOf(context: Pick<TaskContext, 'runtimeHandler' | 'settings'>): string {
  return context.settings.featureGates.RuntimeClassInImageCriApi ? runtimeHandlerOf(context) : '';
}
