/** Starts a probes thread as main does, and collects what it posts. */
import { ProbesThread } from '../../../src/main/threads/probes-thread.ts';
import { SharedThreadState } from '../../../src/main/threads/shared-thread-state.ts';
import type { ProbeEvent, ProbeResult } from '../../../src/shared/contracts/probes.ts';
import { aLogger } from '../logger.ts';

const logging = { format: 'text', verbosity: -9, vmodule: [] } as const;

export interface ProbesHarness {
  readonly probes: ProbesThread;
  readonly state: SharedThreadState;
  readonly results: ProbeResult[];
  readonly events: ProbeEvent[];
  /** Resolves when the condition holds; it is checked after each notification. */
  until(condition: () => boolean): Promise<void>;
  close(): Promise<void>;
}

export function startProbesThread(runtimeEndpoint = 'unix:///nowhere.sock', runtimeRequestTimeoutMs = 2000): ProbesHarness {
  const { logger } = aLogger();
  const state = new SharedThreadState({ logging, podSyncThreads: 1, syncFrequencyMs: 60_000 });
  const results: ProbeResult[] = [];
  const events: ProbeEvent[] = [];
  const waiting = new Set<() => void>();
  const probes = ProbesThread.create({
    state,
    logger,
    settings: { runtimeEndpoint, runtimeRequestTimeoutMs },
  });
  probes.notifications.add((notification) => {
    results.push(...notification.results);
    events.push(...notification.events);
    for (const check of waiting) check();
  });
  return {
    probes,
    state,
    results,
    events,
    until: (condition) =>
      new Promise((resolve) => {
        const check = () => {
          if (!condition()) return;
          waiting.delete(check);
          resolve();
        };
        waiting.add(check);
        check();
      }),
    close: () => probes.close(),
  };
}
