/** Loads the SDK into a thread, if the configuration has a collector. */
import { messageOf } from '../errors/kubelet-error.ts';
import type { Logger } from '../log/logger.ts';
import { bindTracer } from './active-span.ts';
import type { TracingSettings } from './tracer.ts';

let started: Promise<void> = Promise.resolve();

/** Calls that the thread makes before the SDK has loaded have no spans. A failure is only logged: a node must not stop because of its traces. */
export function startTracing(settings: TracingSettings | null, logger: Logger): void {
  if (settings === null) return;
  started = (async () => {
    const { createTracer } = await import('./sdk-tracer.ts');
    bindTracer(createTracer(settings, logger));
  })().catch((err: unknown) => logger.error({ err: messageOf(err) }, 'Could not start tracing, this thread sends no spans'));
}

/** Resolves when the thread has its tracer, or needs none. */
export function tracingStarted(): Promise<void> {
  return started;
}
