import assert from 'node:assert/strict';
import { hostWarnings, type HostWarningInputs } from '../../../../../src/main/node/host/host-warnings.ts';
import { table } from '../../../../support/table.ts';

const well: HostWarningInputs = { cgroupVersion: 2, isSwapOn: false, supportsNoswap: false, resolvConfProblem: null };
const cases: readonly [name: string, traits: Partial<HostWarningInputs>, want: string[]][] = [
  ['that is as it should be', {}, []],
  ['with the old cgroups', { cgroupVersion: 1 }, ['CgroupV1']],
  ['that swaps, memory volumes too', { isSwapOn: true }, ['PossibleMemoryBackedVolumesOnDisk']],
  ['that swaps all but memory volumes', { isSwapOn: true, supportsNoswap: true }, []],
  ['whose resolv.conf is not for pods', { resolvConfProblem: 'too long' }, ['CheckLimitsForResolvConf']],
];
table('what a host lacks is told', (row) => {
  for (const [name, traits, want] of cases) {
    row(`a host ${name}`, () => {
      const events = hostWarnings('node-1', { ...well, ...traits });
      assert.deepEqual(
        events.map(({ reason }) => reason),
        want,
      );
      assert.ok(events.every(({ object, type }) => object.kind === 'Node' && object.uid === 'node-1' && type === 'Warning'));
    });
  }
});
