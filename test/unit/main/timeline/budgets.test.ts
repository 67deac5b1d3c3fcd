import assert from 'node:assert/strict';
import { budgetMs, nextDeadlineMs, slowMessage, slowSpans } from '../../../../src/main/timeline/budgets.ts';
import type { PhaseSpan, PodTimeline } from '../../../../src/shared/timeline/pod-timeline.ts';
import { beginSpan, beginWait, endSpan } from '../../../../src/shared/timeline/span.ts';
import { aTimeline as timeline } from '../../../support/pods/pod-timeline.ts';
import { table } from '../../../support/table.ts';

const open = (phase: PhaseSpan['phase'], atMs: number, container?: string): PhaseSpan => ({
  ...beginSpan(undefined, { atMs }),
  phase,
  ...(container === undefined ? {} : { container }),
});

table('the budgets of phases', (row) => {
  row('a termination may take ten seconds longer than its grace period', () => assert.equal(budgetMs('Termination', 30), 40_000));
  row('a hook has no budget: it depends on the pod', () => assert.equal(budgetMs('PostStart', 30), Infinity));
  row('the earliest deadline of the open phases counts', () =>
    assert.equal(
      nextDeadlineMs(timeline([open('Image', 0, 'web'), open('Sandbox', 5000), open('PostStart', 0, 'web')]), () => false),
      35_000,
    ),
  );
  row('an ended phase has no deadline', () =>
    assert.equal(
      nextDeadlineMs(timeline([{ ...open('Sandbox', 0), ...endSpan(open('Sandbox', 0), { atMs: 5, failed: false }) }]), () => false),
      Infinity,
    ),
  );
  row('a reported phase has none', () =>
    assert.equal(
      nextDeadlineMs(timeline([open('Sandbox', 0)]), () => true),
      Infinity,
    ),
  );
  row('a phase is slow at the end of its budget', () => {
    assert.equal(slowSpans(timeline([open('Sandbox', 0)]), 29_999).length, 0);
    assert.equal(slowSpans(timeline([open('Sandbox', 0)]), 30_000).length, 1);
  });
});

table('the message of a slow phase', (row) => {
  const message = (span: PhaseSpan, over: Partial<PodTimeline>, nowMs: number) => slowMessage(span, timeline([span], over), nowMs);
  row('names the phase, its budget and the call', () =>
    assert.equal(
      message(open('Sandbox', 0), {}, 31_000),
      'Sandbox takes longer than 30 s: 31 s so far; waits for: RunPodSandbox of the runtime',
    ),
  );
  row('names the container', () =>
    assert.match(message(open('Image', 0, 'web'), {}, 300_000), /^Image of container web takes longer than 5 m 0 s/),
  );
  row('names what it waits for', () =>
    assert.match(
      message({ ...open('Sandbox', 0), ...beginWait(open('Sandbox', 0), 'StartPermit', 5) }, {}, 31_000),
      /waits for: StartPermit$/,
    ),
  );
  row('names the last problem', () =>
    assert.match(message(open('Volumes', 0), { problem: 'FailedMount: no secret' }, 130_000), /last problem: FailedMount: no secret$/),
  );
  row('a termination names its obstacles', () => {
    const stop = { ...open('Stop', 1000, 'web'), dueAfterMs: 40_000 };
    const span = open('Termination', 0);
    const text = slowMessage(span, timeline([span, stop], { state: 'Terminating' }), 40_000);
    assert.match(
      text,
      /^Termination takes longer than 40 s: 40 s so far; waits for container web: its exit after SIGTERM \(since 39 s; SIGKILL in 1.0 s\)$/,
    );
  });
});
