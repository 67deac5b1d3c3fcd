/** A thread's heartbeat: each second, records the time and the delay of the thread's event loop. */
import { systemClock, type Clock } from '../time/clock.ts';
import { HeartbeatWriter } from './heartbeats.ts';

const beatPeriodMs = 1000;

export interface Heartbeat {
  /** Records that the thread's own loop has completed an iteration. `/healthz` also checks how long ago that was. */
  loop(): void;
  /** Records that the loop waits for a program outside of the kubelet, at most for this time. `/healthz` does not fail for the loop meanwhile. */
  beginWait(maxMs: number): void;
  /** The program has answered. `loop()` ends a wait too. */
  endWait(): void;
  stop(): void;
}

export interface HeartbeatOptions {
  readonly heartbeats: SharedArrayBuffer;
  readonly heartbeatRow: number;
  readonly clock?: Clock;
  /** Called at each beat, for the thread's metrics. */
  readonly onBeat?: (eventLoopDelaySeconds: number) => void;
}

/** Beats immediately, then each second until stopped. */
export function startHeartbeat({ heartbeats, heartbeatRow, clock = systemClock, onBeat }: HeartbeatOptions): Heartbeat {
  const writer = new HeartbeatWriter(heartbeats, heartbeatRow);
  let stopped = false;
  let cancel: () => void = () => {};
  const beat = (dueAtMs: number) => {
    if (stopped) return;
    const now = clock.monotonic();
    const delayMs = Math.max(0, now - dueAtMs);
    writer.beat(now, delayMs);
    onBeat?.(delayMs / 1000);
    const next = now + beatPeriodMs;
    cancel = clock.after(beatPeriodMs, () => beat(next));
  };
  beat(clock.monotonic());
  return {
    loop: () => writer.loop(clock.monotonic()),
    beginWait: (maxMs) => writer.waitsUntil(clock.monotonic() + maxMs),
    endWait: () => writer.waitsUntil(0),
    stop: () => {
      stopped = true;
      cancel();
    },
  };
}
