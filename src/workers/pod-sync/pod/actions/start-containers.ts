/** Starts the containers of a pod in its sandbox, or in a new one. A failed container stops only the containers that depend on it. */
import { startedUserNamespacedPodsErrors } from '../../../../shared/metrics/definitions/pod-sync.ts';
import type { ContainersToStart } from '../compute-pod-actions/index.ts';
import { recordNewCgroup } from '../resize/index.ts';
import { prepareFirstContainer, prepareSandbox, startContainers } from '../start/index.ts';
import { podActionType } from './pod-action-type.ts';

export const startContainersAction = podActionType({
  type: 'StartContainers',
  waitsForVolumes: true,
  list: (start: ContainersToStart) => {
    const containers = [...start.ephemeralContainersToStart, ...start.initContainersToStart, ...start.containersToStart];
    return start.createSandbox || containers.length > 0 ? [start] : [];
  },
  execute: async ({ context, task, volumes, report }, start) => {
    const { createSandbox } = start;
    const hostInfo = context.hostInfo.read();
    hostInfo.catch(() => {});
    // Only a first attempt pulls images before the sandbox exists: each pull counts at the registry, and a retry may fail to create the sandbox again.
    const isFirstStart = createSandbox && task.status === null && task.isRetry !== true;
    const firstContainer = isFirstStart ? prepareFirstContainer(context, task, start, volumes, hostInfo) : undefined;
    try {
      const sandbox = await prepareSandbox(context, task, start, { hostInfo, firstContainer }, report);
      if (sandbox && createSandbox) recordNewCgroup(context, task);
      await volumes;
      context.channel.signal.throwIfAborted();
      if (sandbox) await startContainers(context, task, start, { sandbox, firstContainer }, report);
    } finally {
      // The runtime may refuse the mappings of a mount only when it creates a container, so that every failure of a first start counts, as upstream.
      if (createSandbox && task.pod.spec.hostUsers === false && report.hasFailures) startedUserNamespacedPodsErrors.inc();
    }
    return 'continue';
  },
});
