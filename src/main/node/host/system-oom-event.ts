/** The event of the Node for a process that was ended because the node's memory was exhausted (upstream pkg/kubelet/oom/oom_watcher_linux.go). Pure. */
import type { RecordedEvent } from '../../../shared/contracts/event.ts';
import type { SystemOOM } from '../../../shared/contracts/stats.ts';
import { nodeReference } from '../../../shared/kubernetes/node-reference.ts';

export function systemOOMEvent(nodeName: string, { pid, processName }: SystemOOM): RecordedEvent {
  const victim = processName !== '' && pid !== 0 ? `, victim process: ${processName}, pid: ${pid}` : '';
  return { object: nodeReference(nodeName), type: 'Warning', reason: 'SystemOOM', message: `System OOM encountered${victim}` };
}
