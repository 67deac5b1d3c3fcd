/** The pod's own resources, as far as they can be resized. */
import type { Pod, ResourceRequirements } from '../../../../shared/kubernetes/api.ts';
import type { TaskContext } from '../dependencies.ts';

export function podLevelResources({ settings }: Pick<TaskContext, 'settings'>, { spec }: Pod): ResourceRequirements | undefined {
  return settings.featureGates.InPlacePodLevelResourcesVerticalScaling ? spec.resources : undefined;
}
