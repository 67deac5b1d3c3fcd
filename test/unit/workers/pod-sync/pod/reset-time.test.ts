import assert from 'node:assert/strict';
import type { ContainerID } from '../../../../../src/shared/kubernetes/ids.ts';
import { computeResetTime } from '../../../../../src/workers/pod-sync/pod/actions/reset-containers.ts';
import { table } from '../../../../support/table.ts';

table('RestartAllContainers happens a second after the first exit that asks for it', (row) => {
  const check = (name: string, triggersMs: readonly (number | undefined)[], nowMs: number, want: number | undefined) =>
    row(name, () => {
      const containers = triggersMs.map((triggeredAtMs, index) => ({
        id: `c${index}` as ContainerID,
        name: `c${index}`,
        kill: triggeredAtMs === undefined,
        ...(triggeredAtMs !== undefined && { triggeredAtMs }),
      }));
      assert.equal(computeResetTime(containers, nowMs), want);
    });
  check('no container', [], 5000, undefined);
  check('at once', [undefined, 5000], 5000, 6000);
  check('just before', [undefined, 5000], 5999, 6000);
  check('after a second', [undefined, 5000], 6000, undefined);
  check('a later exit does not delay it', [5900, 5000], 6000, undefined);
  check('the clock was set back', [9000], 5000, undefined);
  check('the trigger was removed already, by an interrupted reset', [undefined], 5000, undefined);
});
