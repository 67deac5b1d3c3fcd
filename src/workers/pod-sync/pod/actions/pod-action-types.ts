/** The types of actions, one row each, in the order in which a sync executes them: upstream's (kuberuntime_manager.go SyncPod). */
import { killContainerAction } from './kill-container.ts';
import { killPodAction } from './kill-pod.ts';
import { pruneInitContainersAction } from './prune-init-containers.ts';
import { repeatPostStartHookAction } from './repeat-post-start-hook.ts';
import { resetContainersAction } from './reset-containers.ts';
import { resetWaitingAction } from './reset-waiting.ts';
import { resizeAction } from './resize.ts';
import { startContainersAction } from './start-containers.ts';

export const podActionTypes = [
  killPodAction,
  killContainerAction,
  resetContainersAction,
  pruneInitContainersAction,
  resizeAction,
  resetWaitingAction,
  repeatPostStartHookAction,
  startContainersAction,
] as const;
