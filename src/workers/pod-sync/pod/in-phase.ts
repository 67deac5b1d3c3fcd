/** Reports the beginning and the end of a phase of the pod's timeline (main/timeline/). */
import type { ContainerPhase, TimelinePhase } from '../../../shared/contracts/timeline.ts';
import type { TaskContext } from './dependencies.ts';

type PhaseContext = Pick<TaskContext, 'channel' | 'clock'>;

export interface InPhaseOptions {
  /** The container's name, for a phase of a container. */
  readonly container?: string;
  /** Monotonic ms at which the next step follows, even if `work` has not ended. */
  readonly dueMs?: number;
}

/** Calls `work` and settles like it. */
export async function inPhase<T>(
  context: PhaseContext,
  phase: TimelinePhase | ContainerPhase,
  options: InPhaseOptions,
  work: () => Promise<T>,
): Promise<T> {
  const end = beginPhase(context, phase, options);
  try {
    const result = await work();
    end('end');
    return result;
  } catch (err) {
    end('failed');
    throw err;
  }
}

/** Call the result at the end of the phase. */
export function beginPhase(
  { channel, clock }: PhaseContext,
  phase: TimelinePhase | ContainerPhase,
  { container, dueMs }: InPhaseOptions,
): (edge: 'end' | 'failed') => void {
  const subject = { phase, ...(container !== undefined && { container }) };
  channel.phase({ edge: 'begin', ...subject, atMs: clock.monotonic(), ...(dueMs !== undefined && { dueMs }) });
  return (edge) => channel.phase({ edge, ...subject, atMs: clock.monotonic() });
}
