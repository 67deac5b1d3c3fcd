/** The process of an IdleLoop (idle-loop.ts): measures the delays of an idle event loop and sends them on request. */
import { EventLoopDelays } from '../../src/main/threads/event-loop-delays.ts';
import { ThreadPriorities } from '../../src/main/threads/thread-priorities.ts';
import { mainEventLoopDelay } from '../../src/shared/metrics/definitions/threads.ts';
import type { LoopDelays } from '../harness/loop-delay.ts';

const bounds = [...mainEventLoopDelay.buckets, Infinity];
const counts = bounds.map(() => 0);
new ThreadPriorities().raiseMain();
const sampled = new EventLoopDelays((seconds) => void counts[bounds.findIndex((bound) => seconds <= bound)]!++);

process.on('message', () => {
  sampled.count();
  let total = 0;
  // Cumulative, like Prometheus' histogram buckets.
  const delays: LoopDelays = bounds.map((bound, index) => ({ bound, count: (total += counts[index]!) }));
  process.send!(delays);
});
