/** Turns the computed actions of a pod into the list that is executed, in upstream's order (kuberuntime_manager.go SyncPod). Pure. */
import type { SandboxID } from '../../../../shared/kubernetes/ids.ts';
import type {
  ContainersToStart,
  ContainerToKill,
  ContainerToReset,
  KeptContainer,
  PodActions,
  ResizeActions,
} from '../compute-pod-actions/index.ts';

/** Each type has an executor (pod/actions/). */
export type PodAction =
  | { readonly type: 'KillPod'; readonly createSandbox: boolean }
  | ({ readonly type: 'KillContainer' } & ContainerToKill)
  | { readonly type: 'ResetContainers'; readonly containers: readonly ContainerToReset[] }
  | { readonly type: 'PruneInitContainers' }
  | { readonly type: 'Resize'; readonly resize: ResizeActions; readonly sandboxID: SandboxID }
  /** From then on the sync determines which containers wait. */
  | { readonly type: 'ResetWaiting' }
  | { readonly type: 'RepeatPostStartHook'; readonly hook: KeptContainer }
  | { readonly type: 'StartContainers'; readonly start: ContainersToStart };

export function listPodActions(actions: PodActions): PodAction[] {
  const { killPod, containersToKill, containersToReset, hooksToRepeat, resize, ...start } = actions;
  // A member of PodActions that is neither here nor in the start is one that nothing executes: it does not compile.
  start satisfies { readonly [M in keyof typeof start]: M extends keyof ContainersToStart ? unknown : never };
  const { createSandbox, sandboxID } = start;
  const starts = [...start.ephemeralContainersToStart, ...start.initContainersToStart, ...start.containersToStart];
  return [
    ...(killPod
      ? [{ type: 'KillPod', createSandbox } as const]
      : [
          ...containersToKill.map((container) => ({ type: 'KillContainer', ...container }) as const),
          ...(containersToReset.length > 0 ? [{ type: 'ResetContainers', containers: containersToReset } as const] : []),
        ]),
    { type: 'PruneInitContainers' },
    ...(resize && !killPod && sandboxID !== undefined ? [{ type: 'Resize', resize, sandboxID } as const] : []),
    { type: 'ResetWaiting' },
    ...hooksToRepeat.map((hook) => ({ type: 'RepeatPostStartHook', hook }) as const),
    ...(createSandbox || starts.length > 0 ? [{ type: 'StartContainers', start } as const] : []),
  ];
}

/** Whether the actions only change the resources of what runs: they wait for no volume. */
export function isResizeOnly(actions: PodActions): boolean {
  const types: ReadonlySet<PodAction['type']> = new Set(['PruneInitContainers', 'Resize', 'ResetWaiting']);
  const listed = listPodActions(actions);
  return listed.some(({ type }) => type === 'Resize') && listed.every(({ type }) => types.has(type));
}
